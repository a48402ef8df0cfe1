/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outline.c - one pass over a run, and the windows of two processes matched
 *
 * Nothing of a window is kept but its shape and its kind. Windows of one kind are matched by a diff
 * of their shapes; what no shape matches is matched in order between them.
 */
#include "compare/outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "compare/diff.h"
#include "replay/lean.h"
#include "replay/symbols.h"

uint64_t tc_transition(tc_sym stage, uint32_t before, uint32_t last, uint32_t token)
{
    return tc_hash_mix(tc_hash_mix(stage, before, last), token, 1);
}

static bool has(const struct tc_map *set, uint64_t key)
{
    uint64_t one;

    return tc_map_get(set, key, &one);
}

bool tc_outline_has_transition(const struct tc_outline *run, uint64_t transition)
{
    return has(&run->transitions, transition);
}

bool tc_outline_calls(const struct tc_outline *run, uint32_t token)
{
    return has(&run->tokens, token);
}

/* ---- one process --------------------------------------------------------------------------- */

/* A selection names APIs and roles. What the run calls besides is always recorded. */
static void note_selection(struct tc_outline *run, const struct tc_record *process)
{
    const struct tc_value *selection = tc_value_get(process->object, "selection");
    const struct tc_value *apis = tc_value_get(selection, "apis");
    const struct tc_value *roles = tc_value_get(selection, "roles");

    run->is_selective = selection != NULL;
    run->recorded.variables |= tc_value_is_true(tc_value_get(selection, "variables"));
    for (uint32_t i = 0; apis && apis->kind == TC_VALUE_ARRAY && i < apis->n; i++)
        if (apis->items[i].kind == TC_VALUE_STR)
            tc_map_put(&run->recorded.apis,
                       tc_symbols_str(run->context.symbols, tc_value_str(&apis->items[i])), 1);
    for (uint32_t i = 0; roles && roles->kind == TC_VALUE_ARRAY && i < roles->n; i++)
        if (roles->items[i].kind == TC_VALUE_STR)
            run->recorded.roles |= UINT64_C(1) << tc_role_parse(tc_value_str(&roles->items[i]));
}

/* All but these. */
static void note_left_out(struct tc_outline *run, const struct tc_record *process)
{
    struct tc_strtab *names = tc_strtab_new();

    tc_lean_add_told(process->object, names);
    for (tc_sym i = 0; i < tc_strtab_count(names); i++)
        tc_map_put(&run->recorded.left_out,
                   tc_strtab_intern_text(run->context.symbols, tc_strtab_text(names, i)), 1);
    if (tc_strtab_count(names)) {
        run->is_selective = run->recorded.variables = true;
        run->recorded.roles = UINT64_MAX;
    }
    tc_strtab_free(names);
}

static void note_transitions(struct tc_outline *run, const struct tc_course_window *window)
{
    uint32_t before = 0, last = 0;

    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_call_site *site =
            &run->context.sites->items.items[window->calls.items[i].site];
        tc_map_put(&run->tokens, site->token, 1);
        tc_map_put(&run->recorded.apis, site->fn, 1);
        if (site->is_own ||
            tc_course_call_is_of_loader(&window->calls.items[i], run->context.sites))
            continue;
        tc_map_put(&run->transitions, tc_transition(window->stage, before, last, site->token), 1);
        before = last;
        last = site->token;
    }
    tc_map_put(&run->transitions, tc_transition(window->stage, before, last, 0), 1);
}

static void note_window(struct tc_outline *run, struct tc_process_outline *process,
                        const struct tc_course_window *window)
{
    struct tc_strtab *symbols = run->context.symbols;
    const struct tc_window_outline outline = {
        .shape = (uint32_t)window->shape,
        .kind = TC_ATOM(symbols, window->stage, tc_symbols_bool(window->has_step)),
        .has_step = window->has_step,
    };

    tc_vec_push(&process->windows, outline);
    process->n_calls += window->calls.n;
    process->makes_steps |= window->has_step;
    note_transitions(run, window);
}

struct reading {
    struct tc_outline_reading how;
    uint64_t before;                             /* bytes of the files that are read */
    struct tc_loss_course loss;                  /* of the file that is read */
    const struct tc_process_outline *whose_loss; /* run->loss is of it, or NULL */
};

