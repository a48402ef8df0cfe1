/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_read.c - what one call says of its operands and its result
 *
 * One call gives one sorted set of states without repetitions: of each operand, of the receiver,
 * of the result, and of pairs of these. Shapes and dtypes of the script's own modules and
 * methods are its architecture and give no state. A comment at each exception names the case
 * that forced it.
 */
#include "relation/operand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_TENSORS 6
#define MAX_PATH    64

struct tensor {
    char path[MAX_PATH];
    const struct tc_value *value, *shape;
    struct tc_str dtype;
};

struct reading {
    struct tc_strtab *symbols;
    const struct tc_call *call;
    struct tensor tensors[MAX_TENSORS];
    size_t n_tensors;
    tc_sym *out;
    size_t n_out;
};

static void state(struct reading *r, tc_sym left, tc_sym verb, tc_sym right)
{
    if (r->n_out < TC_MAX_STATEMENTS)
        r->out[r->n_out++] = TC_ATOM(r->symbols, left, verb, right);
}

static void state_is(struct reading *r, const char *left, tc_sym right)
{
    state(r, tc_strtab_intern_text(r->symbols, left), TC_SYM_IS, right);
}

static void state_equal(struct reading *r, const char *left, tc_sym right, bool equal)
{
    state(r, tc_strtab_intern_text(r->symbols, left), equal ? TC_SYM_EQUALS : TC_SYM_DIFFERS_FROM,
          right);
}

static bool is_name(struct tc_str key)
{
    for (uint32_t i = 0; i < key.size; i++)
        if (key.text[i] <= ' ')
            return false;
    return key.size > 0 && key.size < MAX_PATH / 2;
}

/* A position in place of a name means that the signature is not known. */
static bool is_position(struct tc_str key)
{
    return key.size > 0 && key.text[0] >= '0' && key.text[0] <= '9';
}

static void state_whole(struct reading *r, enum tc_path_root root, bool is_so)
{
    state_is(r, tc_operand_whole(root)->path, tc_symbols_bool(is_so));
}

/* "prefix.key"; false if it would not fit or would not be one word. */
static bool make_path(char out[MAX_PATH], const char *prefix, struct tc_str key)
{
    if (!is_name(key))
        return false;
    int n = snprintf(out, MAX_PATH, "%s.%.*s", prefix, (int)key.size, key.text);
    return n > 0 && n < MAX_PATH;
}

static bool read_tensor(struct tensor *t, const char *path, const struct tc_value *value)
{
    if (!tc_is_tensor(value))
        return false;
    snprintf(t->path, sizeof(t->path), "%s", path);
    t->value = value;
    t->shape = tc_value_get(value, "shape");
    t->dtype = tc_value_str(tc_value_get(value, "dtype"));
    return t->shape && t->shape->kind == TC_VALUE_ARRAY && t->dtype.text;
}

/* By torch's conventions for parameters. */
bool tc_operand_is_dimension(struct tc_str name)
{
    static const char *const names[] = {"dim", "axis", "start_dim", "end_dim", "dim0", "dim1"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (tc_str_is(name, names[i]))
            return true;
    return false;
}

/* Any seed is as good as another, and so is any distribution to draw weights from. */
static bool is_of_choice(const struct tc_call *call)
{
    return call->role == TC_ROLE_SEED || call->role == TC_ROLE_INIT || call->role == TC_ROLE_FILL;
}

/* Counted from the end. A matrix has rows and features; what the inner dimensions of larger tensors
 * are is each model's architecture, and says nothing of matrices. */
static void read_dimension(struct reading *r, const char *path, int64_t dimension)
{
    int64_t rank = (int64_t)r->tensors[0].shape->n;
    int64_t from_end = dimension < 0 ? dimension : dimension - rank;
    char text[24], of_matrix[MAX_PATH + sizeof(TC_PART_MATRIX)];

    snprintf(text, sizeof(text), "%lld", (long long)from_end);
    const tc_sym value = tc_strtab_intern_text(r->symbols, text);
    state_is(r, path, value);
    snprintf(of_matrix, sizeof(of_matrix), "%s" TC_PART_MATRIX, path);
    if (rank == 2 || from_end == -1)
        state_is(r, of_matrix, value);
}

static void read_scalar(struct reading *r, const char *path, struct tc_str name,
                        const struct tc_value *v)
{
    double number;

    if (v->kind == TC_VALUE_BOOL) {
        state_is(r, path, tc_symbols_bool(v->boolean));
    } else if (v->kind == TC_VALUE_INT && tc_operand_is_dimension(name) && r->n_tensors) {
        read_dimension(r, path, v->integer);
    } else if (tc_value_number(v, &number) && !is_of_choice(r->call)) {
        state_is(r, path, number == 0 ? TC_SYM_ZERO : TC_SYM_NOT_ZERO);
    }
}

/* Equal, and a boolean, a number or null; either may be NULL. */
static bool is_same_scalar(const struct tc_value *a, const struct tc_value *b)
{
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TC_VALUE_BOOL:
        return a->boolean == b->boolean;
    case TC_VALUE_INT:
        return a->integer == b->integer;
    case TC_VALUE_FLOAT:
        return a->number == b->number;
    default:
        return a->kind == TC_VALUE_NULL;
    }
}

