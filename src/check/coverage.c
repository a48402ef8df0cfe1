#include "check/coverage.h"

#include "base/banned.h"
#include "relation/interest.h"

/* Invariants of other tools need no selection: theirs are not made by ours. */
static const char *reason(const struct tc_interest *traced, const struct tc_strtab *symbols,
                          const struct tc_invariant *invariant, struct tc_arena *arena)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_interest needed;
    const char *why = NULL;

    if (invariant->unchecked || invariant->foreign)
        return NULL;
    tc_interest_init(&needed);
    tc_interest_add(&needed, symbols, invariant);
    if (tc_interest_is_lacking(traced, &needed, &text)) {
        tc_strbuf_adds(&text, ": not traced, as the trace was taken for other invariants");
        why = tc_arena_text(arena, text.text, text.size);
    }
    tc_strbuf_release(&text);
    tc_interest_release(&needed);
    return why;
}

static const char **reasons(const struct tc_process *process, const struct tc_invariant_set *set,
                            struct tc_arena *arena)
{
    const char **list = tc_calloc(set->items.n + 1, sizeof(*list));
    struct tc_interest traced;

    tc_interest_init(&traced);
    tc_interest_add_selection(&traced, process->selection);
    for (size_t i = 0; i < set->items.n; i++)
        list[i] = reason(&traced, set->symbols, set->items.items[i], arena);
    tc_interest_release(&traced);
    return list;
}

const char *const *tc_coverage_of(struct tc_coverage *coverage, const struct tc_process *process,
                                  const struct tc_invariant_set *set, struct tc_arena *arena,
                                  bool *is_new)
{
    uint64_t *slot;

    *is_new = false;
    if (!process->selection)
        return NULL;
    slot = tc_map_at(&coverage->reasons, (uintptr_t)process, is_new);
    if (*is_new)
        *slot = (uintptr_t)reasons(process, set, arena);
    return (const char *const *)(uintptr_t)*slot;
}

void tc_coverage_reset(struct tc_coverage *coverage)
{
    uint64_t process, list;

    for (size_t pos = 0; tc_map_each(&coverage->reasons, &pos, &process, &list);)
        tc_free((void *)(uintptr_t)list);
    tc_map_clear(&coverage->reasons);
}

void tc_coverage_release(struct tc_coverage *coverage)
{
    tc_coverage_reset(coverage);
    tc_map_release(&coverage->reasons);
}
