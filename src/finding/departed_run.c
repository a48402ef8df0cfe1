/* SPDX-License-Identifier: Apache-2.0 */
/*
 * departed_run.c - differences that count, joined by the place that was edited
 */
#include "finding/departed_run.h"

#include <ctype.h>
#include <string.h>

#include "base/hash.h"
#include "compare/diff.h"

struct tc_departures {
    const char **files; /* invariant files that have excerpts */
    size_t n_files;
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

/* ---- hunks ----------------------------------------------------------------------------------- */

/* Where the sources were edited. */
struct edit {
    const struct tc_script *a, *b; /* one file of both runs; NULL: nothing was edited there */
    size_t hunk;
};

static struct edit edit_at(const struct tc_script *script, size_t line, bool is_run)
{
    if (!script || !script->match || script->match[line] != TC_UNMATCHED)
        return (struct edit){0};
    return (struct edit){is_run ? script->other : script, is_run ? script : script->other,
                         tc_script_hunk(script, line, is_run)};
}

static struct edit edit_of_site(const struct tc_comparison *c, uint32_t site, bool is_run)
{
    size_t line = 0;

    if (site == TC_NO_SITE)
        return (struct edit){0};
    const struct tc_script *script =
        tc_scripts_at(is_run ? &c->run.scripts : &c->reference.scripts,
                      tc_strtab_text(c->symbols, c->sites.items.items[site].at), &line);
    return edit_at(script, line, is_run);
}

static struct edit edit_of(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_edited_lines *e = &d->edited;
    struct edit edit = edit_at(e->script_b, e->line_b, true);

    if (!edit.b)
        edit = edit_at(e->script_a, e->line_a, false);
    if (!edit.b)
        edit = edit_of_site(c, d->site_b, true);
    return edit.b ? edit : edit_of_site(c, d->site_a, false);
}

/* ---- words of edits -------------------------------------------------------------------------- */

enum {
    OF_A = 1,
    OF_B = 2
};

static void add_words(struct tc_map *words, const struct tc_script_line *line, unsigned side)
{
    for (size_t i = 0, n; i < line->size; i += n ? n : 1) {
        bool is_new;
        for (n = 0; i + n < line->size && tc_script_is_in_word(line->text[i + n]); n++)
            ;
        if (n > 1 && !isdigit((unsigned char)line->text[i]))
            *tc_map_at(words, tc_hash64(line->text + i, n, 0), &is_new) |= side;
    }
}

static void add_side(struct tc_map *words, const struct tc_script *script, size_t hunk, bool is_run)
{
    for (size_t i = 0; i < script->n_lines; i++)
        if (script->match[i] == TC_UNMATCHED && tc_script_hunk(script, i, is_run) == hunk &&
            script->lines[i].is_code)
            add_words(words, &script->lines[i], is_run ? OF_B : OF_A);
}

/* Words that the edit added or took away: on one side of it alone. */
static struct tc_map words_of(const struct edit *edit)
{
    struct tc_map words = TC_MAP_INIT, changed = TC_MAP_INIT;
    uint64_t word, sides;

    add_side(&words, edit->a, edit->hunk, false);
    add_side(&words, edit->b, edit->hunk, true);
    for (size_t pos = 0; tc_map_each(&words, &pos, &word, &sides);)
        if (sides != (OF_A | OF_B))
            tc_map_put(&changed, word, 1);
    tc_map_release(&words);
    return changed;
}

static bool has_common_word(const struct tc_map *a, const struct tc_map *b)
{
    uint64_t word, one;

    for (size_t pos = 0; tc_map_each(a, &pos, &word, &one);)
        if (tc_map_get(b, word, &one))
            return true;
    return false;
}

void tc_words_of_text(struct tc_map *words, const char *text)
{
    const struct tc_script_line line = {.text = text, .size = (uint32_t)strlen(text)};

    add_words(words, &line, OF_B);
}

void tc_words_of_line(struct tc_map *words, const struct tc_departed_run *run, const char *at)
{
    size_t line = 0;
    const struct tc_script *script = tc_scripts_at(&run->comparison.run.scripts, at, &line);

    if (script)
        add_words(words, &script->lines[line], OF_B);
}

void tc_words_count(struct tc_map *counts, const struct tc_map *words)
{
    uint64_t word, one;
    bool is_new;

    for (size_t pos = 0; tc_map_each(words, &pos, &word, &one);)
        ++*tc_map_at(counts, word, &is_new);
}

/* Words of the scripts, each with how many lines have it. */
static struct tc_map lines_by_word(const struct tc_scripts *scripts)
{
    struct tc_map n_lines = TC_MAP_INIT;

