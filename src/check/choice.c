/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.c - which of the optional sets a run is judged by, and why not the others
 *
 * Processes are met one by one, and only ever add to what is known: packages, ranks. The choice is
 * made anew at each tc_choice_apply(), as a broken invariant may show that a set is about this
 * run; the engine then tells of the chosen ones. All sets are judged meanwhile.
 */
#include "check/choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/coverage.h"

struct tc_choice_set {
    const struct tc_invariant_file *file;
    char **versions; /* of its packages as a trace named them; NULL: none did */
    bool is_triggered, is_chosen;
};

void tc_choice_init(struct tc_choice *choice, const struct tc_invariant_set *set)
{
    *choice = (struct tc_choice){.set = set, .world = 1};
    for (size_t i = 0; i < set->files.n; i++) {
        const struct tc_invariant_file *file = set->files.items[i];
        struct tc_choice_set *s;

        if (!file->is_optional)
            continue;
        s = tc_calloc(1, sizeof(*s));
        s->file = file;
        s->versions = tc_calloc(file->n_packages + 1, sizeof(*s->versions));
        tc_vec_push(&choice->sets, s);
    }
}

void tc_choice_release(struct tc_choice *choice)
{
    for (size_t i = 0; i < choice->sets.n; i++) {
        struct tc_choice_set *s = choice->sets.items[i];
        for (size_t j = 0; j < s->file->n_packages; j++)
            tc_free(s->versions[j]);
        tc_free(s->versions);
        tc_free(s);
    }
    tc_vec_release(&choice->sets);
}

/* ---- what a run is ------------------------------------------------------------------------- */

static void meet_packages(struct tc_choice_set *s, const struct tc_value *packages)
{
    for (size_t i = 0; i < s->file->n_packages; i++) {
        struct tc_str version = tc_value_str(tc_value_get(packages, s->file->packages[i]));
        struct tc_strbuf copy = TC_STRBUF_INIT;
        if (!version.text || s->versions[i])
            continue;
        tc_strbuf_add(&copy, version.text, version.size);
        s->versions[i] = tc_strbuf_take(&copy);
    }
}

/* Of "2.13.0+cpu", what a change of the interface changes: 4 bytes. */
static size_t release_size(const char *version, size_t size)
{
    const char *dot = memchr(version, '.', size);
    size_t n = dot ? (size_t)(dot - version) + 1 : size;

    while (n < size && version[n] >= '0' && version[n] <= '9')
        n++;
    return n;
}

static bool is_same_release(const char *a, struct tc_str b)
{
    size_t n = release_size(a, strlen(a));

    return n == release_size(b.text, b.size) && !memcmp(a, b.text, n);
}

static void compare_torch(struct tc_choice *choice, const struct tc_value *packages,
                          struct tc_notes *notes)
{
    struct tc_str met = tc_value_str(tc_value_get(packages, "torch"));

    for (size_t i = 0; met.text && !choice->is_noted && i < choice->set->files.n; i++) {
        const struct tc_invariant_file *file = choice->set->files.items[i];
        if (!file->torch || is_same_release(file->torch, met))
            continue;
        choice->is_noted = true;
        tc_notes_add(notes, "other-torch", "", 0,
                     "shipped invariants were learned with torch %s, this run has torch %.*s: what "
                     "only one of the two has is not judged",
                     file->torch, (int)met.size, met.text);
    }
}

/* One remark for all: what to add the next time. */
static void note_needs(struct tc_choice *choice, const struct tc_process *process,
                       struct tc_notes *notes)
{
    const unsigned lacks = tc_coverage_lacks(process);

    for (unsigned need = 0; need < TC_N_NEEDS; need++) {
        size_t n = 0;
        if (!(lacks & TC_NEED_BIT(need)) || choice->needs_noted & TC_NEED_BIT(need))
            continue;
        for (size_t i = 0; i < choice->set->items.n; i++)
            n += (choice->set->items.items[i]->needs & TC_NEED_BIT(need)) != 0;
        if (!n)
            continue;
        choice->needs_noted |= TC_NEED_BIT(need);
        tc_notes_add(notes, "not-collected", "", 0,
                     "%zu invariant%s need%s what this trace was not asked for: trace %s, as the "
                     "runs learned from were",
                     n, n == 1 ? "" : "s", n == 1 ? "s" : "", tc_need_option((enum tc_need)need));
    }
}

