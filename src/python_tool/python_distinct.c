/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_distinct.c - DistinctArgumentRelation: no two calls of a step have the same arguments
 *
 * All calls must meet the precondition, else nothing is judged. One equal pair breaks a step.
 * Equality is that of the tool: a tenth of the elements shared, floats within 1e-8.
 */
#include "python_tool/python_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/scan.h"

/* Lists of integers (sizes, mostly) count as the same from this share of common elements on. */
#define MIN_SHARED 0.1

static bool is_same(const struct tc_value *a, const struct tc_value *b);

static bool are_integers(const struct tc_value *array)
{
    for (uint32_t i = 0; i < array->n; i++)
        if (array->items[i].kind != TC_VALUE_INT && array->items[i].kind != TC_VALUE_BOOL)
            return false;
    return true;
}

static bool has(const struct tc_value *array, uint32_t n, const struct tc_value *value)
{
    for (uint32_t i = 0; i < n; i++)
        if (!tc_python_compare(&array->items[i], value))
            return true;
    return false;
}

static bool share_elements(const struct tc_value *a, const struct tc_value *b)
{
    unsigned n_common = 0, n_all = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        bool is_first = !has(a, i, &a->items[i]);
        n_all += is_first;
        n_common += is_first && has(b, b->n, &a->items[i]);
    }
    for (uint32_t i = 0; i < b->n; i++)
        n_all += !has(b, i, &b->items[i]) && !has(a, a->n, &b->items[i]);
    return n_all && (double)n_common / n_all >= MIN_SHARED;
}

static bool are_same_arrays(const struct tc_value *a, const struct tc_value *b)
{
    if (are_integers(a) && are_integers(b))
        return share_elements(a, b);
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!is_same(&a->items[i], &b->items[i]))
            return false;
    return true;
}

static const struct tc_value *member(const struct tc_value *object, struct tc_str key)
{
    for (uint32_t i = 0; i < object->n; i++)
        if (tc_str_same(object->members[i].key, key))
            return &object->members[i].value;
    return NULL;
}

static bool are_same_objects(const struct tc_value *a, const struct tc_value *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct tc_value *other = member(b, a->members[i].key);
        if (!other || !is_same(&a->members[i].value, other))
            return false;
    }
    return true;
}

static bool is_same(const struct tc_value *a, const struct tc_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TC_VALUE_ARRAY:
        return are_same_arrays(a, b);
    case TC_VALUE_OBJECT:
        return are_same_objects(a, b);
    case TC_VALUE_FLOAT:
        return fabs(a->number - b->number) < 1e-8 || a->number == b->number;
    case TC_VALUE_INT:
        return a->integer == b->integer;
    case TC_VALUE_BOOL:
        return a->boolean == b->boolean;
    case TC_VALUE_STR:
        return tc_str_same(tc_value_str(a), tc_value_str(b));
    case TC_VALUE_NULL:
        return true;
    }
    return false;
}

/* Calls of one step. */
struct step {
    int64_t step;
    const struct tc_python_call **calls;
    size_t n;
};

static void say_equal_records(struct tc_python_judge *judge, const struct tc_python_record *first,
                              const struct tc_python_record *second)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    bool is_thread = first->process == second->process && first->thread == second->thread;

    tc_strbuf_addf(&text, "two calls of one step%s have the same arguments: ",
                   is_thread ? "" : ", on different threads or processes,");
    tc_value_print(tc_value_get(second->line, "args"), &text);
    tc_python_broken(judge, second, text.text);
    tc_strbuf_release(&text);
}

/* One pair is enough to break a step: all pairs of a long loop would be a square. */
static void judge_step(struct tc_python_judge *judge, const struct step *step)
{
    for (size_t i = 0; i < step->n; i++) {
        const struct tc_value *args = tc_value_get(step->calls[i]->pre.line, "args");
        for (size_t j = 0; j < i; j++) {
            if (!is_same(args, tc_value_get(step->calls[j]->pre.line, "args")))
                continue;
            say_equal_records(judge, &step->calls[j]->pre, &step->calls[i]->pre);
            return;
        }
    }
    tc_python_held(judge, &step->calls[0]->pre);
}

static bool is_met_by_all(struct tc_python_judge *judge, const struct tc_python_function *function)
{
    size_t width = judge->when.columns.n + 1, n = function->calls.n;
    tc_sym *cells = tc_calloc(n * width, sizeof(*cells));
    const tc_sym **rows = tc_calloc(n, sizeof(*rows));

    for (size_t i = 0; i < n; i++) {
        const struct tc_python_record *record = &function->calls.items[i]->pre;
        tc_python_when_row(judge->trace, &judge->when, record, &function->calls.items[0]->pre,
                           cells + i * width);
        rows[i] = cells + i * width;
    }
    bool met = tc_python_when_holds(&judge->when, rows, n);
    tc_free(rows);
    tc_free(cells);
    return met;
}

static int compare_steps(const void *a, const void *b)
{
    const struct tc_python_record *x = &(*(const struct tc_python_call *const *)a)->pre;
    const struct tc_python_record *y = &(*(const struct tc_python_call *const *)b)->pre;
    int64_t step_x = tc_python_step(x), step_y = tc_python_step(y);

    if (step_x != step_y)
        return step_x < step_y ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

void tc_python_judge_distinct(struct tc_python_judge *judge)
{
    const struct tc_python_function *function =
        tc_python_trace_function(judge->trace, tc_python_param(judge, 0, "api_full_name"));
    const struct tc_python_call **calls;
    size_t n = 0;

    if (!function || !is_met_by_all(judge, function))
        return;
    calls = tc_calloc(function->calls.n, sizeof(*calls));
    for (size_t i = 0; i < function->calls.n; i++)
        if (tc_value_get(function->calls.items[i]->pre.line, "args"))
            calls[n++] = function->calls.items[i];
    qsort(calls, n, sizeof(*calls), compare_steps);
    for (size_t i = 0, end; i < n; i = end) {
        struct step step = {tc_python_step(&calls[i]->pre), calls + i, 0};
        for (end = i; end < n && tc_python_step(&calls[end]->pre) == step.step; end++)
            step.n++;
        judge_step(judge, &step);
    }
    tc_free(calls);
    if (!n)
        judge->unchecked = "the trace has no arguments of its calls";
}