static void read_tensors(struct reading *r)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        char path[MAX_PATH];
        if (r->n_tensors < MAX_TENSORS && make_path(path, "args", args->members[i].key) &&
            read_tensor(&r->tensors[r->n_tensors], path, &args->members[i].value))
            r->n_tensors++;
    }
}

static void read_scalars(struct reading *r)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_member *m = &args->members[i];
        char path[MAX_PATH];
        if (is_position(m->key) || !make_path(path, "args", m->key) ||
            r->call->role == TC_ROLE_MODE) /* a mode is what it is set to */
            continue;
        read_scalar(r, path, m->key, &m->value);
        if (is_same_scalar(&m->value, tc_value_get(r->call->defaults, path + strlen("args."))))
            state_is(r, "default", tc_strtab_intern_text(r->symbols, path));
    }
}

/* ---- equality between tensors -------------------------------------------------------------- */

static bool is_same_dimension(const struct tensor *a, const struct tensor *b, bool last)
{
    const struct tc_value *x = &a->shape->items[last ? a->shape->n - 1 : 0];
    const struct tc_value *y = &b->shape->items[last ? b->shape->n - 1 : 0];

    return is_same_scalar(x, y);
}

bool tc_operand_is_same_shape(const struct tc_value *a, const struct tc_value *b)
{
    if (!a || !b || a->kind != TC_VALUE_ARRAY || b->kind != TC_VALUE_ARRAY || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!is_same_scalar(&a->items[i], &b->items[i]))
            return false;
    return true;
}

/* Indices: their last dimension counts positions, that of other tensors features. */
static bool is_index(const struct tensor *t)
{
    struct tc_str dtype = t->dtype;

    return (dtype.size >= 3 && !memcmp(dtype.text, "int", 3)) || tc_str_is(dtype, "uint8");
}

static void compare_part(struct reading *r, const struct tensor *a, const struct tensor *b,
                         const char *part, bool equal)
{
    char left[MAX_PATH + 16], right[MAX_PATH + 16];

    snprintf(left, sizeof(left), "%s.%s", a->path, part);
    snprintf(right, sizeof(right), "%s.%s", b->path, part);
    state_equal(r, left, tc_strtab_intern_text(r->symbols, right), equal);
}

static void compare_tensors(struct reading *r, const struct tensor *a, const struct tensor *b)
{
    compare_part(r, a, b, "dtype", tc_str_same(a->dtype, b->dtype));
    compare_part(r, a, b, "shape", tc_operand_is_same_shape(a->shape, b->shape));
    if (a->shape->n && b->shape->n) {
        compare_part(r, a, b, "shape[0]", is_same_dimension(a, b, false));
        if (is_index(a) == is_index(b))
            compare_part(r, a, b, "shape[-1]", is_same_dimension(a, b, true));
    }
}

static bool is_float(struct tc_str dtype)
{
    return tc_str_is(dtype, "float32") || tc_str_is(dtype, "bfloat16") ||
           tc_str_is(dtype, "float16");
}

