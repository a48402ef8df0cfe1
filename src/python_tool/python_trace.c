/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_trace.c - the lines that the rules ask for, kept, sorted, and asked
 *
 * Before the first line each invariant says which functions and types it wants; all others are
 * counted in rows and dropped. Kept lines are copied into the arena of the trace. After
 * tc_python_trace_finish() calls are in order of time, and only then the questions below may be
 * asked. Functions are known by 64-bit hashes of their names.
 */
#include "python_tool/python_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Records of one function that follow each other on one thread. */
struct tc_python_run {
    uint64_t function;
    uint64_t n;
};

void tc_python_trace_want_function(struct tc_python_trace *trace, struct tc_str name)
{
    bool is_new;
    uint64_t *slot;

    if (!name.text)
        return;
    slot = tc_map_at(&trace->functions, tc_python_hash(name), &is_new);
    if (!is_new)
        return;
    struct tc_python_function *function = tc_calloc(1, sizeof(*function));
    function->name = name;
    *slot = (uintptr_t)function;
}

void tc_python_trace_want_type(struct tc_python_trace *trace, struct tc_str type)
{
    if (type.text)
        tc_map_put(&trace->types, tc_python_hash(type), 1);
}

static struct tc_python_function *wanted(const struct tc_python_trace *trace, uint64_t name)
{
    return tc_map_find(&trace->functions, name);
}

static struct tc_value *copy_members(struct tc_arena *arena, const struct tc_value *in);

static void copy(struct tc_arena *arena, const struct tc_value *in, struct tc_value *out)
{
    *out = *in;
    if (in->kind == TC_VALUE_STR) {
        out->text = tc_arena_text(arena, in->text, in->n);
    } else if (in->kind == TC_VALUE_ARRAY) {
        struct tc_value *items = tc_arena_alloc(arena, (in->n + 1) * sizeof(*items));
        for (uint32_t i = 0; i < in->n; i++)
            copy(arena, &in->items[i], &items[i]);
        out->items = items;
    } else if (in->kind == TC_VALUE_OBJECT) {
        *out = *copy_members(arena, in);
    }
}

static struct tc_value *copy_members(struct tc_arena *arena, const struct tc_value *in)
{
    struct tc_member *members = tc_arena_alloc(arena, (in->n + 1) * sizeof(*members));
    struct tc_value *out = tc_arena_alloc(arena, sizeof(*out));

    for (uint32_t i = 0; i < in->n; i++) {
        struct tc_str key = in->members[i].key;
        members[i].key = (struct tc_str){tc_arena_text(arena, key.text, key.size), key.size};
        copy(arena, &in->members[i].value, &members[i].value);
    }
    *out = (struct tc_value){.kind = TC_VALUE_OBJECT, .n = in->n, .members = members};
    return out;
}

static struct tc_python_record keep_record(struct tc_python_trace *trace,
                                           const struct tc_process *process,
                                           const struct tc_value *line)
{
    return (struct tc_python_record){
        .line = copy_members(&trace->arena, line),
        .time = tc_value_int(tc_value_get(line, "time"), 0),
        .process = tc_value_int(tc_value_get(line, "process_id"), 0),
        .thread = tc_value_int(tc_value_get(line, "thread_id"), 0),
        .order = trace->n_kept++,
        .of = process,
    };
}

static uint64_t hash_of_thread(const struct tc_value *line)
{
    const int64_t thread[] = {tc_value_int(tc_value_get(line, "process_id"), 0),
                              tc_value_int(tc_value_get(line, "thread_id"), 0)};

    return tc_hash64(thread, sizeof(thread), 0);
}

static void count_row(struct tc_python_trace *trace, uint64_t thread, uint64_t function)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&trace->runs, thread, &is_new);

    if (is_new)
        *slot = (uintptr_t)tc_arena_zalloc(&trace->arena, sizeof(struct tc_python_run));
    struct tc_python_run *run = (struct tc_python_run *)(uintptr_t)*slot;
    run->n = !is_new && run->function == function ? run->n + 1 : 1;
    run->function = function;
    uint64_t *longest = tc_map_at(&trace->rows, function, &is_new);
    if (run->n > *longest)
        *longest = run->n;
}

