/* SPDX-License-Identifier: Apache-2.0 */
/*
 * situation.c - fields of a situation set from a call, its surroundings and a variable
 *
 * Values are classes (zero, positive, a short text), so that few distinct situations arise. A
 * situation is a fixed array, sorted by field before it is used: nothing is allocated, and of more
 * than TC_SITUATION_MAX fields the rest is left out.
 */
#include "relation/situation.h"

#include <math.h>
#include <string.h>

#include "replay/symbols.h"

/* Below this a number is as good as zero beside a float32 of one: half its machine epsilon. */
#define TINY 1.2e-7

const struct tc_situation tc_no_situation = {.n = 0};

void tc_situation_set(struct tc_situation *situation, tc_sym field, tc_sym value)
{
    for (size_t i = 0; i < situation->n; i++) {
        if (situation->pairs[i].field == field) {
            situation->pairs[i].value = value;
            return;
        }
    }
    if (situation->n < TC_SITUATION_MAX)
        situation->pairs[situation->n++] = (struct tc_pair){field, value};
}

/* Fields come nearly in order. */
void tc_situation_sort(struct tc_situation *situation)
{
    struct tc_pair *pairs = situation->pairs;

    for (size_t i = 1; i < situation->n; i++) {
        struct tc_pair pair = pairs[i];
        size_t j = i;

        for (; j > 0 && pairs[j - 1].field > pair.field; j--)
            pairs[j] = pairs[j - 1];
        pairs[j] = pair;
    }
}

static tc_sym number_class(double x)
{
    if (!isfinite(x))
        return TC_SYM_NAN_OR_INF;
    if (x == 0)
        return TC_SYM_ZERO;
    if (fabs(x) < TINY)
        return TC_SYM_TINY;
    return x > 0 ? TC_SYM_POSITIVE : TC_SYM_NEGATIVE;
}

#define MAX_STRING 64

tc_sym tc_value_class(struct tc_strtab *symbols, const struct tc_value *value)
{
    switch (value->kind) {
    case TC_VALUE_NULL:
        return TC_SYM_NULL;
    case TC_VALUE_BOOL:
        return tc_symbols_bool(value->boolean);
    case TC_VALUE_INT:
        return number_class((double)value->integer);
    case TC_VALUE_FLOAT:
        return number_class(value->number);
    case TC_VALUE_STR:
        return value->n <= MAX_STRING ? tc_symbols_quote(symbols, tc_value_str(value)) : TC_NO_SYM;
    case TC_VALUE_OBJECT:
        return tc_value_get(value, "float") ? TC_SYM_NAN_OR_INF : TC_NO_SYM;
    default:
        return TC_NO_SYM;
    }
}

static void set_class(struct tc_situation *situation, struct tc_strtab *symbols, tc_sym field,
                      const struct tc_value *value)
{
    tc_sym class = value ? tc_value_class(symbols, value) : TC_NO_SYM;

    if (class != TC_NO_SYM)
        tc_situation_set(situation, field, class);
}

static void set_prefixed(struct tc_situation *situation, struct tc_strtab *symbols,
                         const char *prefix, const struct tc_value *object)
{
    if (!object || object->kind != TC_VALUE_OBJECT)
        return;
    for (uint32_t i = 0; i < object->n; i++) {
        const struct tc_member *member = &object->members[i];
        tc_sym class = tc_value_class(symbols, &member->value);
        if (class != TC_NO_SYM)
            tc_situation_set(situation, tc_symbols_join(symbols, prefix, member->key), class);
    }
}

/* One dtype stands for all devices: a run has one. */
static tc_sym autocast_of(struct tc_strtab *symbols, const struct tc_value *ctx)
{
    const struct tc_value *autocast = tc_value_get(ctx, "autocast");

    if (!autocast || autocast->kind != TC_VALUE_OBJECT || !autocast->n)
        return TC_SYM_NULL;
    return tc_symbols_quote(symbols, tc_value_str(&autocast->members[0].value));
}

/* What made the call: "top" for the script itself, "user" for the script's own module or method. */
static tc_sym role_around(struct tc_strtab *symbols, const struct tc_call *call)
{
    const char *role = "user";

    if (!call->parent)
        return TC_SYM_TOP;
    if (!tc_role_has(call->parent->role, TC_TRAIT_FOREIGN))
        role = tc_role_text(call->parent->role);
    return tc_symbols_quote(symbols, (struct tc_str){role, (uint32_t)strlen(role)});
}

static void set_context(struct tc_situation *s, struct tc_strtab *symbols,
                        const struct tc_process *process, const struct tc_call *call)
{
    tc_situation_set(s, TC_SYM_F_STAGE,
                     tc_symbols_quote(symbols, tc_symbols_text(symbols, call->stage)));
    tc_situation_set(s, TC_SYM_F_CTX_GRAD, tc_symbols_bool(!tc_value_get(call->ctx, "grad")));
    if (tc_value_get(call->ctx, "inference"))
        tc_situation_set(s, TC_SYM_F_CTX_INFERENCE, TC_SYM_TRUE);
    tc_situation_set(s, TC_SYM_F_CTX_AUTOCAST, autocast_of(symbols, call->ctx));
    tc_situation_set(s, TC_SYM_F_WORLD, process->world > 1 ? TC_SYM_MANY : TC_SYM_ONE);
    tc_situation_set(s, TC_SYM_F_IN_ROLE, role_around(symbols, call));
    tc_situation_set(
        s, TC_SYM_F_IN,
        call->parent ? tc_symbols_quote(symbols, tc_symbols_text(symbols, call->parent->descriptor))
                     : TC_SYM_TOP);
}

static bool is_phase(const struct tc_call *call)
{
    return call->is_root || tc_role_has(call->role, TC_TRAIT_SUBJECT);
}