static void compare_autocast(struct reading *r, const struct tensor *t)
{
    const struct tc_value *autocast = tc_value_get(r->call->ctx, "autocast");
    char left[MAX_PATH + 16];

    if (!autocast || autocast->kind != TC_VALUE_OBJECT || !autocast->n || !is_float(t->dtype))
        return;
    snprintf(left, sizeof(left), "%s.dtype", t->path);
    state_equal(r, left, TC_SYM_F_CTX_AUTOCAST,
                tc_str_same(t->dtype, tc_value_str(&autocast->members[0].value)));
}

const struct tc_value *tc_operand_owner_training(const struct tc_call *call)
{
    const struct tc_call *around = call->parent;

    while (around && around->role != TC_ROLE_FORWARD && around->role != TC_ROLE_LAYER)
        around = around->parent;
    return around ? tc_value_get(tc_value_get(around->self, "attrs"), "training") : NULL;
}

/* With a probability of zero both modes are one. (Forced by the healthy half of
 * tf33844_dropout_in_eval; held by relations/APIArg_equal/dropout-of-nothing.) */
static bool has_no_chance(const struct tc_call *call)
{
    return tc_value_is_zero(tc_value_get(call->args, "p"));
}

/* What the script's own modules and methods make of shapes and dtypes is its architecture. */
static bool is_users(const struct reading *r)
{
    return tc_role_has(r->call->role, TC_TRAIT_FOREIGN);
}

/* A clipping, or another function of parameters. A generator of them is read where the library has
 * made a list of it. */
static void read_clipped(struct reading *r)
{
    const struct tc_value *parameters = tc_value_get(r->call->args, "parameters");

    if (parameters && parameters->kind == TC_VALUE_ARRAY &&
        (r->call->role == TC_ROLE_CLIP || r->call->role == TC_ROLE_FUNCTION))
        state_whole(r, TC_PATH_SOME_GIVEN, parameters->n > 0);
}

static void read_arguments(struct reading *r)
{
    const struct tc_value *training = tc_value_get(r->call->args, "training");
    const struct tc_value *owner = tc_operand_owner_training(r->call);

    read_tensors(r);
    read_scalars(r);
    read_clipped(r);
    if (training && owner && training->kind == TC_VALUE_BOOL && owner->kind == TC_VALUE_BOOL &&
        !has_no_chance(r->call))
        state_equal(r, "args.training", TC_SYM_F_OWNER_TRAINING,
                    training->boolean == owner->boolean);
    for (size_t i = 0; !is_users(r) && i < r->n_tensors; i++)
        for (size_t j = i + 1; j < r->n_tensors; j++)
            compare_tensors(r, &r->tensors[i], &r->tensors[j]);
}

static void compare_counts(struct reading *r, const struct tc_member *a, const struct tc_member *b)
{
    char left[MAX_PATH], right[MAX_PATH];

    if (a->value.kind != TC_VALUE_INT || b->value.kind != TC_VALUE_INT || b->value.integer < 2 ||
        !make_path(left, "self", a->key) || !make_path(right, "self", b->key))
        return;
    state(r, tc_strtab_intern_text(r->symbols, left),
          a->value.integer <= b->value.integer ? TC_SYM_AT_MOST : TC_SYM_EXCEEDS,
          tc_strtab_intern_text(r->symbols, right));
}

/* How far a schedule has come, and how far it goes. */
static void read_schedule(struct reading *r)
{
    const struct tc_value *attrs = tc_value_get(r->call->self, "attrs");

    if (r->call->role != TC_ROLE_SCHEDULER || !attrs || attrs->kind != TC_VALUE_OBJECT)
        return;
    for (uint32_t i = 0; i < attrs->n; i++)
        for (uint32_t j = 0; j < attrs->n; j++)
            if (i != j)
                compare_counts(r, &attrs->members[i], &attrs->members[j]);
}

static void read_receiver(struct reading *r)
{
    const struct tc_value *training =
        tc_value_get(tc_value_get(r->call->self, "attrs"), "training");
    tc_sym mode = TC_SYM_FALSE;

    if (!r->call->is_root || !training || training->kind != TC_VALUE_BOOL)
        return;
    if (training->boolean) /* left on without gradients it is no rule, only none of evaluation */
        mode = tc_value_get(r->call->ctx, "grad") ? TC_SYM_LEFT : TC_SYM_TRUE;
    state(r, TC_SYM_F_SELF_TRAINING, TC_SYM_IS, mode);
}

