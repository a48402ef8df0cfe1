/* SPDX-License-Identifier: Apache-2.0 */
/*
 * course.c - one trace file through a replay of its own, collected into windows
 */
#include "compare/course.h"

#include "base/hash.h"
#include "replay/replay.h"
#include "replay/symbols.h"

struct tc_course {
    struct tc_course_context context;
    struct tc_excerpt_reader *excerpt; /* all is read from it; or NULL */
    struct tc_scripts *scripts;
    struct tc_trace_file *file;
    struct tc_replay *replay;
    const struct tc_record *record;  /* the one that is fed, in the arena of the open window */
    struct tc_course_window *open;   /* NULL once all is read */
    struct tc_course_window *closed; /* to be handed over, or NULL */
    TC_VEC(uint32_t) own;            /* open functions of the script in the open window */
    size_t n_calls_cut,
        n_variables_cut; /* what the open window had at the last cut before a step */
    struct tc_course_window *closed_next; /* after closed, or NULL */
    bool has_stepped;
    struct tc_map by_id;        /* id of a call -> its index in the open window */
    struct tc_map names, kinds; /* serial of a variable -> symbol */
    uint64_t n_windows;
    bool has_ended;
};

/* ---- windows ------------------------------------------------------------------------------- */

/* Of what is called, by tokens, without the functions that the script is cut into. */
static uint64_t shape_of(const struct tc_call_sites *sites, const struct tc_course_window *window)
{
    uint64_t shape = 0;

    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_call_site *site = &sites->items.items[window->calls.items[i].site];
        if (!site->is_own && !tc_course_call_is_of_loader(&window->calls.items[i], sites))
            shape = tc_hash_mix(shape, site->token, 1);
    }
    return shape;
}

static void close_window(struct tc_course *course)
{
    course->closed = course->open;
    course->open = course->has_ended ? NULL : tc_course_window_new(NULL);
    tc_map_clear(&course->by_id);
    course->own.n = 0;
}

static uint32_t behind(uint32_t index, size_t n)
{
    return index == TC_NO_CALL || index < n ? TC_NO_CALL : (uint32_t)(index - n);
}

/* What stands behind the last cut is the first step's, and a window of its own. */
static void close_first_step(struct tc_course *course)
{
    struct tc_course_window *before = course->open, *step = tc_course_window_new(before->memory);

    for (size_t i = course->n_calls_cut; i < before->calls.n; i++) {
        struct tc_course_call call = before->calls.items[i];
        call.parent = behind(call.parent, course->n_calls_cut);
        call.own = behind(call.own, course->n_calls_cut);
        tc_course_window_add(step, course->context.sites, &call);
    }
    for (size_t i = course->n_variables_cut; i < before->variables.n; i++) {
        struct tc_course_variable variable = before->variables.items[i];
        variable.cause = behind(variable.cause, course->n_calls_cut);
        tc_vec_push(&step->variables, variable);
    }
    before->calls.n = course->n_calls_cut;
    before->variables.n = course->n_variables_cut;
    close_window(course);
    course->closed_next = step;
}

/* ---- events -------------------------------------------------------------------------------- */

static uint32_t index_of(const struct tc_course *course, const struct tc_call *call)
{
    uint64_t index;

    return call && tc_map_get(&course->by_id, (uint64_t)call->id, &index) ? (uint32_t)index
                                                                          : TC_NO_CALL;
}

static void on_begin(struct tc_course *course, const struct tc_call *call)
{
    struct tc_course_window *window = course->open;
    const struct tc_course_call seen = {
        .site = tc_call_sites_at(course->context.sites, call),
        .parent = index_of(course, call->parent),
        .own = course->own.n ? course->own.items[course->own.n - 1] : TC_NO_CALL,
        .begin = course->record,
    };
    const bool is_own = course->context.sites->items.items[seen.site].is_own;

    if (is_own && !call->th)
        tc_vec_push(&course->own, (uint32_t)window->calls.n);
    tc_map_put(&course->by_id, (uint64_t)call->id, window->calls.n);
    tc_course_window_add(window, course->context.sites, &seen);
    if (call->step != TC_NONE)
        window->step = call->step;
    if (window->stage == TC_SYM_EMPTY)
        window->stage = call->stage;
}

