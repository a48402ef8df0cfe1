/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed_value.c - the tool's {"type": payload} values rebuilt as ours, in an arena
 *
 * The result borrows texts of the line and lives as long as both it and the arena. Depth is
 * bounded by what the tool writes. What is no tensor, scalar, list or dtype becomes an object of
 * its class's name with scalar attributes.
 */
#include "import/typed_value.h"

#include <string.h>

void tc_make_object(struct tc_object_maker *maker, struct tc_arena *arena, uint32_t cap)
{
    *maker = (struct tc_object_maker){.arena = arena, .cap = cap};
    maker->members = tc_arena_alloc(arena, (cap + 1) * sizeof(*maker->members));
}

void tc_make_member(struct tc_object_maker *maker, struct tc_str key, struct tc_value value)
{
    if (maker->n < maker->cap)
        maker->members[maker->n++] = (struct tc_member){key, value};
}

void tc_make_value(struct tc_object_maker *maker, const char *key, struct tc_value value)
{
    tc_make_member(maker, tc_str_of(key), value);
}

void tc_make_int(struct tc_object_maker *maker, const char *key, int64_t value)
{
    tc_make_value(maker, key, (struct tc_value){.kind = TC_VALUE_INT, .integer = value});
}

void tc_make_str(struct tc_object_maker *maker, const char *key, struct tc_str value)
{
    tc_make_value(maker, key, tc_value_of_str(value));
}

struct tc_value tc_made(const struct tc_object_maker *maker)
{
    return (struct tc_value){.kind = TC_VALUE_OBJECT, .n = maker->n, .members = maker->members};
}

struct tc_str tc_str_of(const char *text)
{
    return (struct tc_str){text, (uint32_t)strlen(text)};
}

struct tc_value tc_value_of_str(struct tc_str text)
{
    return (struct tc_value){.kind = TC_VALUE_STR, .n = text.size, .text = text.text};
}

const struct tc_value *tc_value_place(struct tc_arena *arena, struct tc_value value)
{
    return tc_arena_copy(arena, &value, sizeof(value));
}

const struct tc_member *tc_python_typed(const struct tc_value *value)
{
    return value && value->kind == TC_VALUE_OBJECT && value->n == 1 ? value->members : NULL;
}

static bool starts_with(struct tc_str text, const char *prefix)
{
    size_t size = strlen(prefix);

    return text.size >= size && !memcmp(text.text, prefix, size);
}

bool tc_python_is_bookkeeping(struct tc_str key)
{
    return starts_with(key, "_TRAINCHECK_") || starts_with(key, "_ML_DAIKON_");
}

struct tc_value tc_python_dtype(const struct tc_value *dtype)
{
    struct tc_str text = tc_value_str(dtype);

    if (!text.text)
        return (struct tc_value){.kind = TC_VALUE_NULL};
    if (starts_with(text, "torch."))
        text = (struct tc_str){text.text + 6, text.size - 6};
    return tc_value_of_str(text);
}

const char *tc_python_device(const struct tc_value *attributes)
{
    static const char *const devices[][2] = {
        {"is_cuda", "cuda"},
        {"is_mps",  "mps" },
        {"is_xpu",  "xpu" },
        {"is_meta", "meta"}
    };

    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (tc_value_is_true(tc_value_get(attributes, devices[i][0])))
            return devices[i][1];
    return "cpu";
}

static bool is_tensor(const struct tc_member *typed)
{
    return typed->value.kind == TC_VALUE_OBJECT && tc_value_get(&typed->value, "dtype") &&
           tc_value_get(&typed->value, "shape");
}

static int64_t tensor_id(const struct tc_value *attributes)
{
    static const char *const keys[] = {"_TRAINCHECK_data_ID", "_ML_DAIKON_data_ID"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        int64_t id = tc_value_int(tc_value_get(attributes, keys[i]), TC_NO_ID);
        if (id != TC_NO_ID)
            return id;
    }
    return TC_NO_ID;
}

static struct tc_value tensor(struct tc_arena *arena, const struct tc_member *typed)
{
    const struct tc_value *attributes = &typed->value;
    const struct tc_value *grad = tc_value_get(attributes, "requires_grad");
    bool is_parameter = tc_str_is(typed->key, "torch.nn.Parameter");
    int64_t id = tensor_id(attributes);
    struct tc_object_maker maker;

    tc_make_object(&maker, arena, 6);
    tc_make_str(&maker, "tensor", tc_str_of(is_parameter ? "Parameter" : "Tensor"));
    if (id != TC_NO_ID)
        tc_make_int(&maker, "id", id);
    tc_make_value(&maker, "shape", *tc_value_get(attributes, "shape"));
    tc_make_value(&maker, "dtype", tc_python_dtype(tc_value_get(attributes, "dtype")));
    tc_make_str(&maker, "device", tc_str_of(tc_python_device(attributes)));
    if (grad)
        tc_make_value(&maker, "requires_grad", *grad);
    return tc_made(&maker);
}

static bool is_scalar(const struct tc_value *value)
{
    return value->kind != TC_VALUE_ARRAY && value->kind != TC_VALUE_OBJECT;
}

static struct tc_value object(const struct tc_torch_apis *apis, struct tc_arena *arena,
                              const struct tc_member *typed)
{
    struct tc_object_maker maker, attrs;
    uint32_t n = typed->value.kind == TC_VALUE_OBJECT ? typed->value.n : 0;

    tc_make_object(&attrs, arena, n);
    for (uint32_t i = 0; i < n; i++)
        if (is_scalar(&typed->value.members[i].value))
            tc_make_member(&attrs, typed->value.members[i].key, typed->value.members[i].value);
    tc_make_object(&maker, arena, 2);
    tc_make_str(&maker, "object", tc_torch_apis_class(apis, typed->key));
    tc_make_value(&maker, "attrs", tc_made(&attrs));
    return tc_made(&maker);
}

/* Deep enough for what the tool writes, and no deeper. */
static struct tc_value array(const struct tc_torch_apis *apis, struct tc_arena *arena,
                             const struct tc_value *values)
{
    struct tc_value *items = tc_arena_alloc(arena, (values->n + 1) * sizeof(*items));

    for (uint32_t i = 0; i < values->n; i++)
        items[i] = values->items[i].kind == TC_VALUE_ARRAY
                       ? values->items[i]
                       : tc_python_value(apis, arena, &values->items[i]);
    return (struct tc_value){.kind = TC_VALUE_ARRAY, .n = values->n, .items = items};
}

struct tc_value tc_python_value(const struct tc_torch_apis *apis, struct tc_arena *arena,
                                const struct tc_value *typed)
{
    static const char *const plain[] = {"int", "float", "bool", "str", "NoneType", "list", "tuple"};
    const struct tc_member *member = tc_python_typed(typed);

    if (typed->kind == TC_VALUE_ARRAY) /* an API that returned a tuple */
        return array(apis, arena, typed);
    if (!member)
        return *typed;
    if (tc_str_is(member->key, "torch.dtype"))
        return tc_python_dtype(&member->value);
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (tc_str_is(member->key, plain[i]) && member->value.kind != TC_VALUE_OBJECT)
            return member->value;
    if (is_tensor(member))
        return tensor(arena, member);
    return object(apis, arena, member);
}
