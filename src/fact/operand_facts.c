/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_facts.c - a value as slots with values
 *
 * The walk is that of operand_pack.c. Paths are built in one buffer as it goes down. While judging
 * a slot that nobody expects is UINT32_MAX and costs nothing.
 */
#include "fact/operand_facts.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "fact/operand_pack.h"
#include "fact/table.h"
#include "fact/tensor_content.h"
#include "relation/support.h"

void tc_fact_reader_release(struct tc_fact_reader *reader)
{
    tc_strbuf_release(&reader->path);
    tc_strbuf_release(&reader->text);
}

static uint32_t slot_of(const struct tc_fact_reader *r, enum tc_attribute attribute)
{
    tc_sym path =
        r->path.size ? tc_strtab_intern(r->table->symbols, r->path.text, r->path.size) : TC_NO_SYM;

    return tc_fact_table_slot(r->table, r->subject, path, attribute);
}

static void add(struct tc_fact_reader *r, enum tc_attribute attribute)
{
    tc_fact_table_add(r->table, slot_of(r, attribute), r->text.text, r->text.size, r->out);
}

/* Judging: was it made, perhaps, by a call that was not told of? */
static bool is_cut(const struct tc_fact_reader *r, tc_sym source)
{
    uint64_t ignored;

    if (!r->table->is_judging || !r->cut || !r->cut->n ||
        (strcmp(tc_strtab_text(r->table->symbols, source), "outside") != 0 &&
         !tc_map_get(r->stand_ins, source, &ignored)))
        return false;
    const uint32_t slot = slot_of(r, TC_ATTRIBUTE_SOURCE);
    return slot != UINT32_MAX &&
           tc_map_get(r->cut, r->table->slots.items[slot].fact.value, &ignored);
}

static void add_as_it_is(struct tc_fact_reader *r, enum tc_attribute attribute, const char *json)
{
    tc_strbuf_reset(&r->text);
    tc_strbuf_adds(&r->text, json);
    add(r, attribute);
}

/* As it comes back from a file: what is not plain ASCII is spelled by the writer of documents. */
static void set_text(struct tc_fact_reader *r, struct tc_str text)
{
    bool is_plain = true;

    for (uint32_t i = 0; i < text.size; i++)
        is_plain &= text.text[i] >= 0x20 && text.text[i] < 0x7f && text.text[i] != '"' &&
                    text.text[i] != '\\' && text.text[i] != '/';
    tc_strbuf_reset(&r->text);
    tc_strbuf_add_json(&r->text, text.text, text.size);
    if (!is_plain) {
        struct tc_json *node = NULL;
        if (tc_json_parse(r->text.text, r->text.size, &node, NULL))
            return;
        tc_strbuf_reset(&r->text);
        tc_json_print(node, &r->text);
        tc_json_free(node);
    }
}

/* A number has one kind in a file. */
static void set_scalar(struct tc_fact_reader *r, const struct tc_value *v)
{
    tc_strbuf_reset(&r->text);
    switch (v->kind) {
    case TC_VALUE_BOOL:
        tc_strbuf_adds(&r->text, v->boolean ? "true" : "false");
        break;
    case TC_VALUE_INT:
        tc_strbuf_add_number(&r->text, (double)v->integer);
        break;
    case TC_VALUE_FLOAT:
        if (isfinite(v->number))
            tc_strbuf_add_number(&r->text, v->number);
        else
            tc_strbuf_adds(&r->text, "\"not finite\"");
        break;
    case TC_VALUE_STR:
        set_text(r, (struct tc_str){v->text, v->n});
        break;
    default:
        tc_strbuf_adds(&r->text, "null");
    }
}

static void add_count(struct tc_fact_reader *r, enum tc_attribute attribute, double n)
{
    tc_strbuf_reset(&r->text);
    tc_strbuf_add_number(&r->text, n);
    add(r, attribute);
}

static void set_path(struct tc_fact_reader *r, size_t size)
{
    r->path.size = size;
    if (r->path.text)
        r->path.text[size] = '\0';
}

