/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_when.c - preconditions of the Python tool: parsed into columns and clauses, held on rows
 * of cells
 *
 * A column is a field that some clause names; a row has a cell for each, so that records of a
 * group are compared by numbers. A precondition is a list of conjunctions of which one must hold,
 * or none if it is inverted. What cannot be parsed gives a reason, and the invariant stays
 * unchecked.
 */
#include "python_tool/python_rules.h"

#include <string.h>

/* ---- reading ------------------------------------------------------------------------------- */

static bool is_same_path(const struct tc_value *a, const struct tc_value *b)
{
    if (!a || !b || a->n != b->n)
        return !a && !b;
    for (uint32_t i = 0; i < a->n; i++)
        if (!tc_str_same(tc_value_str(&a->items[i]), tc_value_str(&b->items[i])))
            return false;
    return true;
}

static size_t column_of(struct tc_python_trace *trace, struct tc_python_when *when,
                        struct tc_str field, const struct tc_value *path)
{
    struct tc_python_column column = {field, path, tc_python_is_manager(field), {{0}}};

    for (size_t i = 0; i < when->columns.n; i++)
        if (tc_str_same(when->columns.items[i].field, field) &&
            is_same_path(when->columns.items[i].path, path))
            return i;
    if (column.is_manager)
        tc_python_managers_find(trace, field, &column.managers);
    tc_vec_push(&when->columns, column);
    return when->columns.n - 1;
}

static bool parse_kind(const struct tc_value *type, enum tc_python_clause_kind *out)
{
    static const char *const kinds[] = {"constant", "consistent", "unequal", "exist"};

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (tc_value_is(type, kinds[i])) {
            *out = (enum tc_python_clause_kind)i;
            return true;
        }
    }
    return false;
}

static const char *parse_clause(struct tc_python_trace *trace, const struct tc_value *clause,
                                struct tc_python_when *when, struct tc_python_conjunction *out)
{
    const struct tc_value *path = tc_value_get(clause, "additional_path");
    const struct tc_value *values = tc_value_get(clause, "values");
    struct tc_str field = tc_value_str(tc_value_get(clause, "prop_name"));
    struct tc_python_clause parsed = {.n_values = 0};

    if (!field.text || !parse_kind(tc_value_get(clause, "type"), &parsed.kind))
        return "its precondition has a clause of a kind that is not known";
    if (path && path->kind != TC_VALUE_ARRAY)
        path = NULL; /* written as "None" */
    parsed.column = column_of(trace, when, field, path);
    if (parsed.kind == TC_PYTHON_CONSTANT) {
        if (!values || values->kind != TC_VALUE_ARRAY)
            return "a constant clause of its precondition has no values";
        parsed.values = tc_arena_alloc(&trace->arena, (values->n + 1) * sizeof(*parsed.values));
        for (uint32_t i = 0; i < values->n; i++)
            parsed.values[parsed.n_values++] = tc_python_key(trace->keys, &values->items[i]);
    }
    tc_vec_push(&out->clauses, parsed);
    return NULL;
}

static const char *parse_conjunction(struct tc_python_trace *trace, const struct tc_value *item,
                                     struct tc_python_when *when)
{
    const struct tc_value *clauses = tc_value_get(item, "clauses");
    struct tc_python_conjunction conjunction = {0};
    const char *why = NULL;

    if (tc_value_is(clauses, "Unconditional")) {
        when->is_unconditional = true;
        return NULL;
    }
    if (!clauses || clauses->kind != TC_VALUE_ARRAY)
        return "its precondition has no clauses";
    for (uint32_t i = 0; i < clauses->n && !why; i++)
        why = parse_clause(trace, &clauses->items[i], when, &conjunction);
    tc_vec_push(&when->any_of, conjunction);
    return why;
}

const char *tc_python_when_parse(struct tc_python_trace *trace, const struct tc_value *definition,
                                 const char *group, struct tc_python_when *out)
{
    const struct tc_value *when = tc_value_get(tc_value_get(definition, "precondition"), group);
    const struct tc_value *inverted = tc_value_get(when, "inverted");
    const struct tc_value *list = tc_value_get(when, "preconditions");
    const char *why = NULL;

    *out = (struct tc_python_when){0};
    if (!list || list->kind != TC_VALUE_ARRAY)
        return "its precondition lacks the group that its relation asks for";
    out->inverted = tc_value_is_true(inverted);
    for (uint32_t i = 0; i < list->n && !why; i++)
        why = parse_conjunction(trace, &list->items[i], out);
    return why;
}

void tc_python_when_release(struct tc_python_when *when)
{
    for (size_t i = 0; i < when->any_of.n; i++)
        tc_vec_release(&when->any_of.items[i].clauses);
    for (size_t i = 0; i < when->columns.n; i++)
        tc_vec_release(&when->columns.items[i].managers.items);
    tc_vec_release(&when->any_of);
    tc_vec_release(&when->columns);
}

