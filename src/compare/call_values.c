/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_values.c - values of a record, taken apart into leaves
 *
 * A tensor's content, an array of integers and a plain value are a leaf each. What is another in
 * each run by chance is none. Leaves point into the record: they live no longer than its window.
 */
#include "compare/call_values.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "trace/member.h"
#include "trace/scan.h"

/* What members of a value mean to a comparison, by the trace format. The class of a gradient
 * depends on when it was looked at, and an optimizer is idle until it has stepped. */
static const struct meaning {
    const char *key;
    uint32_t size;
    enum {
        IS_CHANCE, /* another in each run, or a name of the script's */
        IS_CONTENT,
        IS_MAGNITUDE /* tells how far apart contents are (closeness.h), and makes no leaf */
    } is;
} meanings[] = {
#define ROW(key, is)             \
    {                            \
        key, sizeof(key) - 1, is \
    }
    ROW("id", IS_CHANCE),        ROW("name", IS_CHANCE),      ROW("pid", IS_CHANCE),
    ROW("port", IS_CHANCE),      ROW("host", IS_CHANCE),      ROW("addr", IS_CHANCE),
    ROW("store", IS_CHANCE),     ROW("grad", IS_CHANCE),      ROW("idle", IS_CHANCE),
    ROW("digest", IS_CONTENT),   ROW("rows", IS_CONTENT),     ROW("scale", IS_CONTENT),
    ROW("summary", IS_CONTENT),  ROW("value", IS_CONTENT),    ROW("constant", IS_CONTENT),
    ROW("elements", IS_CONTENT), ROW("range", IS_CONTENT),    ROW("stats", IS_CONTENT),
    ROW("data", IS_CONTENT),     ROW("sketch", IS_MAGNITUDE),
#undef ROW
};

static const struct meaning *meaning_of(struct tc_str key)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (key.size == meanings[i].size && !memcmp(key.text, meanings[i].key, key.size))
            return &meanings[i];
    return NULL;
}

/* Paths, addresses in memory and on networks, and texts of which the trace holds the length alone.
 */
static bool is_chance(struct tc_str text)
{
    return memchr(text.text, '/', text.size) || memmem(text.text, text.size, "0x", 2) ||
           memchr(text.text, '\\', text.size);
}

static tc_sym path_of(struct tc_leaf_reader *reader, tc_sym path, const char *part, size_t size)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&reader->paths, tc_hash64(part, size, path), &is_new);

    if (!is_new)
        return (tc_sym)*slot;
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_strbuf_adds(&text, tc_strtab_text(reader->symbols, path));
    if (text.size && *part != '[')
        tc_strbuf_addc(&text, '.');
    tc_strbuf_add(&text, part, size);
    *slot = tc_strtab_intern(reader->symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return (tc_sym)*slot;
}

static void add_leaf(const struct tc_leaf_reader *reader, struct tc_leaves *leaves, tc_sym path,
                     enum tc_leaf_kind kind, const struct tc_value *value)
{
    const struct tc_leaf leaf = {
        .path = path,
        .kind = kind,
        .hash = tc_value_hash(kind, value),
        .value = value,
        .of = reader->of,
        .tensor = reader->tensor,
        .is_receiver = reader->is_receiver,
        .is_class = reader->is_class,
    };

    tc_vec_push(leaves, leaf);
}

static bool is_plain(const struct tc_value *v)
{
    return v->kind != TC_VALUE_ARRAY && v->kind != TC_VALUE_OBJECT;
}

/* Sizes, dimensions: they are reported as one. */
static bool is_array_of_integers(const struct tc_value *v)
{
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        if (v->items[i].kind != TC_VALUE_INT)
            return false;
    return v->kind == TC_VALUE_ARRAY;
}

static void read_value(struct tc_leaf_reader *reader, struct tc_leaves *leaves, tc_sym path,
                       const struct tc_value *v);

static bool is_tensor_value(const struct tc_value *v)
{
    return tc_is_tensor(v) || tc_value_get(v, "array");
}

static void read_members(struct tc_leaf_reader *reader, struct tc_leaves *leaves, tc_sym path,
                         const struct tc_value *v)
{
    const bool is_tensor = is_tensor_value(v);
    bool is_known = !is_tensor;

    if (is_tensor) {
        reader->tensor = tc_value_int(tc_value_get(v, "id"), TC_NONE);
        reader->of = v;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct tc_member *m = &v->members[i];
        const struct meaning *meaning = meaning_of(m->key);
        if (meaning && (meaning->is == IS_CHANCE || (meaning->is == IS_MAGNITUDE && is_tensor)))
            continue;
        tc_sym inner = path_of(reader, path, m->key.text, m->key.size);
        reader->is_class = tc_str_is(m->key, "object") || tc_str_is(m->key, "more");
        if (meaning && is_tensor) {
            add_leaf(reader, leaves, inner, TC_LEAF_CONTENT, &m->value);
            is_known = true;
        } else {
            read_value(reader, leaves, inner, &m->value);
        }
    }
    reader->is_class = false;
    leaves->has_unknown |= !is_known;
    reader->tensor = TC_NONE;
    reader->of = NULL;
}

