/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c - looking into, printing and hashing values
 *
 * A missing member is NULL, or the fallback that the caller gives, so look-ups can be chained.
 * Printing keeps kinds: 5.0 stays a float.
 */
#include <traincheck/record.h>

#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "trace/scan.h"

bool tc_str_is(struct tc_str s, const char *text)
{
    return s.text && strlen(text) == s.size && !memcmp(s.text, text, s.size);
}

bool tc_str_same(struct tc_str a, struct tc_str b)
{
    if (!a.text || !b.text)
        return !a.text && !b.text;
    return a.size == b.size && !memcmp(a.text, b.text, a.size);
}

const struct tc_value *tc_value_get(const struct tc_value *object, const char *key)
{
    if (!object || object->kind != TC_VALUE_OBJECT)
        return NULL;
    size_t size = strlen(key);
    for (uint32_t i = 0; i < object->n; i++)
        if (object->members[i].key.size == size && !memcmp(object->members[i].key.text, key, size))
            return &object->members[i].value;
    return NULL;
}

struct tc_str tc_value_str(const struct tc_value *v)
{
    if (!v || v->kind != TC_VALUE_STR)
        return (struct tc_str){NULL, 0};
    return (struct tc_str){v->text, v->n};
}

bool tc_value_is(const struct tc_value *v, const char *text)
{
    return tc_str_is(tc_value_str(v), text);
}

int64_t tc_value_int(const struct tc_value *v, int64_t fallback)
{
    return v && v->kind == TC_VALUE_INT ? v->integer : fallback;
}

/* A float keeps its kind: 5.0 must not come back as the integer 5. */
static void print_float(double number, struct tc_strbuf *out)
{
    size_t start = out->size;

    tc_strbuf_add_number(out, number);
    if (!strpbrk(out->text + start, ".eIN"))
        tc_strbuf_adds(out, ".0");
}

static void print_array(const struct tc_value *array, struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '[');
    for (uint32_t i = 0; i < array->n; i++) {
        if (i)
            tc_strbuf_addc(out, ',');
        tc_value_print(&array->items[i], out);
    }
    tc_strbuf_addc(out, ']');
}

static void print_object(const struct tc_value *object, struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '{');
    for (uint32_t i = 0; i < object->n; i++) {
        if (i)
            tc_strbuf_addc(out, ',');
        tc_strbuf_add_json(out, object->members[i].key.text, object->members[i].key.size);
        tc_strbuf_addc(out, ':');
        tc_value_print(&object->members[i].value, out);
    }
    tc_strbuf_addc(out, '}');
}

size_t tc_value_json(const struct tc_value *v, char *text, size_t size)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    size_t all, kept;

    if (v)
        tc_value_print(v, &out);
    all = out.size;
    kept = all < size ? all : size - 1;
    if (size) {
        if (kept)
            memcpy(text, out.text, kept);
        text[kept] = '\0';
    }
    tc_strbuf_release(&out);
    return all;
}

size_t tc_record_json(const struct tc_record *record, char *text, size_t size)
{
    return tc_value_json(record->foreign ? record->foreign : record->object, text, size);
}

void tc_value_print(const struct tc_value *value, struct tc_strbuf *out)
{
    switch (value->kind) {
    case TC_VALUE_NULL:
        tc_strbuf_adds(out, "null");
        break;
    case TC_VALUE_BOOL:
        tc_strbuf_adds(out, value->boolean ? "true" : "false");
        break;
    case TC_VALUE_INT:
        tc_strbuf_add_int(out, value->integer);
        break;
    case TC_VALUE_FLOAT:
        print_float(value->number, out);
        break;
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
}

uint64_t tc_value_hash(uint64_t hash, const struct tc_value *v)
{
    hash = tc_hash_mix(hash, v->kind, v->n);
    if (v->kind == TC_VALUE_STR)
        return tc_hash_mix_text(hash, v->text, v->n);
    if (v->kind == TC_VALUE_BOOL)
        return tc_hash_mix(hash, v->boolean, 0);
    if (v->kind == TC_VALUE_INT)
        return tc_hash_mix(hash, (uint64_t)v->integer, 0);
    if (v->kind == TC_VALUE_FLOAT)
        return tc_hash_mix_text(hash, (const char *)&v->number, sizeof(v->number));
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        hash = tc_value_hash(hash, &v->items[i]);
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++) {
        hash = tc_hash_mix_text(hash, v->members[i].key.text, v->members[i].key.size);
        hash = tc_value_hash(hash, &v->members[i].value);
    }
    return hash;
}
