/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_contain.c - APIContainRelation: a call contains another call, or a change of a variable
 *
 * A call of the first API that meets the precondition and ended must have a call of the second
 * inside it, on its thread, or a change of the attribute in its process. Calls that still run at
 * the end of the trace are not judged.
 */
#include "python_tool/python_rules.h"

#include <stdlib.h>
#include <string.h>

#include "trace/scan.h"

enum match {
    MATCH_NO,
    MATCH_YES,
    MATCH_UNKNOWN, /* it hangs on an argument whose name is not known */
};

/* A change of a variable from one state to the next. */
struct change {
    int64_t time, process;
    const struct tc_value *from, *to;
};

struct child {
    const struct tc_value *param;
    const struct tc_python_function *function; /* of a call */
    TC_VEC(struct change) changes;             /* of a variable, by time */
};

/* ---- calls --------------------------------------------------------------------------------- */

/* All arguments that the param lists must be there, with the same type and value. */
static enum match match_arguments(struct tc_python_judge *judge, const struct tc_python_call *call,
                                  const struct tc_value *arguments)
{
    const struct tc_value *listed = tc_value_get(arguments, "args");
    enum match match = MATCH_YES;

    for (uint32_t i = 0; listed && listed->kind == TC_VALUE_OBJECT && i < listed->n; i++) {
        bool is_known;
        const struct tc_value *value =
            tc_python_argument(judge->trace, call, listed->members[i].key, &is_known);
        if (!value && !is_known)
            match = MATCH_UNKNOWN;
        else if (!value || tc_python_key(judge->trace->keys, value) !=
                               tc_python_key(judge->trace->keys, &listed->members[i].value))
            return MATCH_NO;
    }
    return match;
}

static enum match match_call(struct tc_python_judge *judge, const struct child *child,
                             const struct tc_python_call *call)
{
    const struct tc_value *exception = tc_value_get(child->param, "exception");
    const struct tc_value *arguments = tc_value_get(child->param, "arguments");

    if (exception) {
        struct tc_str name = tc_value_str(exception);
        if (!call->raised || !name.text ||
            !tc_str_same(name, tc_value_str(tc_value_get(call->post.line, "exception"))))
            return MATCH_NO;
    } else if (call->raised) {
        return MATCH_NO;
    }
    return arguments ? match_arguments(judge, call, arguments) : MATCH_YES;
}

/* The first call of the function that begins after a time. */
static size_t first_after(const struct tc_python_function *function, int64_t time)
{
    size_t low = 0, high = function->calls.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (function->calls.items[mid]->pre.time <= time)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static enum match find_call(struct tc_python_judge *judge, const struct child *child,
                            const struct tc_python_call *parent)
{
    enum match best = MATCH_NO;

    if (!child->function)
        return MATCH_NO;
    for (size_t i = first_after(child->function, parent->pre.time); i < child->function->calls.n;
         i++) {
        const struct tc_python_call *call = child->function->calls.items[i];
        if (call->pre.time >= parent->post.time)
            break;
        if (!call->has_post || call->post.time >= parent->post.time ||
            call->pre.process != parent->pre.process || call->pre.thread != parent->pre.thread)
            continue;
        enum match match = match_call(judge, child, call);
        if (match == MATCH_YES)
            return match;
        best = match ? match : best;
    }
    return best;
}

/* ---- changes ------------------------------------------------------------------------------- */

static bool is_above(const struct tc_value *value, int sign)
{
    const struct tc_value zero = {.kind = TC_VALUE_INT, .integer = 0};

    return tc_python_compare(value, &zero) == sign;
}

/* One of the tool's words for a class of values. */
static bool is_of_class(struct tc_str word, const struct tc_value *value)
{
    bool is_null = value->kind == TC_VALUE_NULL;
    double number;

    if (tc_str_is(word, "anything"))
        return true;
    if (tc_str_is(word, "non_none"))
        return !is_null;
    if (is_null)
        return tc_str_is(word, "non_positive") || tc_str_is(word, "non_negative");
    if (!tc_python_is_number(value, &number))
        return false;
    if (tc_str_is(word, "above_zero"))
        return is_above(value, 1);
    if (tc_str_is(word, "below_zero"))
        return is_above(value, -1);
    if (tc_str_is(word, "non_positive"))
        return !is_above(value, 1);
    if (tc_str_is(word, "non_negative"))
        return !is_above(value, -1);
    return tc_str_is(word, "non_zero") && !is_above(value, 0);
}

static bool is_expected(struct tc_python_judge *judge, const struct tc_value *expected,
                        const struct tc_value *value)
{
    if (!expected)
        return true;
    return tc_python_key(judge->trace->keys, expected) ==
               tc_python_key(judge->trace->keys, value) ||
           (expected->kind == TC_VALUE_STR && is_of_class(tc_value_str(expected), value));
}

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    return (x->time > y->time) - (x->time < y->time);
}