/* ---- results ------------------------------------------------------------------------------- */

/* Whether the result has the same content as an operand of its shape and dtype, as the collector
 * found. */
static void compare_content(struct reading *r, const struct tensor *value)
{
    const struct tc_value *same = r->call->end->same;

    for (size_t i = 0; same && i < r->n_tensors; i++) {
        const struct tensor *t = &r->tensors[i];
        bool equal = false;
        if (!tc_operand_is_same_shape(t->shape, value->shape) ||
            !tc_str_same(t->dtype, value->dtype))
            continue;
        for (uint32_t j = 0; j < same->n; j++)
            equal |= tc_value_is(&same->items[j], t->path);
        compare_part(r, value, t, "content", equal);
    }
}

/* Sizes of the result against counts that were asked for. */
static void compare_sizes(struct reading *r, const struct tensor *value)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_value *v = &args->members[i].value;
        char path[MAX_PATH], left[MAX_PATH + 24];
        if (v->kind != TC_VALUE_INT || v->integer < 1 ||
            tc_operand_is_dimension(args->members[i].key) || is_position(args->members[i].key) ||
            !make_path(path, "args", args->members[i].key))
            continue;
        for (uint32_t d = 0; d < value->shape->n && d < 4; d++) {
            int64_t size = tc_value_int(&value->shape->items[d], 0);
            snprintf(left, sizeof(left), "%s.shape[%u]", value->path, d);
            const tc_sym of = tc_strtab_intern_text(r->symbols, left);
            const tc_sym asked = tc_strtab_intern_text(r->symbols, path);
            state(r, of, size <= v->integer ? TC_SYM_AT_MOST : TC_SYM_EXCEEDS, asked);
            state(r, of, size >= v->integer ? TC_SYM_AT_LEAST : TC_SYM_BELOW, asked);
            if (size == v->integer && size > 1)
                state(r, of, TC_SYM_REACHES, asked);
        }
    }
}

/* dtype and shape of what a library's own function returns follow from its definition. That sizes
 * are within bounds is a promise of code that the user wrote. */
static void read_result_tensor(struct reading *r, const struct tensor *value)
{
    compare_autocast(r, value);
    compare_content(r, value);
    if (is_users(r))
        compare_sizes(r, value);
}

static void read_length(struct reading *r, const char *path, const struct tc_value *v)
{
    char left[MAX_PATH + 8];

    snprintf(left, sizeof(left), "len(%s)", path);
    state_is(r, left, v->n ? TC_SYM_NOT_ZERO : TC_SYM_ZERO);
}

static void read_members(struct reading *r, const struct tc_value *dict)
{
    for (uint32_t i = 0; i < dict->n && i < 8; i++) {
        const struct tc_value *v = &dict->members[i].value;
        char path[MAX_PATH];
        struct tensor tensor;
        if (!make_path(path, "value", dict->members[i].key))
            continue;
        if (v->kind == TC_VALUE_ARRAY)
            read_length(r, path, v);
        else if (read_tensor(&tensor, path, v))
            compare_autocast(r, &tensor);
    }
}

/* Is it made of data, by no model and for none to learn by? */
static bool is_of_data(const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    const struct tc_value *asks = tc_value_get(value, "requires_grad");

    if (call->role != TC_ROLE_FUNCTION || !asks || asks->kind != TC_VALUE_BOOL || asks->boolean ||
        tc_value_get(call->ctx, "grad"))
        return false;
    while ((call = call->parent))
        if (call->is_root || call->role == TC_ROLE_FORWARD || call->role == TC_ROLE_LAYER)
            return false;
    return true;
}

enum tc_excuse tc_operand_may_be_infinite(const struct tc_call *call)
{
    if (is_of_data(call))
        return TC_EXCUSE_MISSING_VALUES;
    for (const struct tc_call *around = call->parent; around; around = around->parent) {
        if (around->role == TC_ROLE_CLIP || around->role == TC_ROLE_UNSCALE ||
            around->role == TC_ROLE_SCALER)
            return TC_EXCUSE_SCALED;
        if (around->role == TC_ROLE_DATA)
            return TC_EXCUSE_MISSING_VALUES;
    }
    return TC_EXCUSE_NONE;
}