static void read_value(struct tc_leaf_reader *reader, struct tc_leaves *leaves, tc_sym path,
                       const struct tc_value *v)
{
    char part[16];

    if (v->kind == TC_VALUE_FLOAT) {
        add_leaf(reader, leaves, path, TC_LEAF_NUMBER, v);
    } else if (v->kind == TC_VALUE_STR) {
        if (!is_chance(tc_value_str(v)))
            add_leaf(reader, leaves, path, TC_LEAF_ARGUMENT, v);
    } else if (is_plain(v) || is_array_of_integers(v)) {
        add_leaf(reader, leaves, path, TC_LEAF_ARGUMENT, v);
    } else if (v->kind == TC_VALUE_OBJECT) {
        read_members(reader, leaves, path, v);
    } else {
        for (uint32_t i = 0; i < v->n; i++) {
            int size = snprintf(part, sizeof(part), "[%u]", (unsigned)i);
            read_value(reader, leaves, path_of(reader, path, part, (size_t)size), &v->items[i]);
        }
    }
}

static void read_part(struct tc_leaf_reader *reader, struct tc_leaves *leaves, const char *name,
                      const struct tc_value *v)
{
    reader->tensor = TC_NONE;
    reader->of = NULL;
    reader->is_receiver = !strcmp(name, "self");
    if (v)
        read_value(reader, leaves, tc_strtab_intern_text(reader->symbols, name), v);
}

static void clear(struct tc_leaves *leaves)
{
    leaves->n = 0;
    leaves->has_unknown = false;
}

void tc_leaves_of_call(struct tc_leaf_reader *reader, const struct tc_record *call,
                       struct tc_leaves *leaves)
{
    clear(leaves);
    read_part(reader, leaves, "self", call->self);
    read_part(reader, leaves, "args", call->args);
    read_part(reader, leaves, "ctx", call->ctx);
    read_part(reader, leaves, "alias", call->alias);
}

void tc_leaves_of_end(struct tc_leaf_reader *reader, const struct tc_record *end,
                      struct tc_leaves *leaves)
{
    clear(leaves);
    read_part(reader, leaves, "result", end->value);
}

void tc_leaves_of_variable(struct tc_leaf_reader *reader, const struct tc_record *variable,
                           struct tc_leaves *leaves)
{
    clear(leaves);
    reader->of = variable->attrs;
    if (variable->attrs && variable->attrs->kind == TC_VALUE_OBJECT)
        for (uint32_t i = 0; i < variable->attrs->n; i++) {
            const struct tc_member *m = &variable->attrs->members[i];
            const struct meaning *meaning = meaning_of(m->key);
            tc_sym path =
                path_of(reader, tc_strtab_intern(reader->symbols, "", 0), m->key.text, m->key.size);
            if (meaning && meaning->is == IS_CONTENT)
                add_leaf(reader, leaves, path, TC_LEAF_CONTENT, &m->value);
            else if (!meaning)
                read_value(reader, leaves, path, &m->value);
        }
    reader->of = NULL;
}

/* ---- printed again ------------------------------------------------------------------------- */

static void print_key(const struct tc_member *m, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, out->text[out->size - 1] == '{' ? "" : ",");
    tc_strbuf_add_json(out, m->key.text, m->key.size);
    tc_strbuf_addc(out, ':');
}

void tc_value_print_without_content(const struct tc_value *v, struct tc_strbuf *out)
{
    if (is_plain(v)) {
        tc_value_print(v, out);
        return;
    }
    const bool is_object = v->kind == TC_VALUE_OBJECT, is_tensor = is_tensor_value(v);
    tc_strbuf_addc(out, is_object ? '{' : '[');
    for (uint32_t i = 0; i < v->n; i++) {
        if (!is_object) {
            tc_strbuf_adds(out, i ? "," : "");
            tc_value_print_without_content(&v->items[i], out);
            continue;
        }
        const struct tc_member *m = &v->members[i];
        const struct meaning *meaning = meaning_of(m->key);
        if (meaning && (is_tensor || meaning->is == IS_CHANCE))
            continue;
        print_key(m, out);
        tc_value_print_without_content(&m->value, out);
    }
    tc_strbuf_addc(out, is_object ? '}' : ']');
}

void tc_variable_print_without_content(const struct tc_value *attrs, struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '{');
    for (uint32_t i = 0; attrs && attrs->kind == TC_VALUE_OBJECT && i < attrs->n; i++) {
        const struct tc_member *m = &attrs->members[i];
        const bool is_data = tc_str_is(m->key, "data");
        if (meaning_of(m->key) && !is_data)
            continue;
        print_key(m, out);
        if (is_data)
            tc_strbuf_adds(out, "true");
        else
            tc_value_print_without_content(&m->value, out);
    }
    tc_strbuf_addc(out, '}');
}

void tc_leaf_reader_release(struct tc_leaf_reader *reader)
{
    tc_map_release(&reader->paths);
}