static enum tc_status read_windows(struct tc_outline *run, struct tc_process_outline *process,
                                   struct tc_course *course, struct reading *reading,
                                   struct tc_error *err)
{
    struct tc_course_window *window;
    enum tc_status status;

    while ((status = tc_course_next(course, &window, err)) == TC_OK) {
        const bool is_enough = reading->how.n_steps && window->step >= 0 &&
                               (uint64_t)window->step + 1 >= reading->how.n_steps;
        note_window(run, process, window);
        tc_loss_course_note(&reading->loss, run->context.sites, window);
        tc_course_window_free(window);
        if (reading->how.progress &&
            !reading->how.progress(reading->how.context,
                                   reading->before + tc_course_json_bytes(course)))
            return tc_error_set(err, TC_E_INTERRUPTED, "interrupted");
        if (is_enough)
            return TC_OK;
    }
    return status == TC_END ? TC_OK : status;
}

static int by_place(const void *a_, const void *b_)
{
    const struct tc_process_outline *a = a_, *b = b_;

    if (a->is_worker != b->is_worker)
        return a->is_worker ? 1 : -1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->began != b->began)
        return a->began < b->began ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* The course that was read is the run's, unless a process before this one has one. */
static void keep_loss(struct tc_outline *run, struct reading *reading,
                      const struct tc_process_outline *process)
{
    if (!process->is_worker && reading->loss.points.n &&
        (!reading->whose_loss || by_place(process, reading->whose_loss) < 0)) {
        tc_loss_course_release(&run->loss);
        run->loss = reading->loss;
        reading->whose_loss = process;
    } else {
        tc_loss_course_release(&reading->loss);
    }
    reading->loss = (struct tc_loss_course){0};
}

static enum tc_status read_process(struct tc_outline *run, struct tc_course_source source,
                                   struct reading *reading, struct tc_error *err)
{
    struct tc_process_outline *process = &run->processes[run->n_processes];
    struct tc_course *course;
    enum tc_status status = tc_course_open(source, &run->context, &run->scripts, &course, err);

    if (status)
        return status;
    if (run->n_processes++ == 0) {
        tc_outline_add_settings(run, tc_course_record(course));
        note_selection(run, tc_course_record(course));
        note_left_out(run, tc_course_record(course));
    }
    process->path = source.path ? tc_strdup(source.path) : NULL;
    process->excerpt = source.excerpt;
    status = read_windows(run, process, course, reading, err);
    const struct tc_course_owner owner = tc_course_owner(course);
    process->is_worker = owner.is_worker;
    process->rank = owner.rank;
    process->began = owner.began;
    keep_loss(run, reading, process);
    if (owner.world > run->world)
        run->world = owner.world;
    run->n_calls += process->n_calls;
    run->n_windows += process->windows.n;
    reading->before += tc_course_json_bytes(course);
    run->json_bytes = reading->before;
    tc_course_close(course);
    return status;
}

/* ---- a run --------------------------------------------------------------------------------- */

static enum tc_status has_calls(const struct tc_outline *run, struct tc_error *err)
{
    if (run->n_calls)
        return TC_OK;
    return tc_error_set(err, TC_E_FORMAT, "%s: no call was traced: there is nothing to compare",
                        run->name);
}

enum tc_status tc_outline_read(struct tc_outline *run, const char *name,
                               const struct tc_course_context *context,
                               const struct tc_outline_reading *how, struct tc_error *err)
{
    struct reading reading = {.how = *how};
    struct tc_trace_folder *folder;
    enum tc_status status = tc_trace_folder_open(name, context->notes, &folder, err);

    *run = (struct tc_outline){.name = name, .context = *context, .world = 1};
    if (status)
        return status;
    size_t n = tc_trace_folder_n_files(folder);
    run->processes = tc_calloc(n, sizeof(*run->processes));
    for (size_t i = 0; i < n && !status; i++)
        status = read_process(
            run,
            (struct tc_course_source){.path = tc_trace_file_path(tc_trace_folder_file(folder, i))},
            &reading, err);
    tc_trace_folder_close(folder);
    if (!status)
        status = has_calls(run, err);
    if (run->n_processes)
        qsort(run->processes, run->n_processes, sizeof(*run->processes), by_place);
    return status;
}

