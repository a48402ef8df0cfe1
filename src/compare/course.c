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
    struct tc_scripts *scripts;
    struct tc_trace_file *file;
    struct tc_replay *replay;
    const struct tc_record *record;  /* the one that is fed, in the arena of the open window */
    struct tc_course_window *open;   /* NULL once all is read */
    struct tc_course_window *closed; /* to be handed over, or NULL */
    struct tc_map by_id;             /* id of a call -> its index in the open window */
    struct tc_map names, kinds;      /* serial of a variable -> symbol */
    uint64_t n_windows;
    bool has_ended;
};

/* ---- windows ------------------------------------------------------------------------------- */

static struct tc_course_window *window_new(struct tc_course *course)
{
    struct tc_course_window *window = tc_calloc(1, sizeof(*window));

    window->number = course->n_windows++;
    window->step = -1;
    window->stage = TC_SYM_EMPTY;
    return window;
}

void tc_course_window_free(struct tc_course_window *window)
{
    if (!window)
        return;
    tc_vec_release(&window->calls);
    tc_vec_release(&window->variables);
    tc_arena_release(&window->arena);
    tc_free(window);
}

/* Of what is called, by tokens, without the functions that the script is cut into. */
static uint64_t shape_of(const struct tc_call_sites *sites, const struct tc_course_window *window)
{
    uint64_t shape = 0;

    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_call_site *site = &sites->items.items[window->calls.items[i].site];
        if (!site->is_own)
            shape = tc_hash_mix(shape, site->token, 1);
    }
    return shape;
}

static void close_window(struct tc_course *course)
{
    struct tc_course_window *window = course->open;

    window->shape = shape_of(course->context.sites, window);
    course->closed = window;
    course->open = course->has_ended ? NULL : window_new(course);
    tc_map_clear(&course->by_id);
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
        .begin = course->record,
    };

    tc_map_put(&course->by_id, (uint64_t)call->id, window->calls.n);
    tc_vec_push(&window->calls, seen);
    if (call->step != TC_NONE)
        window->step = call->step;
    if (window->stage == TC_SYM_EMPTY)
        window->stage = call->stage;
}

static void on_end(struct tc_course *course, const struct tc_call *call)
{
    uint32_t i = index_of(course, call);

    if (i != TC_NO_CALL)
        course->open->calls.items[i].end = course->record;
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

static void on_window(struct tc_course *course, const struct tc_window *window)
{
    course->open->step = window->step;
    course->open->stage = window->stage;
    course->open->has_step = window->has_step;
    close_window(course);
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

enum tc_status tc_course_open(const char *path, const struct tc_course_context *context,
                              struct tc_scripts *scripts, struct tc_course **out,
                              struct tc_error *err)
{
    struct tc_trace_file *file;
    enum tc_status status = tc_trace_file_open(path, context->notes, &file, err);

    if (status)
        return status;
    if (tc_trace_file_is_foreign(file)) {
        tc_trace_file_close(file);
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: a trace of the Python tool; only traces of traincheck-collect "
                            "can be compared",
                            path);
    }
    struct tc_course *course = tc_calloc(1, sizeof(*course));
    course->context = *context;
    course->scripts = scripts;
    course->file = file;
    course->open = window_new(course);
    course->replay = tc_replay_new(context->symbols, NULL, on_event, course);
    tc_replay_look_closely(course->replay);
    tc_replay_add_process(course->replay, tc_trace_file_name(file), tc_trace_file_process(file));
    *out = course;
    return TC_OK;
}

void tc_course_close(struct tc_course *course)
{
    if (!course)
        return;
    tc_replay_free(course->replay);
    tc_trace_file_close(course->file);
    tc_course_window_free(course->open);
    tc_course_window_free(course->closed);
    tc_map_release(&course->by_id);
    tc_map_release(&course->names);
    tc_map_release(&course->kinds);
    tc_free(course);
}

/* Feed one record. Where a window is cut by it, the record lies in the arena of the closed one. */
static enum tc_status step_on(struct tc_course *course, struct tc_error *err)
{
    enum tc_status status =
        tc_trace_file_take(course->file, &course->open->arena, &course->record, err);

    if (status == TC_END) {
        course->has_ended = true;
        close_window(course);
        return TC_OK;
    }
    if (status)
        return status;
    if (course->record->type == TC_RECORD_SOURCE && course->scripts)
        tc_scripts_add(course->scripts, course->record);
    tc_replay_feed(course->replay, 0, course->record);
    if (!course->closed && course->open->calls.n >= TC_WINDOW_MAX_CALLS)
        close_window(course);
    return TC_OK;
}

enum tc_status tc_course_next(struct tc_course *course, struct tc_course_window **out,
                              struct tc_error *err)
{
    enum tc_status status = TC_OK;

    while (course->open && !course->closed && !status)
        status = step_on(course, err);
    if (status)
        return status;
    *out = course->closed;
    course->closed = NULL;
    return *out ? TC_OK : TC_END;
}

const struct tc_process *tc_course_process(const struct tc_course *course)
{
    return tc_replay_process(course->replay, 0);
}

const struct tc_record *tc_course_record(const struct tc_course *course)
{
    return tc_trace_file_process(course->file);
}

uint64_t tc_course_json_bytes(const struct tc_course *course)
{
    return tc_trace_file_json_bytes(course->file);
}
