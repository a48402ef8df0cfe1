/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable.c - attributes of a variable set one by one, each change an atom of its cause
 *
 * A table gives each attribute of the format a function; all others are framework attributes, of
 * which only true ones are kept. The shape is applied first, as content depends on it. What an
 * optimizer step found of gradients is counted before it and settled after it.
 */
#include "replay/variable.h"

#include <string.h>

#include "base/strbuf.h"
#include "replay/rest.h"
#include "replay/span.h"
#include "replay/symbols.h"
#include "trace/scan.h"

const struct tc_variable *tc_process_variable(const struct tc_process *process, int64_t serial)
{
    return tc_rest_find(process, serial);
}

static tc_sym share(size_t n, size_t of)
{
    return !n ? TC_SYM_NONE : n == of ? TC_SYM_ALL : TC_SYM_SOME;
}

/* Only the step right after the one that left it is judged: between others, as with steps that are
 * not traced, a change may have any cause. */
static enum tc_since_step since_step(const struct tc_variable *v, const struct tc_call *call)
{
    if (!v || !v->has_data || v->left_step == TC_NONE ||
        (call->step > v->left_step && (uint64_t)call->step - (uint64_t)v->left_step > 1))
        return TC_SINCE_UNKNOWN;
    return v->data == v->left_data ? TC_SINCE_KEPT : TC_SINCE_MOVED;
}

static void survey_since_step(const struct tc_process *process, struct tc_call *call)
{
    unsigned char *since = tc_arena_alloc(&call->arena, call->n_params);

    for (size_t i = 0; i < call->n_params; i++)
        since[i] = (unsigned char)since_step(tc_process_variable(process, call->params[i]), call);
    call->since_step = since;
}

/* "copy_", and no "__setitem__", which takes a part alone. */
static bool is_in_place(const char *fn)
{
    const size_t n = strlen(fn);

    return n > 1 && fn[n - 1] == '_' && fn[n - 2] != '_';
}

void tc_variable_write(const struct tc_process *process, const struct tc_strtab *symbols,
                       const struct tc_call *call, const struct tc_call *own)
{
    struct tc_variable *variable;

    if ((call->role != TC_ROLE_FILL && call->role != TC_ROLE_OPERATOR) || call->raised ||
        !is_in_place(tc_strtab_text(symbols, call->fn)))
        return;
    variable = tc_rest_find(process, tc_value_int(tc_value_get(call->self, "id"), TC_NONE));
    if (variable)
        variable->written = (struct tc_write){.fn = call->fn,
                                              .at = call->at,
                                              .in = own ? own->fn : TC_NO_SYM,
                                              .in_at = own ? own->at : TC_NO_SYM,
                                              .id = call->id};
}

void tc_variable_settle(struct tc_process *process, const struct tc_call *call)
{
    for (size_t i = 0; i < call->n_params; i++) {
        struct tc_variable *v = tc_rest_find(process, call->params[i]);
        if (!v)
            continue;
        tc_rest_use(process, v);
        if (v->written.id < v->stepped)
            v->written.fn = TC_NO_SYM;
        v->stepped = call->id;
        v->grad_used = v->grad_made;
        v->left_data = v->data;
        v->left_step = v->has_data ? call->step : TC_NONE;
    }
}

void tc_variable_survey(const struct tc_process *process, struct tc_call *call)
{
    size_t frozen = 0, with_grad = 0;

    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *variable = tc_process_variable(process, call->params[i]);
        frozen += variable && !variable->requires_grad;
        with_grad += variable && variable->grad != TC_SYM_GRAD_NULL;
    }
    call->frozen = share(frozen, call->n_params);
    call->grads = share(with_grad, call->n_params);
    if (call->role == TC_ROLE_STEP)
        survey_since_step(process, call);
}

void tc_process_free_variables(struct tc_process *process)
{
    struct tc_variable *variable;

    for (size_t pos = 0; (variable = tc_map_next(&process->variables, &pos));)
        tc_free(variable->attrs);
    for (size_t pos = 0; (variable = tc_map_next(&process->resting, &pos));)
        tc_free(variable->attrs);
    tc_map_release_structs(&process->variables);
    tc_map_release_structs(&process->resting);
    tc_map_release(&process->called);
}

static struct tc_variable *variable_at(struct tc_process *process, int64_t serial, bool *is_new)
{
    struct tc_variable *variable = tc_rest_find(process, serial);

    *is_new = !variable;
    if (*is_new) {
        variable = tc_calloc(1, sizeof(*variable));
        variable->serial = serial;
        variable->algorithm = process->digest;
        variable->root = variable->left_step = TC_NONE;
        variable->data_cause = variable->grad_cause = -1;
        variable->grad_made = variable->grad_used = variable->stepped = -1;
        variable->grad = variable->grad_before = TC_SYM_GRAD_NULL;
        variable->training = TC_SYM_NULL;
        variable->owner = TC_SYM_NULL;
        variable->dtype = variable->first_dtype = TC_SYM_NULL;
        variable->part = variable->written.fn = TC_NO_SYM;
        variable->first_shape = TC_NO_SYM;
        tc_map_put(&process->variables, (uint64_t)serial, (uintptr_t)variable);
        process->n_variables++;
    }
    tc_rest_use(process, variable);
    return variable;
}

