/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c - a line becomes none, one or several of our records in a queue
 *
 * A line gives at most an api record, its call or return, and before these a step where the tool's
 * count moved on. All live in one arena that the next line empties: take them with
 * tc_conversion_next() before. The last record carries the line itself as `foreign`.
 */
#include "import/convert.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/context.h"
#include "import/open_calls.h"
#include "import/state_changes.h"
#include "import/typed_value.h"
#include "trace/schema.h"

struct tc_conversion {
    const struct tc_torch_apis *apis;
    struct tc_notes *notes;
    bool has_stages;
    struct tc_arena arena; /* of the records of one line */
    TC_VEC(struct tc_record) queue;
    size_t next;
    struct tc_import_calls calls;
    struct tc_import_contexts contexts;
    struct tc_import_variables variables;
    struct tc_map declared; /* hashes of the names of APIs that had their record */
    int64_t step;           /* the tool's own count; TC_NONE before the first */
    bool was_training;      /* was a record of this step in stage training, or without stage? */
    const char *stage;      /* of the last record of the main thread, or NULL */
    int64_t step_to_cut;    /* a window is cut once the optimizer step in it has returned */
};

struct tc_conversion *tc_conversion_new(const struct tc_torch_apis *apis, struct tc_notes *notes,
                                        bool has_stages)
{
    struct tc_conversion *c = tc_calloc(1, sizeof(*c));

    c->apis = apis;
    c->notes = notes;
    c->has_stages = has_stages;
    c->step = c->step_to_cut = TC_NONE;
    return c;
}

void tc_conversion_free(struct tc_conversion *c)
{
    if (!c)
        return;
    tc_import_calls_release(&c->calls);
    tc_import_contexts_release(&c->contexts);
    tc_import_variables_release(&c->variables);
    tc_map_release(&c->declared);
    tc_vec_release(&c->queue);
    tc_arena_release(&c->arena);
    tc_free(c);
}

static struct tc_record *add_record(struct tc_conversion *c, enum tc_record_type type,
                                    const struct tc_python_line *line)
{
    struct tc_record record = tc_record_blank;

    record.type = type;
    record.line = line->number;
    record.t = line->time;
    record.object = line->object;
    tc_vec_push(&c->queue, record);
    return &c->queue.items[c->queue.n - 1];
}

/* Our stages for theirs; what has none is initialisation wherever stages are known at all. */
static const char *stage_of(const struct tc_conversion *c, const struct tc_python_line *line)
{
    static const char *const stages[] = {"init",          "training",      "evaluation",
                                         "checkpointing", "preprocessing", "postprocessing"};
    const struct tc_value *stage = tc_value_get(tc_value_get(line->object, "meta_vars"), "stage");

    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
        if (tc_value_is(stage, stages[i]))
            return stages[i];
    if (tc_value_is(stage, "inference") || tc_value_is(stage, "testing"))
        return "evaluation";
    return c->has_stages ? "init" : NULL;
}

static struct tc_str str_or_absent(const char *text)
{
    return text ? tc_str_of(text) : (struct tc_str){NULL, 0};
}

/* ---- windows ------------------------------------------------------------------------------- */

static void cut_window(struct tc_conversion *c, const struct tc_python_line *line)
{
    struct tc_record *record = add_record(c, TC_RECORD_STEP, line);

    record->step = c->step_to_cut;
    record->stage = str_or_absent(c->stage);
    record->why = tc_str_of(c->was_training ? "counted" : "stage");
    c->step_to_cut = TC_NONE;
    c->was_training = false;
}

/* The tool counts steps itself; where its count moves on, a window ends. Its hook may count inside
 * of the optimizer's step, which belongs to the window. */
static void follow_step(struct tc_conversion *c, const struct tc_python_line *line)
{
    int64_t step =
        tc_value_int(tc_value_get(tc_value_get(line->object, "meta_vars"), "step"), TC_NONE);

    if (step != TC_NONE && step != c->step) {
        if (c->step != TC_NONE && c->step_to_cut == TC_NONE)
            c->step_to_cut = c->step;
        c->step = step;
    }
    if (c->step_to_cut != TC_NONE && !c->calls.n_steps_open)
        cut_window(c, line);
    c->stage = stage_of(c, line);
    c->was_training |= c->stage == NULL || !strcmp(c->stage, "training");
}

/* ---- calls --------------------------------------------------------------------------------- */

static void declare(struct tc_conversion *c, const struct tc_python_line *line,
                    const struct tc_import_api *api)
{
    bool is_new;

    tc_map_at(&c->declared, tc_hash64(api->fn.text, api->fn.size, 0), &is_new);
    if (!is_new)
        return;
    struct tc_record *record = add_record(c, TC_RECORD_API, line);
    record->fn = api->fn;
    record->role = api->role;
    record->object = NULL;
}

static struct tc_value receiver(struct tc_conversion *c, const struct tc_python_line *line,
                                const struct tc_value *typed, bool is_root)
{
    const struct tc_value value = tc_python_value(c->apis, &c->arena, typed);
    int64_t id = tc_value_int(tc_value_get(line->object, "obj_id"), TC_NONE);
    struct tc_object_maker maker;

    if (value.kind != TC_VALUE_OBJECT)
        return value;
    tc_make_object(&maker, &c->arena, value.n + 2);
    for (uint32_t i = 0; i < value.n; i++)
        tc_make_member(&maker, value.members[i].key, value.members[i].value);
    if (id != TC_NONE && !tc_value_get(&value, "id"))
        tc_make_int(&maker, "id", id);
    if (is_root)
        tc_make_str(&maker, "role", tc_str_of("root"));
    return tc_made(&maker);
}

