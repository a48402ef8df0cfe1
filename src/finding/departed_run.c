/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departed_run.c - differences that count, joined by the place that was edited
 */
#include "finding/departed_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "compare/edit_choice.h"

struct tc_departures {
    const char **files; /* invariant files that have excerpts */
    size_t n_files;
    bool has_others; /* and files that have none */
    struct tc_departed_run *runs;
    size_t n_runs;
};

/* ---- which differences ----------------------------------------------------------------------- */

/* What a script decides: values alone follow from it, and the environment has its own page. */
static bool is_candidate(const struct tc_difference *d)
{
    if (d->is_seed)
        return false;
    return d->kind == TC_DIFFERENCE_CALLS || d->kind == TC_DIFFERENCE_ARGUMENTS ||
           (d->kind == TC_DIFFERENCE_VARIABLES && d->what != TC_IS_OTHER);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static struct tc_script_edit edit_of_site(const struct tc_comparison *c, uint32_t site, bool is_run)
{
    size_t line = 0;

    if (site == TC_NO_SITE)
        return (struct tc_script_edit){0};
    const struct tc_script *script =
        tc_scripts_at(is_run ? &c->run.scripts : &c->reference.scripts,
                      tc_strtab_text(c->symbols, c->sites.items.items[site].at), &line);
    return tc_script_edit_at(script, line, is_run);
}

static struct tc_script_edit edit_of(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_edited_lines *e = &d->edited;
    struct tc_script_edit edit = tc_script_edit_at(e->script_b, e->line_b, true);

    if (!edit.b)
        edit = tc_script_edit_at(e->script_a, e->line_a, false);
    if (!edit.b)
        edit = edit_of_site(c, d->site_b, true);
    return edit.b ? edit : edit_of_site(c, d->site_a, false);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool has_changed_word(const struct tc_map *a, const struct tc_map *b)
{
    uint64_t word, of_a, of_b;

    for (size_t pos = 0; tc_map_each(a, &pos, &word, &of_a);)
        if (of_a == TC_WORD_CHANGED && tc_map_get(b, word, &of_b) && of_b == TC_WORD_CHANGED)
            return true;
    return false;
}

double *tc_departures_words(const struct tc_departed_run *run, const struct tc_map *words)
{
    double *shares = tc_calloc(run->departures.n + 1, sizeof(*shares));
    struct tc_map n_lines = tc_words_by_line(&run->comparison.run.scripts);

    for (size_t i = 0; i < run->departures.n; i++)
        shares[i] = tc_words_share(&run->departures.items[i].words, words, &n_lines);
    tc_map_release(&n_lines);
    return shares;
}

/* ---- departures ------------------------------------------------------------------------------ */

/* While departures are made. */
struct place {
    struct tc_script_edit edit;
    size_t departure;
};

struct making {
    struct tc_departed_run *run;
    TC_VEC(struct place) places;
};

static struct tc_departure *departure_at(const struct making *m, size_t i)
{
    return &m->run->departures.items[i];
}

static size_t new_departure(struct making *m, enum tc_departure_kind kind)
{
    const struct tc_departure departure = {.kind = kind};

    tc_vec_push(&m->run->departures, departure);
    return m->run->departures.n - 1;
}

static const struct place *place_of_edit(const struct making *m, const struct tc_script_edit *edit)
{
    for (size_t i = 0; i < m->places.n; i++)
        if (m->places.items[i].edit.b == edit->b && m->places.items[i].edit.hunk == edit->hunk)
            return &m->places.items[i];
    return NULL;
}

static void add_to(struct tc_map *words, const struct tc_map *more)
{
    uint64_t word, weight;
    bool is_new;

    for (size_t pos = 0; tc_map_each(more, &pos, &word, &weight);) {
        uint64_t *known = tc_map_at(words, word, &is_new);
        *known = weight > *known ? weight : *known;
    }
}

/* The departure of that edit: of its hunk, else of one that changed the same word, else a new one.
 */
static size_t departure_of_edit(struct making *m, const struct tc_script_edit *edit,
                                enum tc_departure_kind kind)
{
    const struct place *known = place_of_edit(m, edit);
    size_t departure = SIZE_MAX;

    if (known)
        return known->departure;
    struct tc_map words = tc_words_of_edit(edit);
    for (size_t i = 0; i < m->run->departures.n && departure == SIZE_MAX; i++)
        if (has_changed_word(&departure_at(m, i)->words, &words))
            departure = i;
    if (departure == SIZE_MAX)
        departure = new_departure(m, kind);
    add_to(&departure_at(m, departure)->words, &words);
    departure_at(m, departure)->is_computed |= !tc_edit_is_choice(edit);
    tc_map_release(&words);
    tc_vec_push(&m->places, ((struct place){*edit, departure}));
    return departure;
}

static void add_difference(struct making *m, size_t departure, const struct tc_difference *d)
{
    tc_vec_push(&departure_at(m, departure)->differences, d);
}

static void add_edited(struct making *m, const struct tc_difference *d)
{
    const struct tc_script_edit edit = edit_of(&m->run->comparison, d);

    if (edit.b)
        add_difference(m, departure_of_edit(m, &edit, TC_DEPARTURE_OF_EDIT), d);
}

static void add_loose(struct making *m, const struct tc_difference *d)
{
    size_t departure = m->run->departures.n;

    if (edit_of(&m->run->comparison, d).b)
        return;
    if (departure && departure_at(m, 0)->kind == TC_DEPARTURE_OF_EDIT)
        departure = 0;
    else if (departure && departure_at(m, departure - 1)->kind == TC_DEPARTURE_LOOSE)
        departure--;
    else
        departure = new_departure(m, TC_DEPARTURE_LOOSE);
    add_difference(m, departure, d);
}

/* ---- edits of which nothing tells ------------------------------------------------------------ */

static void add_silent(void *making, const struct tc_script_edit *edit,
                       const struct tc_edited_lines *lines)
{
    struct making *m = making;
    struct tc_departure *departure =
        departure_at(m, departure_of_edit(m, edit, TC_DEPARTURE_SILENT));
    const struct tc_difference d = {
        .kind = TC_DIFFERENCE_CALLS,
        .what = TC_IS_EDITED,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .path = TC_SYM_EMPTY,
        .edited = *lines,
        .step = -1,
        .n = 1,
        .n_windows = 1,
    };

    if (departure->edit)
        return;
    departure->edit = tc_arena_copy(&m->run->comparison.differences.arena, &d, sizeof(d));
    if (departure->kind == TC_DEPARTURE_SILENT)
        tc_vec_push(&departure->differences, departure->edit);
}

/* As it was seen; in a step what data may have decided comes last. */
static int by_time(const void *a_, const void *b_)
{
    const struct tc_difference *a = *(const struct tc_difference *const *)a_;
    const struct tc_difference *b = *(const struct tc_difference *const *)b_;

    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if ((a->aside != TC_ASIDE_NO) != (b->aside != TC_ASIDE_NO))
        return a->aside != TC_ASIDE_NO ? 1 : -1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void find_departures(struct tc_departed_run *run)
{
    struct making m = {.run = run};
    const struct tc_difference **order = tc_comparison_order(&run->comparison);
    const size_t n = run->comparison.differences.items.n;

    /* Data may decide a call that both runs make, but not where the script was edited. */
    for (size_t i = 0; i < n; i++)
        if (is_candidate(order[i]) &&
            (order[i]->aside == TC_ASIDE_NO ||
             (order[i]->aside == TC_ASIDE_DATA && order[i]->kind == TC_DIFFERENCE_CALLS)))
            add_edited(&m, order[i]);
    for (size_t i = 0; i < run->departures.n; i++)
        qsort(run->departures.items[i].differences.items, run->departures.items[i].differences.n,
              sizeof(*order), by_time);
    tc_script_edits_each(&run->comparison.run.scripts, add_silent, &m);
    for (size_t i = 0; i < n; i++)
        if (is_candidate(order[i]) && order[i]->aside == TC_ASIDE_NO)
            add_loose(&m, order[i]);
    tc_vec_release(&m.places);
    tc_free(order);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void forget(struct tc_departed_run *run)
{
    if (!run->is_made)
        return;
    for (size_t i = 0; i < run->departures.n; i++) {
        tc_vec_release(&run->departures.items[i].differences);
        tc_map_release(&run->departures.items[i].words);
    }
    tc_vec_release(&run->departures);
    tc_comparison_release(&run->comparison);
    run->departures.items = NULL;
    run->departures.n = run->departures.cap = 0;
    run->is_made = false;
}

static uint64_t n_steps_of(const struct tc_outline *run)
{
    uint64_t most = 0;

    for (size_t i = 0; i < run->n_processes; i++) {
        uint64_t n = 0;
        for (size_t k = 0; k < run->processes[i].windows.n; k++)
            n += run->processes[i].windows.items[k].has_step;
        most = n > most ? n : most;
    }
    return most;
}

/* The program itself is reported first; NULL: its text is not there. */
static const struct tc_script *program_of(const struct tc_scripts *scripts)
{
    const struct tc_script *first = scripts->items.n ? scripts->items.items[0] : NULL;

    return first && first->lines ? first : NULL;
}

/* A script that kept its name was rewritten: what broke by that is reported as ever. */
static void say_other_program(struct tc_departed_run *run, struct tc_error *err)
{
    const struct tc_script *healthy = program_of(&run->comparison.reference.scripts);
    const struct tc_script *this = program_of(&run->comparison.run.scripts);

    if (!healthy || !this) {
        tc_error_set(err, TC_E_FORMAT, "the script's source is not in both");
    } else if (!strcmp(tc_fs_base(healthy->at), tc_fs_base(this->at))) {
        tc_error_set(err, TC_E_FORMAT, "less than half of %s is as it was", tc_fs_base(this->at));
    } else {
        tc_error_set(err, TC_E_FORMAT, "they were learned from %s, and this is a run of %s",
                     tc_fs_base(healthy->at), tc_fs_base(this->at));
        run->other = *err;
    }
}

static void make(const struct tc_departures *departures, struct tc_departed_run *run,
                 uint64_t n_steps, struct tc_notes *notes)
{
    struct tc_error err = {0};

    forget(run);
    run->n_steps = n_steps;
    run->config = (struct tc_compare_config){.run = run->trace,
                                             .against = departures->files,
                                             .n_against = departures->n_files,
                                             .n_steps = n_steps,
                                             .from_step = TC_NONE};
    run->is_made = true;
    run->is_comparable = tc_comparison_make(&run->comparison, &run->config, NULL, &err) == TC_OK;
    if (run->is_comparable && !tc_scripts_are_of_one_program(&run->comparison.reference.scripts,
                                                             &run->comparison.run.scripts)) {
        run->is_comparable = false;
        say_other_program(run, &err);
    }
    if (!run->is_comparable)
        tc_notes_add(notes, "no-comparison", run->trace, 0,
                     "it was not laid beside the healthy runs of the invariant file: %s", err.text);
    run->is_whole = run->is_comparable && n_steps && n_steps_of(&run->comparison.run) >= n_steps;
    if (run->is_comparable)
        find_departures(run);
}

const struct tc_departed_run *tc_departures_of(struct tc_departures *departures, const char *trace,
                                               uint64_t n_steps, struct tc_notes *notes)
{
    for (size_t i = 0; departures && departures->n_files && i < departures->n_runs; i++) {
        struct tc_departed_run *run = &departures->runs[i];
        if (strcmp(run->trace, trace) != 0)
            continue;
        if (!run->is_made || !run->is_whole || run->n_steps != n_steps)
            make(departures, run, n_steps, notes);
        return run->is_comparable ? run : NULL;
    }
    return NULL;
}

const char *tc_departures_other(const struct tc_departures *departures)
{
    for (size_t i = 0; departures && !departures->has_others && i < departures->n_runs; i++)
        if (*departures->runs[i].other.text)
            return departures->runs[i].other.text;
    return NULL;
}

struct tc_departures *tc_departures_new(const char *const *traces, size_t n_traces,
                                        const char *const *invariants, size_t n_invariants)
{
    struct tc_departures *departures = tc_calloc(1, sizeof(*departures));

    departures->files = tc_calloc(n_invariants + 1, sizeof(*departures->files));
    for (size_t i = 0; i < n_invariants; i++)
        if (tc_excerpts_are_in(invariants[i]))
            departures->files[departures->n_files++] = invariants[i];
    departures->has_others = departures->n_files < n_invariants;
    departures->runs = tc_calloc(n_traces + 1, sizeof(*departures->runs));
    departures->n_runs = n_traces;
    for (size_t i = 0; i < n_traces; i++)
        departures->runs[i].trace = traces[i];
    return departures;
}

void tc_departures_free(struct tc_departures *departures)
{
    if (!departures)
        return;
    for (size_t i = 0; i < departures->n_runs; i++)
        forget(&departures->runs[i]);
    tc_free(departures->runs);
    tc_free(departures->files);
    tc_free(departures);
}
