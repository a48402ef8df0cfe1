/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_value.c - values as Python compares them, and fields as the tool's table flattens them
 *
 * Equality is that of Python: a canonical text is printed, numbers without their type, members
 * sorted, and interned; so a comparison is one of two numbers. NaN has none. A path is tried
 * against each member in turn, as a key may itself hold dots.
 */
#include "python_tool/python_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"

uint64_t tc_python_hash(struct tc_str name)
{
    return tc_hash64(name.text ? name.text : "", name.size, 0);
}

const struct tc_member *tc_python_typed_value(const struct tc_value *value)
{
    return value && value->kind == TC_VALUE_OBJECT && value->n == 1 ? value->members : NULL;
}

bool tc_python_is_number(const struct tc_value *value, double *out)
{
    if (!value || value->kind != TC_VALUE_BOOL)
        return tc_value_number(value, out);
    *out = value->boolean;
    return true;
}

int tc_python_compare(const struct tc_value *a, const struct tc_value *b)
{
    double x = 0, y = 0;

    if (a->kind == TC_VALUE_INT && b->kind == TC_VALUE_INT)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    tc_python_is_number(a, &x);
    tc_python_is_number(b, &y);
    return x < y ? -1 : x > y;
}

static bool print_value(const struct tc_value *value, struct tc_strbuf *out);

/* A double that is an int64 is written as one. */
static bool print_float(double number, struct tc_strbuf *out)
{
    if (isnan(number))
        return false;
    if (number >= -9223372036854775808.0 && number < 9223372036854775808.0 &&
        number == floor(number))
        tc_strbuf_add_int(out, (int64_t)number);
    else
        tc_strbuf_add_number(out, number);
    return true;
}

static void print_array(const struct tc_value *array, struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '[');
    for (uint32_t i = 0; i < array->n; i++) {
        print_value(&array->items[i], out);
        tc_strbuf_addc(out, ',');
    }
    tc_strbuf_addc(out, ']');
}

static int compare_members(const void *a, const void *b)
{
    const struct tc_member *x = *(const struct tc_member *const *)a;
    const struct tc_member *y = *(const struct tc_member *const *)b;
    uint32_t size = x->key.size < y->key.size ? x->key.size : y->key.size;
    int order = memcmp(x->key.text, y->key.text, size);

    return order ? order : (x->key.size > y->key.size) - (x->key.size < y->key.size);
}

static void print_object(const struct tc_value *object, struct tc_strbuf *out)
{
    const struct tc_member **sorted = tc_calloc(object->n + 1, sizeof(*sorted));

    for (uint32_t i = 0; i < object->n; i++)
        sorted[i] = &object->members[i];
    qsort(sorted, object->n, sizeof(*sorted), compare_members);
    tc_strbuf_addc(out, '{');
    for (uint32_t i = 0; i < object->n; i++) {
        tc_strbuf_add_json(out, sorted[i]->key.text, sorted[i]->key.size);
        tc_strbuf_addc(out, ':');
        print_value(&sorted[i]->value, out);
        tc_strbuf_addc(out, ',');
    }
    tc_strbuf_addc(out, '}');
    tc_free(sorted);
}

/* False for NaN. */
static bool print_value(const struct tc_value *value, struct tc_strbuf *out)
{
    switch (value->kind) {
    case TC_VALUE_NULL:
        tc_strbuf_adds(out, "null");
        break;
    case TC_VALUE_BOOL:
        tc_strbuf_addc(out, value->boolean ? '1' : '0');
        break;
    case TC_VALUE_INT:
        tc_strbuf_add_int(out, value->integer);
        break;
    case TC_VALUE_FLOAT:
        return print_float(value->number, out);
    case TC_VALUE_STR:
        tc_strbuf_add_json(out, value->text, value->n);
        break;
    case TC_VALUE_ARRAY:
        print_array(value, out);
        break;
    case TC_VALUE_OBJECT:
        print_object(value, out);
        break;
    }
    return true;
}

tc_sym tc_python_key(struct tc_strtab *keys, const struct tc_value *value)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym key = TC_NO_SYM;

    if (print_value(value, &text))
        key = tc_strtab_intern(keys, text.text, text.size);
    tc_strbuf_release(&text);
    return key;
}

/* Kept as they are at the top of a line; every other object that is not empty becomes its members.
 */
static bool is_whole(struct tc_str key)
{
    return tc_str_is(key, "args") || tc_str_is(key, "kwargs") || tc_str_is(key, "return_values");
}

static const struct tc_value *find_at_path(const struct tc_value *object, struct tc_str path,
                                           bool is_top)
{
    for (uint32_t i = 0; i < object->n; i++) {
        const struct tc_member *m = &object->members[i];
        bool is_nested =
            m->value.kind == TC_VALUE_OBJECT && m->value.n && !(is_top && is_whole(m->key));

        if (tc_str_same(m->key, path) && !is_nested)
            return &m->value;
        if (is_nested && path.size > m->key.size + 1 && path.text[m->key.size] == '.' &&
            !memcmp(path.text, m->key.text, m->key.size)) {
            struct tc_str rest = {path.text + m->key.size + 1, path.size - m->key.size - 1};
            const struct tc_value *found = find_at_path(&m->value, rest, false);
            if (found)
                return found;
        }
    }
    return NULL;
}

const struct tc_value *tc_python_field(const struct tc_value *line, struct tc_str path)
{
    return line->kind == TC_VALUE_OBJECT && path.text ? find_at_path(line, path, true) : NULL;
}