/* Arguments by name where the signature is known; without the receiver. */
static const struct tc_value *arguments(struct tc_conversion *c, const struct tc_python_line *line,
                                        const struct tc_torch_api *known, bool has_self)
{
    const struct tc_value *args = tc_value_get(line->object, "args");
    const struct tc_value *kwargs = tc_value_get(line->object, "kwargs");
    uint32_t n_args = args && args->kind == TC_VALUE_OBJECT ? args->n : 0;
    uint32_t n_kwargs = kwargs && kwargs->kind == TC_VALUE_OBJECT ? kwargs->n : 0;
    struct tc_object_maker maker;

    if (!args && !kwargs)
        return NULL;
    tc_make_object(&maker, &c->arena, n_args + n_kwargs);
    for (uint32_t i = 0; i < n_args; i++) {
        const struct tc_member *m = &args->members[i];
        size_t position = tc_torch_position(m->key);
        struct tc_str name = {NULL, 0};
        if (has_self && position == 0)
            continue;
        if (known && position != SIZE_MAX)
            name = tc_torch_api_param(known, position);
        tc_make_member(&maker, name.text ? name : m->key,
                       tc_python_value(c->apis, &c->arena, &m->value));
    }
    for (uint32_t i = 0; i < n_kwargs; i++)
        tc_make_member(&maker, kwargs->members[i].key,
                       tc_python_value(c->apis, &c->arena, &kwargs->members[i].value));
    return tc_value_place(&c->arena, tc_made(&maker));
}

static void fill_call(struct tc_conversion *c, const struct tc_python_line *line,
                      const struct tc_import_api *api, struct tc_record *record, bool is_root)
{
    const struct tc_value *bound = tc_value_get(line->object, "is_bound_method");
    const struct tc_value *self = tc_value_get(tc_value_get(line->object, "args"), "0");
    bool has_self = self && (api->is_method || tc_value_is_true(bound));

    record->fn = api->fn;
    record->step = c->step == TC_NONE ? -1 : c->step;
    record->stage = str_or_absent(stage_of(c, line));
    if (has_self)
        record->self = tc_value_place(&c->arena, receiver(c, line, self, is_root));
    record->args = arguments(c, line, api->known, has_self);
    record->ctx = tc_import_contexts_of(&c->contexts, line->thread, &c->arena);
}

static void on_pre(struct tc_conversion *c, const struct tc_python_line *line, const char *file)
{
    struct tc_import_api api;
    bool is_traced = tc_import_api_of(c->apis, line->object, &api);
    struct tc_import_call *call = tc_import_calls_enter(&c->calls, line, is_traced ? &api : NULL);

    if (!call)
        tc_notes_add(c->notes, "duplicate-call", file, line->number,
                     "a func_call_id has two pre records");
    if (!call || call->id == TC_NONE) {
        add_record(c, TC_RECORD_UNKNOWN, line);
    } else {
        declare(c, line, &api);
        struct tc_record *record = add_record(c, TC_RECORD_CALL, line);
        record->id = call->id;
        record->parent = call->parent;
        record->th = call->thread;
        fill_call(c, line, &api, record, call->is_root);
    }
}

static void on_post(struct tc_conversion *c, const struct tc_python_line *line, const char *file)
{
    bool raised = tc_str_is(line->type, "function_call (post) (exception)");
    const struct tc_value *value = tc_value_get(line->object, "return_values");
    struct tc_import_call call;

    if (!tc_import_calls_leave(&c->calls, line, &call))
        tc_notes_add(c->notes, "unmatched-return", file, line->number,
                     "a func_call_id ends but is not open");
    if (call.id == TC_NONE) {
        add_record(c, TC_RECORD_UNKNOWN, line);
        return;
    }
    struct tc_record *record = add_record(c, raised ? TC_RECORD_RAISE : TC_RECORD_RETURN, line);
    record->id = call.id;
    if (raised) {
        record->exc = tc_value_str(tc_value_get(line->object, "exception"));
        record->msg = tc_value_str(tc_value_get(line->object, "exception_msg"));
    } else if (value) {
        record->value = tc_value_place(&c->arena, tc_python_value(c->apis, &c->arena, value));
    }
}

static void on_state(struct tc_conversion *c, const struct tc_python_line *line)
{
    struct tc_record *record = add_record(c, TC_RECORD_VAR, line);

    record->step = c->step == TC_NONE ? -1 : c->step;
    record->stage = str_or_absent(stage_of(c, line));
    record->cause = tc_import_calls_innermost(&c->calls, line->thread);
    tc_import_variables_fill(&c->variables, line, &c->arena, record);
}

void tc_conversion_add(struct tc_conversion *c, const struct tc_python_line *line, const char *file)
{
    c->queue.n = c->next = 0;
    tc_arena_reset(&c->arena);
    if (tc_import_calls_is_main(&c->calls, line))
        follow_step(c, line);
    tc_import_contexts_follow(&c->contexts, c->apis, line);
    if (tc_str_is(line->type, "state_change"))
        on_state(c, line);
    else if (tc_str_is(line->type, "function_call (pre)"))
        on_pre(c, line, file);
    else
        on_post(c, line, file);
    /* The line itself goes with the record that it means, which is the last one. */
    c->queue.items[c->queue.n - 1].foreign = line->object;
}

const struct tc_record *tc_conversion_next(struct tc_conversion *c)
{
    return c->next < c->queue.n ? &c->queue.items[c->next++] : NULL;
}