static void note_presence(struct tc_python_trace *trace, const struct tc_value *line,
                          uint64_t thread, uint64_t function, bool is_pre)
{
    int64_t time = tc_value_int(tc_value_get(line, "time"), 0);
    bool is_new;
    uint64_t *slot = tc_map_at(&trace->present, thread ^ (function * 31), &is_new);

    if (is_new) {
        struct tc_python_presence presence = {
            .process = tc_value_int(tc_value_get(line, "process_id"), 0),
            .thread = tc_value_int(tc_value_get(line, "thread_id"), 0),
            .function = function,
            .first_end = INT64_MAX,
            .last_begin = INT64_MIN};
        tc_vec_push(&trace->presence, presence);
        *slot = trace->presence.n;
    }
    struct tc_python_presence *p = &trace->presence.items[*slot - 1];
    if (is_pre && time > p->last_begin)
        p->last_begin = time;
    if (!is_pre && time < p->first_end)
        p->first_end = time;
}

static void add_pre(struct tc_python_trace *trace, const struct tc_process *process,
                    const struct tc_value *line, struct tc_python_function *function, uint64_t id)
{
    struct tc_python_call *call = tc_arena_zalloc(&trace->arena, sizeof(*call));

    call->pre = keep_record(trace, process, line);
    tc_vec_push(&function->calls, call);
    tc_map_put(&trace->open, id, (uintptr_t)call);
}

static void add_post(struct tc_python_trace *trace, const struct tc_process *process,
                     const struct tc_value *line, uint64_t id)
{
    struct tc_python_call *call = tc_map_find(&trace->open, id);

    if (!call)
        return;
    call->post = keep_record(trace, process, line);
    call->has_post = true;
    call->raised = tc_value_is(tc_value_get(line, "type"), "function_call (post) (exception)");
    tc_map_remove(&trace->open, id);
}

static void add_call(struct tc_python_trace *trace, const struct tc_process *process,
                     const struct tc_value *line)
{
    uint64_t name = tc_python_hash(tc_value_str(tc_value_get(line, "function")));
    uint64_t id = tc_python_hash(tc_value_str(tc_value_get(line, "func_call_id")));
    uint64_t thread = hash_of_thread(line);
    bool is_pre = tc_value_is(tc_value_get(line, "type"), "function_call (pre)");
    struct tc_python_function *function = wanted(trace, name);

    count_row(trace, thread, name);
    note_presence(trace, line, thread, name, is_pre);
    if (function && is_pre)
        add_pre(trace, process, line, function, id);
    else if (function)
        add_post(trace, process, line, id);
}

void tc_python_trace_add(struct tc_python_trace *trace, const struct tc_process *process,
                         const struct tc_record *record)
{
    const struct tc_value *line = record->foreign;
    int64_t time = tc_value_int(tc_value_get(line, "time"), 0);
    const struct tc_value *stage = tc_value_get(tc_value_get(line, "meta_vars"), "stage");

    trace->is_foreign = true;
    trace->has_stages |= stage && stage->kind == TC_VALUE_STR;
    if (time > trace->last_time)
        trace->last_time = time;
    if (!tc_value_is(tc_value_get(line, "type"), "state_change")) {
        add_call(trace, process, line);
        return;
    }
    uint64_t ignored;
    struct tc_str type = tc_value_str(tc_value_get(line, "var_type"));
    if (tc_map_get(&trace->types, tc_python_hash(type), &ignored))
        tc_vec_push(&trace->changes, keep_record(trace, process, line));
}

/* ---- the end ------------------------------------------------------------------------------- */