/* One record being applied. */
struct update {
    struct tc_variable *variable;
    struct tc_strtab *symbols;
    struct tc_call *cause;
    bool is_new, has_other_data;
};

static void add_change(struct update *u, tc_sym attr, tc_sym from, tc_sym to)
{
    if (!u->is_new && u->cause)
        tc_call_add_atom(u->cause,
                         TC_ATOM(u->symbols, TC_SYM_CHANGE, u->variable->kind, attr, from, to));
}

/* Is the change what its cause is for? */
static bool is_meant(const struct tc_call *cause)
{
    return tc_call_is_within(cause, TC_ROLE_LOAD) || tc_call_is_within(cause, TC_ROLE_INIT) ||
           tc_call_is_within(cause, TC_ROLE_REPLAY);
}

/* A forward may let an average that the model keeps follow it: that writes to no weight that is
 * trained. */
static bool is_followed(const struct tc_variable *v, const struct tc_call *cause)
{
    return v->kind == TC_SYM_PARAMETER && !v->requires_grad &&
           tc_call_is_within(cause, TC_ROLE_FORWARD);
}

static void set_data(struct update *u, const struct tc_value *value)
{
    struct tc_variable *v = u->variable;
    struct tc_str text = tc_value_str(value);
    bool is_sampled = text.size && text.text[0] == '~';
    uint64_t digest = 0;
    uint32_t i = is_sampled;

    for (; i < text.size; i++) {
        char c = text.text[i];
        digest = digest << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    bool has_data = text.size && !v->is_empty;
    bool comparable = v->has_data && has_data && is_sampled == v->is_sampled;
    if (comparable && digest != v->data) {
        if (!is_followed(v, u->cause))
            add_change(u, TC_SYM_DATA, TC_SYM_ABSENT, TC_SYM_CHANGED);
        u->has_other_data = true;
        v->data_cause = u->cause ? u->cause->id : -1;
    }
    if (is_meant(u->cause))
        v->left_data = digest;
    if (is_sampled != v->is_sampled)
        v->left_step = TC_NONE;
    v->has_data = has_data;
    if (u->is_new) {
        v->first_data = digest;
        v->has_first = v->has_data;
    }
    v->is_sampled = is_sampled;
    v->data = digest;
}

/* Absent and zero are one class where changes are named: both mean that nothing is to be applied.
 */
static tc_sym grad_change_class(tc_sym grad)
{
    return grad == TC_SYM_GRAD_NULL || grad == TC_SYM_ZERO ? TC_SYM_CLEAR : TC_SYM_NOT_CLEAR;
}

static void set_grad(struct update *u, const struct tc_value *value)
{
    struct tc_variable *v = u->variable;
    tc_sym grad = tc_symbols_quote(u->symbols, tc_value_str(value));
    tc_sym from = grad_change_class(v->grad), to = grad_change_class(grad);

    if (from != to)
        add_change(u, TC_SYM_GRAD, from, to);
    v->grad_before = v->grad;
    v->grad = grad;
    v->grad_cause = u->cause ? u->cause->id : -1;
    v->was_tiny |= grad == TC_SYM_TINY;
    v->is_zero_computed = grad == TC_SYM_ZERO && tc_call_is_within(u->cause, TC_ROLE_BACKWARD);
    if (from != to && from == TC_SYM_CLEAR)
        v->grad_made = v->grad_cause;
}

static void set_dtype(struct update *u, const struct tc_value *value)
{
    struct tc_str text = tc_value_str(value);
    tc_sym dtype = tc_symbols_quote(u->symbols, text);

    if (dtype != u->variable->dtype)
        add_change(u, TC_SYM_DTYPE, TC_SYM_ABSENT, tc_symbols_str(u->symbols, text));
    u->variable->dtype = dtype;
    if (u->variable->first_dtype == TC_SYM_NULL)
        u->variable->first_dtype = dtype;
}

static void set_requires_grad(struct update *u, const struct tc_value *value)
{
    bool now = tc_value_is_true(value);

    if (now != u->variable->requires_grad)
        add_change(u, TC_SYM_REQUIRES_GRAD, tc_symbols_bool(!now), tc_symbols_bool(now));
    u->variable->requires_grad = now;
}

static tc_sym json_text(struct tc_strtab *symbols, const struct tc_value *value)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym sym;

    tc_value_print(value, &text);
    sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

/* Does a tensor of that shape have no element? So has one whose shard is given back after use. */
static bool has_no_element(const struct tc_value *shape)
{
    for (uint32_t i = 0; shape->kind == TC_VALUE_ARRAY && i < shape->n; i++)
        if (shape->items[i].kind == TC_VALUE_INT && shape->items[i].integer == 0)
            return true;
    return false;
}

static void set_shape(struct update *u, const struct tc_value *value)
{
    u->variable->shape = json_text(u->symbols, value);
    u->variable->is_matrix = value->kind == TC_VALUE_ARRAY && value->n >= 2;
    u->variable->is_empty = has_no_element(value);
    if (u->variable->first_shape == TC_NO_SYM && !u->variable->is_empty)
        u->variable->first_shape = u->variable->shape;
}

static void set_is_leaf(struct update *u, const struct tc_value *value)
{
    u->variable->is_leaf = tc_value_is_true(value);
}

static void set_owner(struct update *u, const struct tc_value *value)
{
    u->variable->owner = tc_symbols_quote(u->symbols, tc_value_str(value));
}

static void set_training(struct update *u, const struct tc_value *value)
{
    u->variable->training =
        value->kind == TC_VALUE_BOOL ? tc_symbols_bool(value->boolean) : TC_SYM_NULL;
}

static void set_sharded(struct update *u, const struct tc_value *value)
{
    u->variable->is_sharded = tc_value_is_true(value);
}

static void ignore(struct update *u, const struct tc_value *value)
{
    (void)u;
    (void)value;
}

static void set_part(struct update *u, const struct tc_value *value)
{
    u->variable->part = value->kind == TC_VALUE_ARRAY ? json_text(u->symbols, value) : TC_NO_SYM;
}

/* The attributes of docs/trace-format.md; all others are framework attributes. */
static const struct {
    const char *name;
    void (*set)(struct update *u, const struct tc_value *value);
} attributes[] = {
    {"data",          set_data         },
    {"grad",          set_grad         },
    {"dtype",         set_dtype        },
    {"shape",         ignore           }, /* is set already */
    {"requires_grad", set_requires_grad},
    {"is_leaf",       set_is_leaf      },
    {"owner",         set_owner        },
    {"training",      set_training     },
    {"sharded",       set_sharded      },
    {"part",          set_part         },
    {"device",        ignore           },
    {"placements",    ignore           },
    {"mesh",          ignore           },
    {"layout",        ignore           },
    {"sketch",        ignore           }, /* no claim depends on it */
};

static bool is_truthy(const struct tc_value *value)
{
    switch (value->kind) {
    case TC_VALUE_BOOL:
        return value->boolean;
    case TC_VALUE_INT:
        return value->integer != 0;
    case TC_VALUE_STR:
        return value->n > 0;
    default:
        return value->kind != TC_VALUE_NULL;
    }
}

/* False, 0 and None equal absent: only what is true is kept. */
static void set_framework(struct update *u, struct tc_str name, const struct tc_value *value)
{
    struct tc_variable *v = u->variable;
    tc_sym field = tc_symbols_join(u->symbols, "v.attr.", name);
    struct tc_strbuf text = TC_STRBUF_INIT;
    size_t i = 0;

    while (i < v->n_attrs && v->attrs[i].field != field)
        i++;
    if (!is_truthy(value)) {
        if (i < v->n_attrs)
            v->attrs[i] = v->attrs[--v->n_attrs];
        return;
    }
    if (i == v->n_attrs)
        v->attrs = tc_realloc(v->attrs, ++v->n_attrs * sizeof(*v->attrs));
    tc_value_print(value, &text);
    v->attrs[i] = (struct tc_pair){field, tc_strtab_intern(u->symbols, text.text, text.size)};
    tc_strbuf_release(&text);
}

/* What the shape is, its content depends on. */
static void set_shape_first(struct update *u, const struct tc_value *attrs)
{
    for (uint32_t i = 0; i < attrs->n; i++)
        if (tc_str_is(attrs->members[i].key, "shape"))
            set_shape(u, &attrs->members[i].value);
}

static void set_attribute(struct update *u, const struct tc_member *member)
{
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
        if (tc_str_is(member->key, attributes[i].name)) {
            attributes[i].set(u, &member->value);
            return;
        }
    }
    set_framework(u, member->key, &member->value);
}

struct tc_applied tc_variable_apply(struct tc_process *process, struct tc_strtab *symbols,
                                    const struct tc_record *record, struct tc_call *cause)
{
    bool is_new;
    struct tc_variable *variable = variable_at(process, record->var, &is_new);
    struct update u = {.variable = variable, .symbols = symbols, .cause = cause, .is_new = is_new};

    if (record->name.text)
        variable->name = tc_symbols_str(symbols, record->name);
    if (record->kind.text)
        variable->kind = tc_symbols_str(symbols, record->kind);
    if (record->root != TC_NONE)
        variable->root = record->root;
    if (record->attrs && record->attrs->kind == TC_VALUE_OBJECT) {
        set_shape_first(&u, record->attrs);
        for (uint32_t i = 0; i < record->attrs->n; i++)
            set_attribute(&u, &record->attrs->members[i]);
    }
    return (struct tc_applied){variable, is_new, u.has_other_data};
}