static void add_shape(struct tc_fact_reader *r, const struct tc_value *shape)
{
    size_t size = r->path.size;

    if (shape->kind != TC_VALUE_ARRAY)
        return;
    add_count(r, TC_ATTRIBUTE_NDIM, shape->n);
    tc_strbuf_reset(&r->text);
    tc_strbuf_addc(&r->text, '[');
    for (uint32_t i = 0; i < shape->n; i++) {
        tc_strbuf_adds(&r->text, i ? "," : "");
        tc_strbuf_add_int(&r->text, tc_value_int(&shape->items[i], 0));
    }
    tc_strbuf_addc(&r->text, ']');
    add(r, TC_ATTRIBUTE_SHAPE);
    for (uint32_t i = 0; i < shape->n; i++) {
        tc_strbuf_addf(&r->path, "[%u]", (unsigned)i);
        add_count(r, TC_ATTRIBUTE_DIM, (double)tc_value_int(&shape->items[i], 0));
        set_path(r, size);
    }
}

/* The place of a tensor among those of the pack; n if it is not there. */
static size_t place_in_pack(const struct tc_fact_reader *r, const struct tc_value *tensor, size_t n)
{
    int64_t serial = tc_value_int(tc_value_get(tensor, "id"), -1);
    size_t i = 0;

    while (i < n && r->pack->tensors[i] != serial)
        i++;
    return i;
}

/* Judging, is a column claimed to be mixed? What shows one element by chance is no breach of that,
 * and otherwise as any other. */
static bool is_chance(struct tc_fact_reader *r, enum tc_attribute attribute)
{
    if (r->text.text[r->text.size - 1] != TC_FACT_DOUBT)
        return false;
    r->text.text[--r->text.size] = '\0';
    if (!r->table->is_judging)
        return false;
    const uint32_t slot = slot_of(r, attribute);
    return slot != UINT32_MAX &&
           !strcmp(tc_strtab_text(r->table->symbols, r->table->slots.items[slot].fact.value),
                   TC_FACT_MIXED);
}

static void add_content(struct tc_fact_reader *r, const struct tc_value *tensor)
{
    const size_t at = place_in_pack(r, tensor, r->pack->n_tensors);
    const bool is_computed = at == r->pack->n_tensors || r->pack->is_computed[at];
    const bool is_choice = at < r->pack->n_tensors && r->pack->is_choice[at];
    struct tc_fact_tensor t;

    tc_fact_tensor(&t, tensor);
    for (size_t i = 0; i < TC_N_CONTENT; i++) {
        if (tc_fact_content_attribute(i) == TC_ATTRIBUTE_UNIFORM && is_choice)
            continue;
        tc_strbuf_reset(&r->text);
        if (tc_fact_content(i, &t, is_computed, &r->text) &&
            !is_chance(r, tc_fact_content_attribute(i)))
            add(r, tc_fact_content_attribute(i));
    }
}

static void set_symbol(struct tc_fact_reader *r, tc_sym symbol)
{
    set_text(r, (struct tc_str){tc_strtab_text(r->table->symbols, symbol),
                                (uint32_t)tc_strtab_size(r->table->symbols, symbol)});
}

/* The call that made it, alone. */
static void add_maker(struct tc_fact_reader *r, size_t i)
{
    if (r->sources[i] == TC_NO_SYM || is_cut(r, r->sources[i]))
        return;
    set_symbol(r, r->sources[i]);
    add(r, TC_ATTRIBUTE_SOURCE);
}

static void add_source(struct tc_fact_reader *r, const struct tc_value *tensor)
{
    const size_t i = place_in_pack(r, tensor, r->n_sources);

    if (i == r->n_sources)
        return;
    add_maker(r, i);
}

static void add_name(struct tc_fact_reader *r, const struct tc_value *name)
{
    if (!r->pack->has_names)
        return;
    set_scalar(r, name);
    add(r, TC_ATTRIBUTE_NAMED);
}

static void read_tensor(struct tc_fact_reader *r, const struct tc_value *v)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const enum tc_attribute attribute = tc_fact_tensor_attribute(v->members[i].key);
        if (attribute != TC_N_ATTRIBUTES) {
            set_scalar(r, &v->members[i].value);
            add(r, attribute);
        } else if (tc_str_is(v->members[i].key, "name")) {
            add_name(r, &v->members[i].value);
        } else if (tc_str_is(v->members[i].key, "shape")) {
            add_shape(r, &v->members[i].value);
        }
    }
    if (r->has_content)
        add_content(r, v);
    add_source(r, v);
}

static void read_value(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth);

static void read_member(struct tc_fact_reader *r, struct tc_str key, const struct tc_value *v,
                        unsigned depth)
{
    size_t size = r->path.size;

    tc_strbuf_addc(&r->path, '.');
    tc_strbuf_add(&r->path, key.text, key.size);
    read_value(r, v, depth + 1);
    set_path(r, size);
}

