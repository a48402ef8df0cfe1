/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - from a scanned object to a record, by the table in schema.h
 */
#include "trace/schema.h"

#include <string.h>

#include "base/arena.h"

#define IS_REQUIRED true
#define IS_OPTIONAL false
#define ROW(key_, kind_, need_, place_) \
    {#key_, sizeof(#key_) - 1, TC_FIELD_##kind_, IS_##need_, place_},

static const struct tc_field process_fields[] = {TC_PROCESS_FIELDS(ROW)};
static const struct tc_field api_fields[] = {TC_API_FIELDS(ROW)};
static const struct tc_field call_fields[] = {TC_CALL_FIELDS(ROW)};
static const struct tc_field return_fields[] = {TC_RETURN_FIELDS(ROW)};
static const struct tc_field raise_fields[] = {TC_RAISE_FIELDS(ROW)};
static const struct tc_field var_fields[] = {TC_VAR_FIELDS(ROW)};
static const struct tc_field step_fields[] = {TC_STEP_FIELDS(ROW)};
static const struct tc_field note_fields[] = {TC_NOTE_FIELDS(ROW)};
static const struct tc_field source_fields[] = {TC_SOURCE_FIELDS(ROW)};
static const struct tc_field end_fields[] = {TC_END_FIELDS(ROW)};

struct type {
    struct tc_str name;
    const struct tc_field *fields;
    size_t n;
};

#define TYPE(name_, fields_)                                                      \
    {                                                                             \
        {name_, sizeof(name_) - 1}, fields_, sizeof(fields_) / sizeof(fields_[0]) \
    }

static const struct type types[] = {
    [TC_RECORD_PROCESS] = TYPE("process", process_fields),
    [TC_RECORD_API] = TYPE("api", api_fields),
    [TC_RECORD_CALL] = TYPE("call", call_fields),
    [TC_RECORD_RETURN] = TYPE("return", return_fields),
    [TC_RECORD_RAISE] = TYPE("raise", raise_fields),
    [TC_RECORD_VAR] = TYPE("var", var_fields),
    [TC_RECORD_STEP] = TYPE("step", step_fields),
    [TC_RECORD_NOTE] = TYPE("note", note_fields),
    [TC_RECORD_SOURCE] = TYPE("source", source_fields),
    [TC_RECORD_END] = TYPE("end", end_fields),
    [TC_RECORD_UNKNOWN] = {{"unknown", 7}, NULL, 0},
};

const struct tc_record tc_record_blank = {
    .type = TC_RECORD_UNKNOWN,
    .t = TC_NONE,
    .id = TC_NONE,
    .parent = TC_NONE,
    .cause = TC_NONE,
    .var = TC_NONE,
    .step = TC_NONE,
    .th = TC_NONE,
    .count = TC_NONE,
    .root = TC_NONE,
    .size = TC_NONE,
    .lines = TC_NONE,
    .finite = -1,
};

const struct tc_field *tc_schema_fields(enum tc_record_type type, size_t *n)
{
    *n = types[type].n;
    return types[type].fields;
}

const char *tc_record_type_text(enum tc_record_type type)
{
    return types[type].name.text;
}

/* Keys have few bytes: comparing them here costs less than a call. */
static inline bool is_same(struct tc_str a, const char *text, size_t size)
{
    if (a.size != size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (a.text[i] != text[i])
            return false;
    return true;
}

static enum tc_record_type find_type(struct tc_str name)
{
    enum tc_record_type type = TC_RECORD_PROCESS;

    while (type < TC_RECORD_UNKNOWN && !is_same(name, types[type].name.text, types[type].name.size))
        type++;
    return type;
}

/* The row of key, looked for from row next on and around; type->n if there is none. */
static inline size_t find_row(const struct type *type, struct tc_str key, size_t next)
{
    for (size_t tried = 0; tried < type->n; tried++, next++) {
        if (next >= type->n)
            next = 0;
        if (is_same(key, type->fields[next].key, type->fields[next].size))
            return next;
    }
    return type->n;
}

static const char *kind_text(uint8_t kind)
{
    static const char *const texts[] = {"an integer", "true or false", "a string",
                                        "an array",   "an object",     "a value"};

    return texts[kind];
}

static bool is_kind(const struct tc_value *value, uint8_t kind)
{
    static const uint8_t kinds[] = {[TC_FIELD_INT] = TC_VALUE_INT,
                                    [TC_FIELD_BOOL] = TC_VALUE_BOOL,
                                    [TC_FIELD_STR] = TC_VALUE_STR,
                                    [TC_FIELD_ARRAY] = TC_VALUE_ARRAY,
                                    [TC_FIELD_OBJECT] = TC_VALUE_OBJECT};

    return kind == TC_FIELD_ANY || value->kind == kinds[kind];
}

static void store(const struct tc_field *field, const struct tc_value *value, struct tc_record *out)
{
    void *place = (char *)out + field->offset;

    if (field->offset == TC_NOWHERE)
        return;
    switch (field->kind) {
    case TC_FIELD_INT:
        *(int64_t *)place = value->integer;
        break;
    case TC_FIELD_BOOL:
        *(int8_t *)place = value->boolean;
        break;
    case TC_FIELD_STR:
        *(struct tc_str *)place = tc_value_str(value);
        break;
    default:
        *(const struct tc_value **)place = value;
    }
}

static enum tc_status check_required(const struct type *type, uint32_t seen, struct tc_error *err)
{
    for (size_t row = 0; row < type->n; row++)
        if (type->fields[row].is_required && !(seen >> row & 1))
            return tc_error_set(err, TC_E_FORMAT, "%s record without \"%s\"", type->name.text,
                                type->fields[row].key);
    return TC_OK;
}

/* Of equal keys the first counts, as in tc_value_get. */
static enum tc_status fill_fields(const struct type *type, const struct tc_value *object,
                                  struct tc_record *out, struct tc_error *err)
{
    uint32_t seen = 0;
    size_t next = 0;

    for (uint32_t i = 0; i < object->n; i++) {
        const struct tc_member *m = &object->members[i];
        size_t row = find_row(type, m->key, next);
        const struct tc_field *field = &type->fields[row];

        if (row == type->n) {
            if (!out->unknown_key.text && !is_same(m->key, "type", 4))
                out->unknown_key = m->key;
            continue;
        }
        next = row + 1;
        if (seen >> row & 1 ||
            (m->value.kind == TC_VALUE_NULL && !field->is_required && field->kind != TC_FIELD_ANY))
            continue;
        if (!is_kind(&m->value, field->kind))
            return tc_error_set(err, TC_E_FORMAT, "%s record: \"%s\" is not %s", type->name.text,
                                field->key, kind_text(field->kind));
        store(field, &m->value, out);
        seen |= UINT32_C(1) << row;
    }
    return check_required(type, seen, err);
}

enum tc_status tc_record_fill(const struct tc_value *object, struct tc_record *out,
                              struct tc_error *err)
{
    const struct tc_value *name = tc_value_get(object, "type");

    *out = tc_record_blank;
    out->object = object;
    if (object->kind != TC_VALUE_OBJECT)
        return tc_error_set(err, TC_E_FORMAT, "not an object");
    if (!name || name->kind != TC_VALUE_STR)
        return tc_error_set(err, TC_E_FORMAT, "record without \"type\"");
    out->type = find_type(tc_value_str(name));
    if (out->type == TC_RECORD_UNKNOWN)
        return TC_OK;
    return fill_fields(&types[out->type], object, out, err);
}

enum tc_status tc_record_parse(const char *line, size_t size, struct tc_arena *arena,
                               struct tc_record *out, struct tc_error *err)
{
    struct tc_value *object = tc_arena_alloc(arena, sizeof(*object));
    enum tc_status status = tc_scan(line, size, arena, object, err);

    return status == TC_OK ? tc_record_fill(object, out, err) : status;
}