static void find_changes(struct tc_python_judge *judge, struct child *child)
{
    struct tc_str type = tc_value_str(tc_value_get(child->param, "var_type"));
    struct tc_str attr = tc_value_str(tc_value_get(child->param, "attr_name"));
    struct tc_str name = tc_value_str(tc_value_get(child->param, "var_name"));
    const struct tc_python_variables *variables = tc_python_trace_states(judge->trace, type, attr);

    for (size_t i = 0; i < variables->items.n; i++) {
        const struct tc_python_variable *v = &variables->items.items[i];
        for (size_t s = 1; s < v->states.n && (!name.text || tc_str_same(name, v->name)); s++)
            tc_vec_push(&child->changes,
                        ((struct change){v->states.items[s].begin, v->process,
                                         v->states.items[s - 1].raw, v->states.items[s].raw}));
    }
    if (child->changes.n)
        qsort(child->changes.items, child->changes.n, sizeof(*child->changes.items),
              compare_changes);
}

static enum match find_change(struct tc_python_judge *judge, const struct child *child,
                              const struct tc_python_call *parent)
{
    const struct tc_value *from = tc_value_get(child->param, "pre_value");
    const struct tc_value *to = tc_value_get(child->param, "post_value");
    size_t low = 0, high = child->changes.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (child->changes.items[mid].time < parent->pre.time)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < child->changes.n && child->changes.items[low].time <= parent->post.time; low++) {
        const struct change *change = &child->changes.items[low];
        if (change->process == parent->pre.process && is_expected(judge, from, change->from) &&
            is_expected(judge, to, change->to))
            return MATCH_YES;
    }
    return MATCH_NO;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static void say_missing_child(struct tc_python_judge *judge, const struct child *child,
                              const struct tc_python_call *parent)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_str name = tc_value_str(tc_value_get(child->param, "api_full_name"));

    if (name.text)
        tc_strbuf_addf(&text, "it contained no call of %.*s", (int)name.size, name.text);
    else
        tc_strbuf_adds(&text, "it contained no such change");
    if (tc_value_get(child->param, "arguments"))
        tc_strbuf_adds(&text, " with the arguments expected");
    tc_python_broken(judge, &parent->pre, text.text);
    tc_strbuf_release(&text);
}

/* What was still running at the end of the trace is left alone. */
static void judge_parent(struct tc_python_judge *judge, const struct child *child, bool is_call,
                         const struct tc_python_call *parent)
{
    if (!parent->has_post || !tc_python_when_met(judge->trace, &judge->when, &parent->pre))
        return;
    switch (is_call ? find_call(judge, child, parent) : find_change(judge, child, parent)) {
    case MATCH_YES:
        tc_python_held(judge, &parent->pre);
        break;
    case MATCH_NO:
        say_missing_child(judge, child, parent);
        break;
    case MATCH_UNKNOWN:
        judge->unchecked =
            "the signature of the call inside is not known, and arguments are given by position";
        break;
    }
}

void tc_python_judge_contain(struct tc_python_judge *judge)
{
    const struct tc_python_function *parents =
        tc_python_trace_function(judge->trace, tc_python_param(judge, 0, "api_full_name"));
    struct tc_str name = tc_python_param(judge, 1, "api_full_name");
    struct child child = {0};

    if (judge->params->n != 2 || (!name.text && (!tc_python_param(judge, 1, "var_type").text ||
                                                 !tc_python_param(judge, 1, "attr_name").text))) {
        judge->unchecked = "its params are not a call and what it contains";
        return;
    }
    child.param = &judge->params->items[1];
    if (name.text)
        child.function = tc_python_trace_function(judge->trace, name);
    else
        find_changes(judge, &child);
    for (size_t i = 0; parents && i < parents->calls.n; i++)
        judge_parent(judge, &child, name.text != NULL, parents->calls.items[i]);
    tc_vec_release(&child.changes);
}