static void on_end(struct tc_course *course, const struct tc_call *call)
{
    uint32_t i = index_of(course, call);

    if (i == TC_NO_CALL)
        return;
    course->open->calls.items[i].end = course->record;
    if (course->own.n && course->own.items[course->own.n - 1] == i)
        course->own.n--;
}

static tc_sym kept(struct tc_map *map, struct tc_strtab *symbols, int64_t serial,
                   struct tc_str text)
{
    uint64_t sym = TC_SYM_EMPTY;

    if (text.text)
        tc_map_put(map, (uint64_t)serial, tc_symbols_str(symbols, text));
    tc_map_get(map, (uint64_t)serial, &sym);
    return (tc_sym)sym;
}

static void on_variable(struct tc_course *course, const struct tc_event *event)
{
    const struct tc_record *record = event->record;
    struct tc_strtab *symbols = course->context.symbols;
    const struct tc_course_variable seen = {
        .name = kept(&course->names, symbols, record->var, record->name),
        .kind = kept(&course->kinds, symbols, record->var, record->kind),
        .cause = index_of(course, event->call),
        .is_new = event->is_new,
        .record = course->record,
    };

    tc_vec_push(&course->open->variables, seen);
}

static void describe(struct tc_course_window *out, const struct tc_window *window)
{
    out->step = window->step;
    out->stage = window->stage;
    out->has_step = window->has_step;
}

static void on_window(struct tc_course *course, const struct tc_window *window)
{
    struct tc_course_window *open = course->open;

    if (!course->has_stepped && !window->has_step && open->calls.n < TC_WINDOW_MAX_CALLS) {
        if (!course->n_calls_cut)
            describe(open, window);
        course->n_calls_cut = open->calls.n;
        course->n_variables_cut = open->variables.n;
        return;
    }
    if (!course->has_stepped && window->has_step && course->n_calls_cut) {
        close_first_step(course);
        describe(course->closed_next, window);
    } else {
        describe(open, window);
        close_window(course);
    }
    course->has_stepped |= window->has_step;
    course->n_calls_cut = course->n_variables_cut = 0;
}

static void on_event(void *context, const struct tc_event *event)
{
    struct tc_course *course = context;

    if (event->kind == TC_EVENT_BEGIN)
        on_begin(course, event->call);
    else if (event->kind == TC_EVENT_CALL)
        on_end(course, event->call);
    else if (event->kind == TC_EVENT_VARIABLE)
        on_variable(course, event);
    else if (event->kind == TC_EVENT_WINDOW && course->open)
        on_window(course, event->window);
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum tc_status open_trace(struct tc_course *course, const char *path, struct tc_error *err)
{
    struct tc_trace_file *file;
    enum tc_status status = tc_trace_file_open(path, course->context.notes, &file, err);

    if (status)
        return status;
    course->file = file;
    if (tc_trace_file_is_foreign(file))
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: a trace of the Python tool; only traces of traincheck-collect "
                            "can be compared",
                            path);
    course->open = tc_course_window_new(NULL);
    course->replay = tc_replay_new(course->context.symbols, NULL, on_event, course);
    tc_replay_look_closely(course->replay);
    tc_replay_add_process(course->replay, tc_trace_file_name(file), tc_trace_file_process(file));
    return TC_OK;
}

enum tc_status tc_course_open(struct tc_course_source source,
                              const struct tc_course_context *context, struct tc_scripts *scripts,
                              struct tc_course **out, struct tc_error *err)
{
    struct tc_course *course = tc_calloc(1, sizeof(*course));
    enum tc_status status;

    course->context = *context;
    course->scripts = scripts;
    if (source.excerpt)
        status = tc_excerpt_reader_open(source.excerpt, context, scripts, &course->excerpt, err);
    else
        status = open_trace(course, source.path, err);
    if (status)
        tc_course_close(course);
    *out = status ? NULL : course;
    return status;
}