static void want_managers(struct tc_python_trace *trace, const struct tc_value *value)
{
    struct tc_str field = tc_value_str(tc_value_get(value, "prop_name"));

    if (tc_python_is_manager(field))
        tc_python_managers_want(trace, field);
    if (value->kind == TC_VALUE_OBJECT)
        for (uint32_t i = 0; i < value->n; i++)
            want_managers(trace, &value->members[i].value);
    else if (value->kind == TC_VALUE_ARRAY)
        for (uint32_t i = 0; i < value->n; i++)
            want_managers(trace, &value->items[i]);
}

void tc_python_when_want(struct tc_python_trace *trace, const struct tc_value *definition)
{
    const struct tc_value *when = tc_value_get(definition, "precondition");

    if (when)
        want_managers(trace, when);
}

/* ---- holding ------------------------------------------------------------------------------- */

static tc_sym symbol_of_value(struct tc_python_trace *trace, const struct tc_value *value)
{
    if (!value)
        return TC_NO_SYM;
    if (value->kind == TC_VALUE_OBJECT || value->kind == TC_VALUE_ARRAY)
        return TC_PYTHON_UNHASHABLE;
    return tc_python_key(trace->keys, value);
}

static tc_sym manager_cell(struct tc_python_trace *trace, const struct tc_python_column *column,
                           const struct tc_python_record *at)
{
    const struct tc_python_call *init = tc_python_managers_active(&column->managers, at);
    bool is_known;

    if (!init)
        return TC_NO_SYM;
    if (!column->path || !column->path->n)
        return TC_PYTHON_UNHASHABLE;
    const struct tc_member *typed = tc_python_typed_value(
        tc_python_argument(trace, init, tc_value_str(&column->path->items[0]), &is_known));
    return typed ? symbol_of_value(trace, &typed->value) : TC_NO_SYM;
}

static tc_sym plain_cell(struct tc_python_trace *trace, const struct tc_python_column *column,
                         const struct tc_python_record *record)
{
    static const struct tc_value init = {.kind = TC_VALUE_STR, .n = 4, .text = "init"};
    const struct tc_value *value = tc_python_field(record->line, column->field);

    if (!value && trace->has_stages && tc_str_is(column->field, "meta_vars.stage"))
        value = &init;
    for (uint32_t i = 0; value && column->path && i < column->path->n; i++) {
        struct tc_str key = tc_value_str(&column->path->items[i]);
        const struct tc_value *inner = NULL;
        for (uint32_t j = 0; value->kind == TC_VALUE_OBJECT && j < value->n; j++)
            if (tc_str_same(value->members[j].key, key))
                inner = &value->members[j].value;
        value = inner;
    }
    return symbol_of_value(trace, value);
}

void tc_python_when_row(struct tc_python_trace *trace, const struct tc_python_when *when,
                        const struct tc_python_record *record, const struct tc_python_record *at,
                        tc_sym *cells)
{
    for (size_t i = 0; i < when->columns.n; i++) {
        const struct tc_python_column *column = &when->columns.items[i];
        cells[i] = column->is_manager ? manager_cell(trace, column, at)
                                      : plain_cell(trace, column, record);
    }
}

static size_t count_distinct(const tc_sym *const *rows, size_t n, size_t column)
{
    size_t distinct = 0;

    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < i && rows[j][column] != rows[i][column])
            j++;
        distinct += j == i;
    }
    return distinct;
}

static bool is_among(const struct tc_python_clause *clause, tc_sym value)
{
    for (size_t i = 0; i < clause->n_values; i++)
        if (clause->values[i] == value)
            return true;
    return false;
}

static bool clause_holds(const struct tc_python_clause *clause, const tc_sym *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tc_sym cell = rows[i][clause->column];
        if (cell == TC_NO_SYM || (cell == TC_PYTHON_UNHASHABLE && clause->kind != TC_PYTHON_EXIST))
            return false;
    }
    if (clause->kind == TC_PYTHON_EXIST)
        return true;
    /* Only here: for all calls at once it is the one costly question. */
    size_t distinct = n == 1 ? 1 : count_distinct(rows, n, clause->column);
    if (clause->kind == TC_PYTHON_UNEQUAL)
        return distinct == n;
    return distinct == 1 &&
           (clause->kind == TC_PYTHON_CONSISTENT || is_among(clause, rows[0][clause->column]));
}

static bool all_hold(const struct tc_python_conjunction *all, const tc_sym *const *rows, size_t n)
{
    for (size_t i = 0; i < all->clauses.n; i++)
        if (!clause_holds(&all->clauses.items[i], rows, n))
            return false;
    return true;
}

bool tc_python_when_holds(const struct tc_python_when *when, const tc_sym *const *rows, size_t n)
{
    bool holds = when->is_unconditional;

    for (size_t i = 0; i < when->any_of.n && !holds; i++)
        holds = all_hold(&when->any_of.items[i], rows, n);
    return holds != when->inverted;
}

bool tc_python_when_met(struct tc_python_trace *trace, const struct tc_python_when *when,
                        const struct tc_python_record *record)
{
    tc_sym *cells = tc_calloc(when->columns.n + 1, sizeof(*cells));
    const tc_sym *row = cells;

    tc_python_when_row(trace, when, record, record, cells);
    bool met = tc_python_when_holds(when, &row, 1);
    tc_free(cells);
    return met;
}