static void read_members(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth)
{
    struct tc_strbuf keys = TC_STRBUF_INIT;

    for (uint32_t i = 0; i < v->n; i++) {
        struct tc_str key = v->members[i].key;
        tc_strbuf_adds(&keys, i ? "," : "");
        tc_strbuf_add(&keys, key.text, key.size);
        read_member(r, key, &v->members[i].value, depth);
    }
    /* A dict that a function of the script is given may be of data, by their first occurrence. */
    if (depth ? !r->is_own : r->tells_keys) {
        set_text(r, (struct tc_str){keys.text ? keys.text : "", (uint32_t)keys.size});
        add(r, TC_ATTRIBUTE_KEYS);
    }
    tc_strbuf_release(&keys);
}

/* A slice that ends where the list does has no such bound: that is a value, too. */
static void read_open_bounds(struct tc_fact_reader *r, const struct tc_value *attrs, unsigned depth)
{
    static const struct tc_str bounds[] = {TC_FACT_NAME("start"), TC_FACT_NAME("stop")};
    static const struct tc_value none = {.kind = TC_VALUE_NULL};

    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
        if (!tc_value_get(attrs, bounds[i].text))
            read_member(r, bounds[i], &none, depth);
}

/* Scalar attributes alone: what an object holds beyond them are objects of their own. */
static void read_object(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth)
{
    const struct tc_value *attrs = tc_value_get(v, "attrs");
    const struct tc_value *name = tc_value_get(v, "name");

    if (depth || !r->has_class) {
        set_scalar(r, &v->members[0].value);
        add(r, TC_ATTRIBUTE_CLASS);
    }
    if (name)
        add_name(r, name);
    for (uint32_t i = 0; attrs && attrs->kind == TC_VALUE_OBJECT && i < attrs->n; i++)
        if (attrs->members[i].value.kind < TC_VALUE_ARRAY)
            read_member(r, attrs->members[i].key, &attrs->members[i].value, depth);
    if (tc_value_is(&v->members[0].value, "slice"))
        read_open_bounds(r, attrs, depth);
}

/* Texts that a function of the script is given as it sets up, as options of a command line are. */
static bool is_of_options(const struct tc_fact_reader *r, const struct tc_value *list)
{
    uint32_t n = 0;

    if (!r->is_own || !r->is_set_up)
        return false;
    while (list->kind == TC_VALUE_ARRAY && n < list->n && list->items[n].kind == TC_VALUE_STR)
        n++;
    return n > 0 && n == list->n && n <= TC_FACT_LIST;
}

/* They are one text, which the script chose. */
static void add_options(struct tc_fact_reader *r, const struct tc_value *list)
{
    struct tc_strbuf all = TC_STRBUF_INIT;

    for (uint32_t i = 0; i < list->n; i++) {
        tc_strbuf_adds(&all, i ? ", " : "");
        tc_strbuf_add(&all, list->items[i].text, list->items[i].n);
    }
    set_text(r, (struct tc_str){all.text, (uint32_t)all.size});
    add(r, TC_ATTRIBUTE_VALUE);
    tc_strbuf_release(&all);
}

static void read_array(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth)
{
    const int64_t more = tc_fact_left_out(v);
    size_t size = r->path.size;

    add_count(r, TC_ATTRIBUTE_LENGTH, more < 0 ? v->n : (double)v->n - 1 + (double)more);
    for (uint32_t i = 0; more < 0 && i < v->n && v->n <= TC_FACT_LIST; i++) {
        tc_strbuf_addf(&r->path, "[%u]", (unsigned)i);
        read_value(r, &v->items[i], depth + 1);
        set_path(r, size);
    }
}

/* A mask where there was none, none where there was a mask: what has no such attribute says so, or
 * the claim about what it was would have no occasion. */
static void read_kind(struct tc_fact_reader *r, const struct tc_value *v, bool is_text)
{
    const bool has_tensor = tc_fact_is_tensor(v);

    if (v->kind >= TC_VALUE_ARRAY && !is_text)
        add_as_it_is(r, TC_ATTRIBUTE_VALUE, has_tensor ? TC_FACT_A_TENSOR : TC_FACT_AN_OBJECT);
    if (!has_tensor)
        add_as_it_is(r, TC_ATTRIBUTE_TENSOR, TC_FACT_NO_TENSOR);
}

/* A number that JSON has no word for, or a long text, is an object of one member: that is the
 * value.
 */