void tc_course_close(struct tc_course *course)
{
    if (!course)
        return;
    tc_excerpt_reader_close(course->excerpt);
    tc_replay_free(course->replay);
    tc_trace_file_close(course->file);
    tc_course_window_free(course->open);
    tc_course_window_free(course->closed);
    tc_course_window_free(course->closed_next);
    tc_vec_release(&course->own);
    tc_map_release(&course->by_id);
    tc_map_release(&course->names);
    tc_map_release(&course->kinds);
    tc_free(course);
}

static bool is_trimmed(const struct tc_record *record)
{
    return record->type == TC_RECORD_NOTE && tc_str_is(record->code, "trimmed");
}

/* Feed one record. Where a window is cut by it, the record lies in the arena of the closed one. */
static enum tc_status step_on(struct tc_course *course, struct tc_error *err)
{
    enum tc_status status =
        tc_trace_file_take(course->file, &course->open->memory->arena, &course->record, err);

    if (status == TC_END) {
        course->has_ended = true;
        close_window(course);
        return TC_OK;
    }
    if (status)
        return status;
    if (is_trimmed(course->record))
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: steps of it were deleted, so what it did in turn is not known",
                            tc_trace_file_path(course->file));
    if (course->record->type == TC_RECORD_SOURCE && course->scripts)
        tc_scripts_add(course->scripts, course->record);
    tc_replay_feed(course->replay, 0, course->record);
    if (!course->closed && course->open->calls.n >= TC_WINDOW_MAX_CALLS)
        close_window(course);
    return TC_OK;
}

/* A variable has the name that it was given last: the script's own comes later than a place among
 * the optimizer's parameters. */
static void name_variables(const struct tc_course *course, struct tc_course_window *window)
{
    for (size_t i = 0; i < window->variables.n; i++) {
        struct tc_course_variable *v = &window->variables.items[i];
        uint64_t name = v->name;
        tc_map_get(&course->names, (uint64_t)v->record->var, &name);
        v->name = (tc_sym)name;
    }
}

/* The next window of the trace, or NULL after the last. */
static enum tc_status next_of_trace(struct tc_course *course, struct tc_course_window **out,
                                    struct tc_error *err)
{
    enum tc_status status = TC_OK;

    while (course->open && !course->closed && !status)
        status = step_on(course, err);
    if (status)
        return status;
    *out = course->closed;
    course->closed = course->closed_next;
    course->closed_next = NULL;
    if (*out)
        name_variables(course, *out);
    return TC_OK;
}

enum tc_status tc_course_next(struct tc_course *course, struct tc_course_window **out,
                              struct tc_error *err)
{
    enum tc_status status = TC_OK;

    if (course->excerpt)
        *out = tc_excerpt_reader_next(course->excerpt);
    else
        status = next_of_trace(course, out, err);
    if (status)
        return status;
    if (!*out)
        return TC_END;
    (*out)->number = course->n_windows++;
    (*out)->shape = shape_of(course->context.sites, *out);
    return TC_OK;
}

struct tc_course_owner tc_course_owner(const struct tc_course *course)
{
    if (course->excerpt)
        return (struct tc_course_owner){
            .is_worker = tc_excerpt_reader_is_worker(course->excerpt),
            .rank = tc_excerpt_reader_rank(course->excerpt),
            .world = tc_excerpt_reader_world(course->excerpt),
        };
    const struct tc_process *p = tc_replay_process(course->replay, 0);
    return (struct tc_course_owner){
        .is_worker = p->is_worker,
        .rank = p->rank > 0 ? p->rank : 0,
        .world = p->world,
        .began = tc_process_began(p),
    };
}

const struct tc_record *tc_course_record(const struct tc_course *course)
{
    return course->excerpt ? tc_excerpt_reader_process(course->excerpt)
                           : tc_trace_file_process(course->file);
}

uint64_t tc_course_json_bytes(const struct tc_course *course)
{
    return course->excerpt ? 0 : tc_trace_file_json_bytes(course->file);
}