static int compare_places(const struct tc_python_record *a, const struct tc_python_record *b)
{
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_changes(const void *a, const void *b)
{
    return compare_places(a, b);
}

static int compare_calls(const void *a, const void *b)
{
    return compare_places(&(*(struct tc_python_call *const *)a)->pre,
                          &(*(struct tc_python_call *const *)b)->pre);
}

void tc_python_trace_finish(struct tc_python_trace *trace)
{
    struct tc_python_function *function;

    if (trace->changes.n)
        qsort(trace->changes.items, trace->changes.n, sizeof(*trace->changes.items),
              compare_changes);

    for (size_t pos = 0; (function = tc_map_next(&trace->functions, &pos));)
        if (function->calls.n)
            qsort(function->calls.items, function->calls.n, sizeof(*function->calls.items),
                  compare_calls);
}

void tc_python_trace_release(struct tc_python_trace *trace)
{
    struct tc_python_function *function;

    for (size_t pos = 0; (function = tc_map_next(&trace->functions, &pos));) {
        tc_vec_release(&function->calls);
        tc_free(function);
    }
    for (size_t i = 0; i < trace->states.n; i++)
        tc_python_variables_release(trace->states.items[i]);
    tc_vec_release(&trace->states);
    tc_vec_release(&trace->changes);
    tc_vec_release(&trace->presence);
    tc_map_release(&trace->functions);
    tc_map_release(&trace->types);
    tc_map_release(&trace->open);
    tc_map_release(&trace->rows);
    tc_map_release(&trace->runs);
    tc_map_release(&trace->present);
    tc_strtab_free(trace->keys);
    tc_torch_apis_free(trace->apis);
    tc_arena_release(&trace->arena);
}

/* ---- questions ----------------------------------------------------------------------------- */

const struct tc_python_function *tc_python_trace_function(const struct tc_python_trace *trace,
                                                          struct tc_str name)
{
    const struct tc_python_function *function = wanted(trace, tc_python_hash(name));

    return function && function->calls.n ? function : NULL;
}

uint64_t tc_python_trace_in_a_row(const struct tc_python_trace *trace, struct tc_str name)
{
    uint64_t n = 0;

    tc_map_get(&trace->rows, tc_python_hash(name), &n);
    return n;
}

static const struct tc_python_presence *
presence_of(const struct tc_python_trace *trace, int64_t process, int64_t thread, uint64_t function)
{
    for (size_t i = 0; i < trace->presence.n; i++) {
        const struct tc_python_presence *p = &trace->presence.items[i];
        if (p->process == process && p->thread == thread && p->function == function)
            return p;
    }
    return NULL;
}

bool tc_python_trace_has_neighbour(const struct tc_python_trace *trace, int64_t process,
                                   int64_t thread, struct tc_str name, uint64_t max_row)
{
    uint64_t function = tc_python_hash(name), row = 0;
    const struct tc_python_presence *own = presence_of(trace, process, thread, function);

    for (size_t i = 0; own && i < trace->presence.n; i++) {
        const struct tc_python_presence *p = &trace->presence.items[i];
        if (p->process != process || p->thread != thread || p->function == function)
            continue;
        tc_map_get(&trace->rows, p->function, &row);
        if (row <= max_row && (p->last_begin > own->first_end || own->last_begin > p->first_end))
            return true;
    }
    return false;
}

const struct tc_value *tc_python_argument(const struct tc_python_trace *trace,
                                          const struct tc_python_call *call, struct tc_str name,
                                          bool *is_known)
{
    const struct tc_value *line = call->pre.line, *args = tc_value_get(line, "args");
    const struct tc_value *kwargs = tc_value_get(line, "kwargs");
    const struct tc_torch_api *api =
        tc_torch_apis_find(trace->apis, tc_value_str(tc_value_get(line, "function")));

    *is_known = true;
    for (uint32_t i = 0; kwargs && kwargs->kind == TC_VALUE_OBJECT && i < kwargs->n; i++)
        if (tc_str_same(kwargs->members[i].key, name))
            return &kwargs->members[i].value;
    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        size_t position = tc_torch_position(args->members[i].key);
        struct tc_str param = {NULL, 0};
        if (api && position != SIZE_MAX)
            param = tc_torch_api_param(api, position);
        if (tc_str_same(param, name) && param.text)
            return &args->members[i].value;
        *is_known &= api != NULL;
    }
    return NULL;
}