    for (size_t i = 0; i < scripts->items.n; i++) {
        const struct tc_script *script = scripts->items.items[i];
        for (size_t k = 0; k < script->n_lines; k++) {
            struct tc_map words = TC_MAP_INIT;
            add_words(&words, &script->lines[k], OF_B);
            tc_words_count(&n_lines, &words);
            tc_map_release(&words);
        }
    }
    return n_lines;
}

static double share_of(const struct tc_departure *departure, const struct tc_map *words,
                       const struct tc_map *n_lines)
{
    uint64_t word, n, n_with;
    double sum = 0;

    for (size_t pos = 0; tc_map_each(&departure->words, &pos, &word, &n);)
        if (tc_map_get(words, word, &n))
            sum += (double)n / (tc_map_get(n_lines, word, &n_with) ? (double)n_with : 1);
    return sum;
}

double *tc_departures_words(const struct tc_departed_run *run, const struct tc_map *words)
{
    double *shares = tc_calloc(run->departures.n + 1, sizeof(*shares));
    struct tc_map n_lines = lines_by_word(&run->comparison.run.scripts);

    for (size_t i = 0; i < run->departures.n; i++)
        shares[i] = share_of(&run->departures.items[i], words, &n_lines);
    tc_map_release(&n_lines);
    return shares;
}

/* ---- departures ------------------------------------------------------------------------------ */

/* While departures are made. */
struct place {
    struct edit edit;
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

static const struct place *place_of(const struct making *m, const struct edit *edit)
{
    for (size_t i = 0; i < m->places.n; i++)
        if (m->places.items[i].edit.b == edit->b && m->places.items[i].edit.hunk == edit->hunk)
            return &m->places.items[i];
    return NULL;
}

static void add_to(struct tc_map *words, const struct tc_map *more)
{
    uint64_t word, one;

    for (size_t pos = 0; tc_map_each(more, &pos, &word, &one);)
        tc_map_put(words, word, 1);
}

/* The departure of that edit: of its hunk, else of one with a word in common, else a new one. */
static size_t departure_of_edit(struct making *m, const struct edit *edit,
                                enum tc_departure_kind kind)
{
    const struct place *known = place_of(m, edit);
    size_t departure = SIZE_MAX;

    if (known)
        return known->departure;
    struct tc_map words = words_of(edit);
    for (size_t i = 0; i < m->run->departures.n && departure == SIZE_MAX; i++)
        if (has_common_word(&departure_at(m, i)->words, &words))
            departure = i;
    if (departure == SIZE_MAX)
        departure = new_departure(m, kind);
    add_to(&departure_at(m, departure)->words, &words);
    tc_map_release(&words);
    tc_vec_push(&m->places, ((struct place){*edit, departure}));
    return departure;
}

static void add(struct making *m, size_t departure, const struct tc_difference *d)
{
    tc_vec_push(&departure_at(m, departure)->differences, d);
}

static void add_edited(struct making *m, const struct tc_difference *d)
{
    const struct edit edit = edit_of(&m->run->comparison, d);

    if (edit.b)
        add(m, departure_of_edit(m, &edit, TC_DEPARTURE_OF_EDIT), d);
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
    add(m, departure, d);
}

/* ---- edits of which nothing tells ------------------------------------------------------------ */

/* The first line of code that the other script does not have, from line `from` on, before one that
 * it has; n_lines: there is none. */
static size_t first_code(const struct tc_script *script, size_t from)
{
    for (; from < script->n_lines && script->match[from] == TC_UNMATCHED; from++)
        if (script->lines[from].is_code)
            return from;
    return script->n_lines;
}

static void add_silent_hunk(struct making *m, const struct tc_script *a, size_t from_a,
                            const struct tc_script *b, size_t from_b)
{
    const size_t line_a = first_code(a, from_a), line_b = first_code(b, from_b);
    const struct edit edit = {a, b, from_a};

    if (line_a == a->n_lines && line_b == b->n_lines)
        return;
    struct tc_departure *departure =
        departure_at(m, departure_of_edit(m, &edit, TC_DEPARTURE_SILENT));
    if (departure->edit)
        return;
    const struct tc_difference d = {
        .kind = TC_DIFFERENCE_CALLS,
        .what = TC_IS_EDITED,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .path = TC_SYM_EMPTY,
        .edited = {.script_a = line_a < a->n_lines ? a : NULL,
                   .script_b = line_b < b->n_lines ? b : NULL,
                   .line_a = line_a,
                   .line_b = line_b},
        .step = -1,
        .n = 1,
        .n_windows = 1,
    };
    departure->edit = tc_arena_copy(&m->run->comparison.differences.arena, &d, sizeof(d));
    if (departure->kind == TC_DEPARTURE_SILENT)
        tc_vec_push(&departure->differences, departure->edit);
}

/* Hunks begin at the begin of both files, and behind each line that both have. */
static void add_silent(struct making *m, const struct tc_script *b)
{
    const struct tc_script *a = b->other;

    if (!a || !a->match || !b->match)
        return;
    add_silent_hunk(m, a, 0, b, 0);
    for (size_t i = 0; i < a->n_lines; i++)
        if (a->match[i] != TC_UNMATCHED)
            add_silent_hunk(m, a, i + 1, b, a->match[i] + 1);
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
    for (size_t i = 0; i < run->comparison.run.scripts.items.n; i++)
        add_silent(&m, run->comparison.run.scripts.items.items[i]);
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
        tc_error_set(&err, TC_E_FORMAT, "it is of another program, or has no sources");
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

struct tc_departures *tc_departures_new(const char *const *traces, size_t n_traces,
                                        const char *const *invariants, size_t n_invariants)
{
    struct tc_departures *departures = tc_calloc(1, sizeof(*departures));

    departures->files = tc_calloc(n_invariants + 1, sizeof(*departures->files));
    for (size_t i = 0; i < n_invariants; i++)
        if (tc_excerpts_are_in(invariants[i]))
            departures->files[departures->n_files++] = invariants[i];
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