static bool contains_role(const struct tc_strtab *symbols, const struct tc_call *call,
                          enum tc_role role)
{
    const tc_sym wanted = tc_symbols_role(symbols, role);

    for (size_t i = 0, n; i < call->contents.n; i++) {
        const tc_sym *words = tc_strtab_words(symbols, call->contents.items[i], &n);
        if (n == 3 && words[0] == TC_SYM_CALL && words[1] == wanted)
            return true;
    }
    return false;
}

/* A step with a closure runs the backward inside itself. */
static void set_phases(struct tc_situation *s, const struct tc_strtab *symbols,
                       const struct tc_call *call)
{
    bool after_backward = call->after & TC_PHASE_BACKWARD;

    if (call->parent && !is_phase(call))
        return;
    if (call->role == TC_ROLE_STEP && contains_role(symbols, call, TC_ROLE_BACKWARD))
        after_backward = true;
    tc_situation_set(s, TC_SYM_F_AFTER_FORWARD, tc_symbols_bool(call->after & TC_PHASE_FORWARD));
    tc_situation_set(s, TC_SYM_F_AFTER_BACKWARD, tc_symbols_bool(after_backward));
    tc_situation_set(s, TC_SYM_F_AFTER_UNSCALE, tc_symbols_bool(call->after & TC_PHASE_UNSCALE));
}

/* Classes of packages transfer between pipelines, the script's own do not. */
static bool is_packaged(const struct tc_process *process, struct tc_str class)
{
    const struct tc_value *packages = process->packages;

    if (!packages || packages->kind != TC_VALUE_OBJECT)
        return false;
    for (uint32_t i = 0; i < packages->n; i++) {
        struct tc_str name = packages->members[i].key;
        if (class.size > name.size && class.text[name.size] == '.' &&
            !memcmp(class.text, name.text, name.size))
            return true;
    }
    return false;
}

/* Of an optimizer only what decides whether a step can do anything. */
static void set_optimizer(struct tc_situation *s, struct tc_strtab *symbols,
                          const struct tc_call *call)
{
    const struct tc_value *attrs = tc_value_get(call->self, "attrs");

    set_class(s, symbols, TC_SYM_F_SELF_LR, tc_value_get(attrs, "lr"));
    if (!call->n_params)
        return;
    tc_situation_set(s, TC_SYM_F_SELF_GRADS, call->grads);
    tc_situation_set(s, TC_SYM_F_SELF_FROZEN, call->frozen);
}

static void set_closure(struct tc_situation *s, const struct tc_call *call)
{
    tc_situation_set(s, TC_SYM_F_CLOSURE, tc_symbols_bool(tc_call_has_closure(call)));
}

static void set_receiver(struct tc_situation *s, struct tc_strtab *symbols,
                         const struct tc_process *process, const struct tc_call *call)
{
    struct tc_str class = tc_value_str(tc_value_get(call->self, "object"));
    const struct tc_value *attrs = tc_value_get(call->self, "attrs");

    if (call->role == TC_ROLE_STEP)
        set_closure(s, call);
    if (!class.text)
        return;
    if (is_packaged(process, class))
        tc_situation_set(s, TC_SYM_F_SELF_CLASS, tc_symbols_quote(symbols, class));
    set_class(s, symbols, TC_SYM_F_SELF_TRAINING, tc_value_get(attrs, "training"));
    if (call->role == TC_ROLE_LAYER)
        set_prefixed(s, symbols, "self.", attrs);
    else if (call->role == TC_ROLE_STEP || call->role == TC_ROLE_ZERO_GRAD)
        set_optimizer(s, symbols, call);
}

static void set_owner(struct tc_situation *s, struct tc_strtab *symbols, const struct tc_call *call)
{
    const struct tc_call *around = call->parent;

    while (around && around->role != TC_ROLE_FORWARD && around->role != TC_ROLE_LAYER)
        around = around->parent;
    if (around)
        set_class(s, symbols, TC_SYM_F_OWNER_TRAINING,
                  tc_value_get(tc_value_get(around->self, "attrs"), "training"));
}

void tc_situation_of_call(struct tc_situation *situation, struct tc_strtab *symbols,
                          const struct tc_process *process, const struct tc_call *call,
                          bool with_args)
{
    situation->n = 0;
    set_context(situation, symbols, process, call);
    set_phases(situation, symbols, call);
    set_receiver(situation, symbols, process, call);
    set_owner(situation, symbols, call);
    if (with_args && !tc_role_has(call->role, TC_TRAIT_FOREIGN))
        set_prefixed(situation, symbols, "args.", call->args);
}

void tc_situation_add_variable(struct tc_situation *situation, const struct tc_variable *variable,
                               tc_sym grad)
{
    const struct tc_variable *v = variable;

    tc_situation_set(situation, TC_SYM_F_V_REQUIRES_GRAD, tc_symbols_bool(v->requires_grad));
    tc_situation_set(situation, TC_SYM_F_V_IS_LEAF, tc_symbols_bool(v->is_leaf));
    tc_situation_set(situation, TC_SYM_F_V_GRAD,
                     grad == TC_SYM_NAN_OR_INF ? TC_SYM_NON_ZERO : grad);
    tc_situation_set(situation, TC_SYM_F_V_DTYPE, v->dtype);
    tc_situation_set(situation, TC_SYM_F_V_MATRIX, tc_symbols_bool(v->is_matrix));
    tc_situation_set(situation, TC_SYM_F_V_OWNER, v->owner);
    tc_situation_set(situation, TC_SYM_F_V_OWNER_TRAINING, v->training);
    for (size_t i = 0; i < v->n_attrs; i++)
        tc_situation_set(situation, v->attrs[i].field, v->attrs[i].value);
}