static const struct tc_value *as_scalar(const struct tc_value *v)
{
    const struct tc_member *only =
        v->kind == TC_VALUE_OBJECT && v->n && v->members[0].value.kind == TC_VALUE_STR
            ? &v->members[0]
            : NULL;

    return only && (tc_str_is(only->key, "float") || tc_str_is(only->key, "int") ||
                    tc_str_is(only->key, "str"))
               ? &only->value
               : v;
}

static void read_value(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth)
{
    if (depth > TC_FACT_DEPTH)
        return;
    v = as_scalar(v);
    const bool are_options = is_of_options(r, v);
    read_kind(r, v, are_options);
    if (are_options) {
        add_options(r, v);
    } else if (v->kind == TC_VALUE_ARRAY) {
        read_array(r, v, depth);
    } else if (v->kind != TC_VALUE_OBJECT) {
        set_scalar(r, v);
        add(r, TC_ATTRIBUTE_VALUE);
    } else if (tc_fact_is_tensor(v)) {
        read_tensor(r, v);
    } else if (tc_fact_is_object(v)) {
        read_object(r, v, depth);
    } else if (v->n == 1 && tc_str_is(v->members[0].key, "dict") &&
               v->members[0].value.kind == TC_VALUE_OBJECT) {
        read_members(r, &v->members[0].value, depth);
    } else {
        read_members(r, v, depth);
    }
}

void tc_fact_read_value(struct tc_fact_reader *r, const char *path, const struct tc_value *value)
{
    tc_strbuf_reset(&r->path);
    tc_strbuf_adds(&r->path, path);
    read_value(r, value, 0);
}

static void read_scalars(struct tc_fact_reader *r, const struct tc_value *v, unsigned depth)
{
    const size_t size = r->path.size;

    v = as_scalar(v);
    if (v->kind < TC_VALUE_ARRAY && v->kind != TC_VALUE_NULL) {
        set_scalar(r, v);
        add(r, TC_ATTRIBUTE_VALUE);
    }
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && v->n <= TC_FACT_LIST && i < v->n; i++) {
        tc_strbuf_addf(&r->path, "[%u]", (unsigned)i);
        if (depth < TC_FACT_DEPTH)
            read_scalars(r, &v->items[i], depth + 1);
        set_path(r, size);
    }
}

void tc_fact_read_besides(struct tc_fact_reader *r, const struct tc_value *args, size_t first)
{
    for (uint32_t i = 0; args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_value *v = &args->members[i].value;
        const size_t at = tc_fact_is_tensor(v) ? place_in_pack(r, v, r->n_sources) : r->n_sources;
        tc_strbuf_reset(&r->path);
        tc_strbuf_adds(&r->path, "args.");
        tc_strbuf_add(&r->path, args->members[i].key.text, args->members[i].key.size);
        if (at == r->n_sources)
            read_scalars(r, v, 0);
        else if (at != first)
            add_maker(r, at);
    }
}

void tc_fact_add_json(struct tc_fact_reader *r, const char *path, enum tc_attribute attribute,
                      const char *json)
{
    tc_strbuf_reset(&r->path);
    if (path)
        tc_strbuf_adds(&r->path, path);
    add_as_it_is(r, attribute, json);
}

void tc_fact_add_text(struct tc_fact_reader *r, const char *path, enum tc_attribute attribute,
                      struct tc_str text)
{
    tc_strbuf_reset(&r->path);
    if (path)
        tc_strbuf_adds(&r->path, path);
    set_text(r, text);
    add(r, attribute);
}

/* An array of scalars, as JSON. */
static void print_array(struct tc_fact_reader *r, const struct tc_value *v)
{
    struct tc_strbuf all = TC_STRBUF_INIT;

    tc_strbuf_addc(&all, '[');
    for (uint32_t i = 0; i < v->n; i++) {
        tc_strbuf_adds(&all, i ? "," : "");
        set_scalar(r, &v->items[i]);
        tc_strbuf_add(&all, r->text.text, r->text.size);
    }
    tc_strbuf_addc(&all, ']');
    tc_strbuf_release(&r->text);
    r->text = all;
}

void tc_fact_add_value(struct tc_fact_reader *r, const char *path, enum tc_attribute attribute,
                       const struct tc_value *value)
{
    tc_strbuf_reset(&r->path);
    if (path)
        tc_strbuf_adds(&r->path, path);
    if (value->kind == TC_VALUE_ARRAY)
        print_array(r, value);
    else
        set_scalar(r, value);
    add(r, attribute);
}