void tc_choice_meet(struct tc_choice *choice, const struct tc_process *process,
                    struct tc_notes *notes)
{
    const struct tc_value *packages = process->packages;

    choice->is_silent |= !packages;
    if (process->world > choice->world)
        choice->world = process->world;
    for (size_t i = 0; i < choice->sets.n; i++)
        meet_packages(choice->sets.items[i], packages);
    if (process->is_worker)
        return;
    compare_torch(choice, packages, notes);
    note_needs(choice, process, notes);
}

/* ---- what follows -------------------------------------------------------------------------- */

static bool has_package(const struct tc_choice_set *s)
{
    for (size_t i = 0; i < s->file->n_packages; i++)
        if (s->versions[i])
            return true;
    return !s->file->n_packages;
}

/* Does it count? The reason follows. */
static bool decide(const struct tc_choice *choice, const struct tc_choice_set *s,
                   struct tc_strbuf *why)
{
    const struct tc_invariant_file *file = s->file;
    const char *before = "";

    if (!has_package(s) && choice->is_silent) {
        tc_strbuf_adds(why, "the trace does not say what was imported");
        return true;
    }
    if (has_package(s) && file->is_if_met && !s->is_triggered) {
        tc_strbuf_adds(why, "nothing of what it speaks of was met");
        return false;
    }
    if (has_package(s) && (!file->is_for_many || choice->world > 1)) {
        for (size_t i = 0; i < file->n_packages; i++)
            if (s->versions[i]) {
                tc_strbuf_addf(why, "%s%s %s", before, file->packages[i], s->versions[i]);
                before = ", ";
            }
        if (file->is_for_many)
            tc_strbuf_addf(why, "%s%" PRId64 " processes", before, choice->world);
        return true;
    }
    if (s->is_triggered) {
        tc_strbuf_adds(why, "some of what it speaks of was met");
        return true;
    }
    if (has_package(s)) {
        tc_strbuf_adds(why, "a run of one process");
        return false;
    }
    for (size_t i = 0; i < file->n_packages; i++, before = ", ")
        tc_strbuf_addf(why, "%s%s", i ? before : "without ", file->packages[i]);
    return false;
}

static struct tc_choice_set *set_of(const struct tc_choice *choice,
                                    const struct tc_invariant_file *file)
{
    for (size_t i = 0; i < choice->sets.n; i++)
        if (choice->sets.items[i]->file == file)
            return choice->sets.items[i];
    return NULL;
}

static bool is_wanted(void *context, const struct tc_judgement *judgement)
{
    const struct tc_choice *choice = context;
    const struct tc_choice_set *s = set_of(choice, judgement->invariant->file);

    return !s || s->is_chosen;
}

/* What is broken may well speak of other calls than those of the packages: by that a set of
 * packages that were not named is not met. */
static void find_triggered(struct tc_choice *choice, const struct tc_engine *engine)
{
    for (size_t i = 0; i < tc_engine_count(engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(engine, i);
        struct tc_choice_set *s = set_of(choice, j->invariant->file);
        if (s)
            s->is_triggered |= j->held || j->out_of_context || (has_package(s) && j->broken);
    }
}

static bool is_any(void *context, const struct tc_judgement *judgement)
{
    (void)context;
    (void)judgement;
    return true;
}

static void choose(const struct tc_choice *choice, struct tc_choice_set *s,
                   struct tc_check_result *result)
{
    struct tc_strbuf why = TC_STRBUF_INIT;

    s->is_chosen = decide(choice, s, &why);
    if (result->n_sets < TC_CHECK_MAX_SETS) {
        struct tc_check_set *told = &result->sets[result->n_sets++];

        told->is_chosen = s->is_chosen;
        snprintf(told->name, sizeof(told->name), "%s", s->file->name);
        snprintf(told->why, sizeof(told->why), "%s", why.text ? why.text : "");
    }
    tc_strbuf_release(&why);
}

void tc_choice_apply(struct tc_choice *choice, struct tc_engine *engine,
                     struct tc_check_result *result)
{
    result->n_sets = 0;
    if (!choice->sets.n)
        return;
    tc_engine_tell_of(engine, is_any, NULL);
    find_triggered(choice, engine);
    for (size_t i = 0; i < choice->sets.n; i++)
        choose(choice, choice->sets.items[i], result);
    tc_engine_tell_of(engine, is_wanted, choice);
}