/* Does it make one number of several tensors, as a loss does? */
static bool is_reduction(const struct reading *r, const struct tensor *value)
{
    return r->call->role == TC_ROLE_FUNCTION && r->n_tensors >= 2 && !value->shape->n &&
           is_float(value->dtype);
}

/* A loss of operands of which none requires a gradient trains nothing; one of which all do trains
 * its target as well. */
static void read_gradients(struct reading *r)
{
    size_t n = 0, n_requiring = 0;

    for (size_t i = 0; i < r->n_tensors; i++) {
        const struct tc_value *asks = tc_value_get(r->tensors[i].value, "requires_grad");
        if (!is_float(r->tensors[i].dtype) || !asks || asks->kind != TC_VALUE_BOOL)
            continue;
        n++;
        n_requiring += asks->boolean;
    }
    if (!n)
        return;
    state_whole(r, TC_PATH_SOME_GRADIENT, n_requiring > 0);
    if (n > 1)
        state_whole(r, TC_PATH_ALL_GRADIENTS, n_requiring == n);
}

/* Longer lists are cut in a trace. */
static bool is_whole(const struct tc_value *array)
{
    return array && array->kind == TC_VALUE_ARRAY &&
           !(array->n && array->items[array->n - 1].kind == TC_VALUE_OBJECT);
}

/* What load_state_dict() returns: the names that are missing, and those that are not known. Where
 * all that is given is not known, nothing is loaded. */
static void read_loaded(struct reading *r, const struct tc_value *value)
{
    const struct tc_value *given = tc_value_get(tc_value_get(r->call->args, "state_dict"), "dict");

    if (r->call->role != TC_ROLE_LOAD || value->n != 2 || !given ||
        given->kind != TC_VALUE_OBJECT || !given->n || !is_whole(&value->items[0]) ||
        !is_whole(&value->items[1]))
        return;
    state_whole(r, TC_PATH_SOME_KNOWN, !value->items[0].n || value->items[1].n < given->n);
}

static void read_result(struct reading *r)
{
    const struct tc_record *end = r->call->end;
    const struct tc_value *value = end->value;
    struct tensor tensor;

    if (end->finite >= 0 && !tc_operand_may_be_infinite(r->call))
        state_is(r, r->call->role == TC_ROLE_BACKWARD ? "self" : "value",
                 end->finite ? TC_SYM_FINITE : TC_SYM_NOT_FINITE);
    if (!value)
        return;
    if (read_tensor(&tensor, "value", value)) {
        read_result_tensor(r, &tensor);
        if (is_reduction(r, &tensor))
            read_gradients(r);
    } else if (value->kind == TC_VALUE_BOOL) {
        state_is(r, "value", tc_symbols_bool(value->boolean));
    } else if (value->kind == TC_VALUE_ARRAY) {
        read_length(r, "value", value);
        read_loaded(r, value);
    } else if (tc_value_get(value, "dict") &&
               tc_value_get(value, "dict")->kind == TC_VALUE_OBJECT) {
        read_members(r, tc_value_get(value, "dict"));
    }
}

static size_t sort_unique(tc_sym *items, size_t n)
{
    size_t kept = 0;

    qsort(items, n, sizeof(*items), tc_sym_compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || items[i] != items[kept - 1])
            items[kept++] = items[i];
    return kept;
}

size_t tc_operand_read(struct tc_strtab *symbols, const struct tc_call *call,
                       tc_sym out[TC_MAX_STATEMENTS])
{
    struct reading r = {.symbols = symbols, .call = call, .out = out};

    if (call->role == TC_ROLE_LOAD || call->role == TC_ROLE_SAVE)
        state(&r, TC_SYM_CALL, TC_SYM_IS, TC_SYM_RARE);
    if (tc_role_has(call->role, TC_TRAIT_FOREIGN))
        state(&r, TC_SYM_CALL, TC_SYM_IS, TC_SYM_USERS);
    read_receiver(&r);
    read_schedule(&r);
    read_arguments(&r);
    read_result(&r);
    return sort_unique(out, r.n_out);
}
