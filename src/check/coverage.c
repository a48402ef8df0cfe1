/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage.c - what each invariant needs, held against what each process says it has
 *
 * The reasons are made once for a process, and anew only when it has said more of what it lacks:
 * that grows and never shrinks, so a count tells whether the list is old. A process that lacks
 * nothing costs a few comparisons an event. The list is valid until the next call.
 */
#include "check/coverage.h"

#include <string.h>

#include "relation/interest.h"
#include "trace/role.h"

/* Of one process, as far as its records have been read. */
struct answers {
    size_t n_facts;
    const char **reasons; /* by invariant */
};

/* A selection names the operators that it holds. */
unsigned tc_coverage_lacks(const struct tc_process *process)
{
    unsigned lacks = 0;

    if (!process->has_operators && !process->selection)
        lacks |= TC_NEED_BIT(TC_NEED_OPERATORS);
    if (!process->has_content)
        lacks |= TC_NEED_BIT(TC_NEED_CONTENT);
    if (!process->has_content || process->has_full_content)
        lacks |= TC_NEED_BIT(TC_NEED_CONTENT_BATCHES);
    if (!process->has_full_content)
        lacks |= TC_NEED_BIT(TC_NEED_CONTENT_FULL);
    return lacks;
}

static void collect_needs(struct tc_coverage *coverage, const struct tc_invariant_set *set)
{
    if (coverage->set == set)
        return;
    coverage->set = set;
    coverage->needs = 0;
    for (size_t i = 0; i < set->items.n; i++)
        coverage->needs |= set->items.items[i]->needs;
}

/* What says that something of a process cannot be known only ever gets more. */
static size_t count_facts(const struct tc_coverage *coverage, const struct tc_process *process)
{
    return (process->selection != NULL) + (process->left_out != NULL) +
           (tc_coverage_lacks(process) & coverage->needs ? 1 : 0) + process->hides_owners +
           (process->missing ? tc_strtab_count(process->missing) : 0);
}

/* What the collector was not asked for was not collected, and so it is not missing. */
static bool lacks_needs(const struct tc_process *process, unsigned needs, struct tc_strbuf *why)
{
    const unsigned lacks = tc_coverage_lacks(process) & needs;

    for (unsigned i = 0; i < TC_N_NEEDS; i++)
        if (lacks & TC_NEED_BIT(i)) {
            tc_strbuf_addf(why, "learned from traces taken %s, and this one was not",
                           tc_need_option((enum tc_need)i));
            return true;
        }
    return false;
}

/* Was it learned from runs that lacked these calls as well? */
static bool knows(const struct tc_invariant *invariant, const struct tc_strtab *left_out)
{
    const struct tc_strtab *own = invariant->file ? invariant->file->left_out : NULL;

    return own && tc_strtab_has_all(own, left_out);
}

static bool needs_spare_role(const struct tc_interest *needed)
{
    for (unsigned role = 0; role < TC_N_ROLES; role++) {
        const char *text = tc_role_text((enum tc_role)role);
        if (tc_role_has((enum tc_role)role, TC_TRAIT_SPARE) &&
            tc_strtab_find(needed->roles, text, strlen(text)) != TC_NO_SYM)
            return true;
    }
    return false;
}

/* What a fact reads besides what it names nobody lists: it is judged as it was learned. */
static bool misses_left_out(const struct tc_process *process, const struct tc_invariant *invariant,
                            const struct tc_interest *needed, struct tc_strbuf *why)
{
    if (!process->left_out || knows(invariant, process->left_out))
        return false;
    if (!tc_interest_is_in(needed, process->left_out, why) && !tc_invariant_fact(invariant) &&
        !needs_spare_role(needed) && !(invariant->needs & TC_NEED_BIT(TC_NEED_OPERATORS)))
        return false;
    tc_strbuf_adds(why, why->size ? ": left out by a lean set"
                                  : "learned from runs with all calls: a lean set leaves out some");
    return true;
}

static bool is_lacking(const struct tc_process *process, const struct tc_interest *traced,
                       const struct tc_interest *needed, struct tc_strbuf *why)
{
    if (process->selection && tc_interest_is_lacking(traced, needed, why)) {
        tc_strbuf_adds(why, ": not traced, as the trace was taken for other invariants");
        return true;
    }
    if (tc_interest_is_in(needed, process->missing, why)) {
        tc_strbuf_adds(why, ": the collector did not find it in the release that was traced");
        return true;
    }
    if (needed->owners && process->hides_owners) {
        tc_strbuf_adds(why, "what optimizers own: a step of the run does not tell it");
        return true;
    }
    return false;
}

/* Invariants of other tools need no selection: theirs are not made by ours. */
static const char *reason(const struct tc_process *process, const struct tc_interest *traced,
                          const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                          struct tc_arena *arena)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_interest needed;
    const char *why = NULL;

    if (invariant->unchecked || invariant->foreign)
        return NULL;
    tc_interest_init(&needed);
    tc_interest_add(&needed, symbols, invariant);
    if (lacks_needs(process, invariant->needs, &text) ||
        misses_left_out(process, invariant, &needed, &text) ||
        is_lacking(process, traced, &needed, &text))
        why = tc_arena_text(arena, text.text, text.size);
    tc_strbuf_release(&text);
    tc_interest_release(&needed);
    return why;
}

static const char **find_reasons(const struct tc_process *process,
                                 const struct tc_invariant_set *set, struct tc_arena *arena)
{
    const char **list = tc_calloc(set->items.n + 1, sizeof(*list));
    struct tc_interest traced;

    tc_interest_init(&traced);
    tc_interest_add_selection(&traced, process->selection);
    for (size_t i = 0; i < set->items.n; i++)
        list[i] = reason(process, &traced, set->symbols, set->items.items[i], arena);
    tc_interest_release(&traced);
    return list;
}

const char *const *tc_coverage_of(struct tc_coverage *coverage, const struct tc_process *process,
                                  const struct tc_invariant_set *set, struct tc_arena *arena,
                                  bool *is_new)
{
    struct answers *answers;
    size_t n_facts;

    *is_new = false;
    collect_needs(coverage, set);
    n_facts = count_facts(coverage, process);
    if (!n_facts)
        return NULL;
    answers = tc_map_struct(&coverage->answers, (uintptr_t)process, sizeof(*answers));
    if (answers->n_facts != n_facts) {
        *is_new = true;
        tc_free(answers->reasons);
        answers->reasons = find_reasons(process, set, arena);
        answers->n_facts = n_facts;
    }
    return answers->reasons;
}

void tc_coverage_reset(struct tc_coverage *coverage)
{
    struct answers *answers;

    for (size_t pos = 0; (answers = tc_map_next(&coverage->answers, &pos));) {
        tc_free(answers->reasons);
        tc_free(answers);
    }
    tc_map_clear(&coverage->answers);
}

void tc_coverage_release(struct tc_coverage *coverage)
{
    tc_coverage_reset(coverage);
    tc_map_release(&coverage->answers);
}