enum tc_status tc_outline_read_excerpt(struct tc_outline *run, const struct tc_excerpt *excerpt,
                                       const struct tc_course_context *context,
                                       struct tc_error *err)
{
    struct reading reading = {0};
    enum tc_status status = TC_OK;

    *run = (struct tc_outline){
        .name = excerpt->name, .is_excerpt = true, .context = *context, .world = 1};
    run->processes = tc_calloc(excerpt->processes.n, sizeof(*run->processes));
    for (size_t i = 0; i < excerpt->processes.n && !status; i++)
        status = read_process(
            run, (struct tc_course_source){.excerpt = &excerpt->processes.items[i]}, &reading, err);
    return status ? status : has_calls(run, err);
}

enum tc_status tc_process_course_open(const struct tc_process_outline *process,
                                      const struct tc_course_context *context,
                                      struct tc_course **out, struct tc_error *err)
{
    return tc_course_open((struct tc_course_source){process->path, process->excerpt}, context, NULL,
                          out, err);
}

void tc_outline_release(struct tc_outline *run)
{
    for (size_t i = 0; i < run->n_processes; i++) {
        tc_free(run->processes[i].path);
        tc_vec_release(&run->processes[i].windows);
    }
    tc_free(run->processes);
    tc_vec_release(&run->settings);
    tc_loss_course_release(&run->loss);
    tc_arena_release(&run->arena);
    tc_scripts_release(&run->scripts);
    tc_map_release(&run->transitions);
    tc_map_release(&run->tokens);
    tc_map_release(&run->recorded.apis);
    tc_map_release(&run->recorded.left_out);
    tc_vec_release(&run->places);
}

/* ---- windows of two runs ------------------------------------------------------------------- */

/* The windows of one kind, of one process. */
struct kind_windows {
    TC_VEC(uint32_t) shapes;
    TC_VEC(size_t) places;
};

static void windows_of(const struct tc_process_outline *process, size_t from, tc_sym kind,
                       struct kind_windows *out)
{
    for (size_t i = from; i < process->windows.n; i++) {
        if (process->windows.items[i].kind != kind)
            continue;
        tc_vec_push(&out->shapes, process->windows.items[i].shape);
        tc_vec_push(&out->places, i);
    }
}

static void release_windows(struct kind_windows *windows)
{
    tc_vec_release(&windows->shapes);
    tc_vec_release(&windows->places);
}

/* What no shape matched is matched in order, between those that one did. */
static void match_rest(size_t *match, size_t n_a, size_t n_b)
{
    size_t next = 0, end;

    for (size_t i = 0, gap; i < n_a; i = gap + 1) {
        for (gap = i; gap < n_a && match[gap] == TC_UNMATCHED; gap++)
            ;
        end = gap < n_a ? match[gap] : n_b;
        for (; i < gap && next < end; i++)
            match[i] = next++;
        next = gap < n_a ? end + 1 : next;
    }
}

static void match_kind(const struct tc_matched_windows *w, tc_sym kind, size_t *match)
{
    struct kind_windows of_a = {0}, of_b = {0};

    windows_of(w->a, w->from_a, kind, &of_a);
    windows_of(w->b, w->from_b, kind, &of_b);
    size_t *matched = tc_malloc((of_a.places.n + 1) * sizeof(*matched));
    tc_diff(of_a.shapes.items, of_a.shapes.n, of_b.shapes.items, of_b.shapes.n, matched);
    match_rest(matched, of_a.places.n, of_b.places.n);
    for (size_t i = 0; i < of_a.places.n; i++)
        if (matched[i] != TC_UNMATCHED)
            match[of_b.places.items[matched[i]]] = of_a.places.items[i];
    tc_free(matched);
    release_windows(&of_a);
    release_windows(&of_b);
}

void tc_match_windows(struct tc_matched_windows w, size_t *match)
{
    struct tc_map done = TC_MAP_INIT;

    for (size_t i = 0; i < w.b->windows.n; i++)
        match[i] = TC_UNMATCHED;
    for (size_t i = w.from_b; i < w.b->windows.n; i++) {
        const tc_sym kind = w.b->windows.items[i].kind;
        if (has(&done, kind))
            continue;
        tc_map_put(&done, kind, 1);
        match_kind(&w, kind, match);
    }
    tc_map_release(&done);
}
