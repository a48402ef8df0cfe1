/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_changes.c - attributes of a state change, each told only when it differs from the last
 *
 * The tool writes all attributes each time; ours tell changes. Remembered is a hash of each by
 * serial and name. Digests of all kinds become text of which only equality means something. A
 * variable is known by its name and its model.
 */
#include "import/state_changes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "import/typed_value.h"
#include "trace/scan.h"

/* Attributes that every tensor has and that say nothing about training, or what others say. */
static const char *const plain[] = {"itemsize",     "nbytes", "ndim",   "name", "grad_fn",
                                    "retains_grad", "layout", "device", "imag", "requires_grad",
                                    "is_leaf",      "dtype",  "shape",  "data", "grad"};

void tc_import_variables_release(struct tc_import_variables *variables)
{
    tc_map_release(&variables->serials);
    tc_map_release(&variables->values);
}

static uint64_t hash_of(const struct tc_value *value, uint64_t seed)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_value_print(value, &text);
    uint64_t hash = tc_hash64(text.text, text.size, seed);
    tc_strbuf_release(&text);
    return hash;
}

/* Their digest is an integer, statistics or all elements: all that matters is whether it is equal.
 */
static struct tc_value digest(struct tc_arena *arena, const struct tc_value *data)
{
    char text[24];

    if (data->kind == TC_VALUE_NULL)
        return *data;
    snprintf(text, sizeof(text), "%016" PRIx64,
             data->kind == TC_VALUE_INT ? (uint64_t)data->integer : hash_of(data, 0));
    return tc_value_of_str(tc_str_of(tc_arena_text(arena, text, strlen(text))));
}

static struct tc_value grad_class(const struct tc_value *grad)
{
    return tc_value_of_str(tc_str_of(grad->kind == TC_VALUE_NULL ? "null" : "non_zero"));
}

static bool is_plain(struct tc_str key)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (tc_str_is(key, plain[i]))
            return true;
    return (key.size > 3 && !memcmp(key.text, "is_", 3)) || tc_python_is_bookkeeping(key);
}

struct maker {
    struct tc_import_variables *variables;
    struct tc_object_maker attrs;
    int64_t serial;
};

static void add_if_changed(struct maker *m, struct tc_str key, struct tc_value value)
{
    uint64_t id = tc_hash64(key.text, key.size, (uint64_t)m->serial);
    uint64_t hash = hash_of(&value, 1);
    bool is_new;
    uint64_t *last = tc_map_at(&m->variables->values, id, &is_new);

    if (is_new || *last != hash)
        tc_make_member(&m->attrs, key, value);
    *last = hash;
}

static void add_attribute(struct maker *m, struct tc_arena *arena, const struct tc_member *attr)
{
    if (tc_str_is(attr->key, "data"))
        add_if_changed(m, attr->key, digest(arena, &attr->value));
    else if (tc_str_is(attr->key, "grad"))
        add_if_changed(m, attr->key, grad_class(&attr->value));
    else if (tc_str_is(attr->key, "dtype"))
        add_if_changed(m, attr->key, tc_python_dtype(&attr->value));
    else if (tc_str_is(attr->key, "shape") || tc_str_is(attr->key, "requires_grad") ||
             tc_str_is(attr->key, "is_leaf"))
        add_if_changed(m, attr->key, attr->value);
    else if (!is_plain(attr->key))
        add_if_changed(m, attr->key, attr->value);
}

static struct tc_str last_part(struct tc_str name)
{
    for (uint32_t i = name.size; i-- > 0;)
        if (name.text[i] == '.')
            return (struct tc_str){name.text + i + 1, name.size - i - 1};
    return name;
}

void tc_import_variables_fill(struct tc_import_variables *variables,
                              const struct tc_python_line *line, struct tc_arena *arena,
                              struct tc_record *record)
{
    const struct tc_value *attributes = tc_value_get(line->object, "attributes");
    struct tc_str name = tc_value_str(tc_value_get(line->object, "var_name"));
    struct tc_str type = tc_value_str(tc_value_get(line->object, "var_type"));
    const char *dot = memchr(name.text, '.', name.size);
    bool is_new;
    uint64_t *serial = tc_map_at(
        &variables->serials,
        tc_hash64(name.text, name.size, type.text ? tc_hash64(type.text, type.size, 0) : 0),
        &is_new);
    struct maker maker = {.variables = variables};

    if (is_new)
        *serial = variables->serials.n;
    maker.serial = record->var = (int64_t)*serial;
    record->name = name;
    record->kind = last_part(type);
    /* Of equal variables of one model: what stands before the first dot. */
    if (dot)
        record->root = (int64_t)(tc_hash64(name.text, (size_t)(dot - name.text), 0) >> 1);
    tc_make_object(&maker.attrs, arena, attributes->n);
    for (uint32_t i = 0; i < attributes->n; i++)
        add_attribute(&maker, arena, &attributes->members[i]);
    record->attrs = tc_value_place(arena, tc_made(&maker.attrs));
}
