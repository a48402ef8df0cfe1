/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_output.c - ConsistentOutputRelation, ConsistentInputOutputRelation, ThresholdRelation:
 * what a call returns has a fixed property, one of its arguments, or is bounded by one
 *
 * Judged are calls that returned and meet the precondition, each tensor by the attribute that
 * the invariant names. A call without the value is not judged.
 */
#include "python_tool/python_rules.h"

#include <math.h>
#include <string.h>

#include "trace/scan.h"

/* The attributes of the tensors among values, in order. */
struct tensors {
    TC_VEC(const struct tc_value *) items;
};

static bool is_tensor(struct tc_str type)
{
    static const char tensor[] = "Tensor", parameter[] = "Parameter";
    bool is_torch = type.size > 6 && !memcmp(type.text, "torch.", 6);

    for (uint32_t i = 0; i < type.size; i++) {
        uint32_t left = type.size - i;
        if (left >= 9 && !memcmp(type.text + i, parameter, 9))
            return true;
        if (is_torch && i >= 6 && left >= 6 && !memcmp(type.text + i, tensor, 6))
            return true;
    }
    return false;
}

static void add_tensor(struct tensors *tensors, const struct tc_value *typed)
{
    const struct tc_member *member = tc_python_typed_value(typed);

    if (member && is_tensor(member->key))
        tc_vec_push(&tensors->items, &member->value);
}

static void find_outputs(const struct tc_python_call *call, struct tensors *out)
{
    const struct tc_value *values = tc_value_get(call->post.line, "return_values");

    out->items.n = 0;
    if (values && values->kind == TC_VALUE_ARRAY)
        for (uint32_t i = 0; i < values->n; i++)
            add_tensor(out, &values->items[i]);
    else
        add_tensor(out, values);
}

static void find_inputs(const struct tc_python_call *call, struct tensors *out)
{
    static const char *const keys[] = {"args", "kwargs"};

    out->items.n = 0;
    for (size_t k = 0; k < 2; k++) {
        const struct tc_value *args = tc_value_get(call->pre.line, keys[k]);
        for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++)
            add_tensor(out, &args->members[i].value);
    }
}

/* Attribute of a tensor by its literal name, without the tool's own bookkeeping of addresses. */
static const struct tc_value *attribute(const struct tc_value *tensor, struct tc_str name)
{
    if (tensor->kind != TC_VALUE_OBJECT || tc_str_is(name, "_TRAINCHECK_data_ID"))
        return NULL;
    for (uint32_t i = 0; i < tensor->n; i++)
        if (tc_str_same(tensor->members[i].key, name))
            return &tensor->members[i].value;
    return NULL;
}

/* The value that an InputOutputParam names, NULL if these tensors have none. */
static const struct tc_value *value_at(const struct tensors *tensors, const struct tc_value *param)
{
    const struct tc_value *path = tc_value_get(param, "additional_path"), *value;
    int64_t index = tc_value_int(tc_value_get(param, "index"), -1);

    if (!path || path->kind != TC_VALUE_ARRAY || index < 0 || (uint64_t)index >= tensors->items.n)
        return NULL;
    value = tensors->items.items[index];
    for (uint32_t i = 0; value && i < path->n; i++) {
        const struct tc_value *step = &path->items[i];
        int64_t at = tc_value_int(step, -1);
        if (step->kind == TC_VALUE_STR)
            value = attribute(value, tc_value_str(step));
        else if (value->kind == TC_VALUE_ARRAY && at >= 0 && (uint64_t)at < value->n)
            value = &value->items[at];
        else
            value = NULL;
    }
    return value;
}

/* Calls that returned and meet the precondition. */
static bool is_judged(struct tc_python_judge *judge, const struct tc_python_call *call)
{
    return call->has_post && !call->raised &&
           tc_python_when_met(judge->trace, &judge->when, &call->pre);
}

static void say_other_output(struct tc_python_judge *judge, const struct tc_python_call *call,
                             const char *what, const struct tc_value *seen, const char *instead,
                             const struct tc_value *expected)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, what);
    if (seen)
        tc_value_print(seen, &text);
    tc_strbuf_adds(&text, instead);
    if (expected)
        tc_value_print(expected, &text);
    tc_python_broken(judge, &call->pre, text.text);
    tc_strbuf_release(&text);
}

/* ---- a fixed property ---------------------------------------------------------------------- */

static void judge_outputs(struct tc_python_judge *judge, const struct tc_python_call *call,
                          const struct tensors *tensors)
{
    struct tc_str name = tc_python_param(judge, 1, "attr_name");
    const struct tc_value *expected = tc_python_param_value(judge, 1, "const_value");
    tc_sym key = tc_python_key(judge->trace->keys, expected);

    if (!tensors->items.n) {
        say_other_output(judge, call, "it returned no tensor", NULL, "", NULL);
        return;
    }
    for (size_t i = 0; i < tensors->items.n; i++) {
        const struct tc_value *value = attribute(tensors->items.items[i], name);
        if (value && tc_python_key(judge->trace->keys, value) == key)
            continue;
        say_other_output(judge, call,
                         value ? "it returned a tensor with " : "it returned a tensor without it",
                         value, value ? " in place of " : "", value ? expected : NULL);
        return;
    }
    tc_python_held(judge, &call->pre);
}

void tc_python_judge_output(struct tc_python_judge *judge)
{
    const struct tc_python_function *function =
        tc_python_trace_function(judge->trace, tc_python_param(judge, 0, "api_full_name"));
    struct tensors tensors = {0};

    if (!tc_python_param(judge, 1, "attr_name").text ||
        !tc_python_param_value(judge, 1, "const_value")) {
        judge->unchecked = "its params name no property and value";
        return;
    }
    for (size_t i = 0; function && i < function->calls.n; i++) {
        const struct tc_python_call *call = function->calls.items[i];
        if (!is_judged(judge, call))
            continue;
        if (!tc_value_get(call->post.line, "return_values")) {
            judge->unchecked = "the trace has no return values of its calls";
            continue;
        }
        find_outputs(call, &tensors);
        judge_outputs(judge, call, &tensors);
    }
    tc_vec_release(&tensors.items);
}

/* ---- equal to an argument ------------------------------------------------------------------ */

void tc_python_judge_input_output(struct tc_python_judge *judge)
{
    const struct tc_python_function *function =
        tc_python_trace_function(judge->trace, tc_python_param(judge, 1, "api_full_name"));
    struct tensors inputs = {0}, outputs = {0};

    if (judge->params->n != 3) {
        judge->unchecked = "its params are not an input, a call and an output";
        return;
    }
    for (size_t i = 0; function && i < function->calls.n; i++) {
        const struct tc_python_call *call = function->calls.items[i];
        if (!is_judged(judge, call))
            continue;
        find_inputs(call, &inputs);
        find_outputs(call, &outputs);
        const struct tc_value *in = value_at(&inputs, &judge->params->items[0]);
        const struct tc_value *out = value_at(&outputs, &judge->params->items[2]);
        if (!in || !out)
            continue;
        if (tc_python_key(judge->trace->keys, in) == tc_python_key(judge->trace->keys, out))
            tc_python_held(judge, &call->pre);
        else
            say_other_output(judge, call, "the output has ", out, " and the input ", in);
    }
    tc_vec_release(&inputs.items);
    tc_vec_release(&outputs.items);
}

/* ---- bounded by an argument ---------------------------------------------------------------- */

static void judge_bound(struct tc_python_judge *judge, const struct tc_python_call *call, size_t in,
                        size_t out)
{
    struct tensors outputs = {0};
    bool is_known;
    double number;
    const struct tc_member *bound = tc_python_typed_value(
        tc_python_argument(judge->trace, call, tc_python_param(judge, in, "name"), &is_known));

    find_outputs(call, &outputs);
    const struct tc_value *value = value_at(&outputs, &judge->params->items[out]);
    tc_vec_release(&outputs.items);
    if (!bound || !value) {
        judge->unchecked = !is_known ? "the signature of its call is not known, and arguments are "
                                       "given by position"
                           : !bound  ? "the argument was left to its default, which is not recorded"
                                     : "its calls do not return what is compared";
        return;
    }
    if (!tc_python_is_number(&bound->value, &number) || !tc_python_is_number(value, &number)) {
        judge->unchecked = "what is compared are no numbers";
        return;
    }
    int order = tc_python_compare(value, &bound->value);
    if (out == 0 ? order >= 0 : order <= 0)
        tc_python_held(judge, &call->pre);
    else
        say_other_output(judge, call, "the output has ", value,
                         out == 0 ? ", less than the argument's " : ", more than the argument's ",
                         &bound->value);
}

void tc_python_judge_threshold(struct tc_python_judge *judge)
{
    const struct tc_python_function *function =
        tc_python_trace_function(judge->trace, tc_python_param(judge, 1, "api_full_name"));
    const struct tc_value *is_input = tc_python_param_value(judge, 0, "is_input");
    bool first_is_input = tc_value_is_true(is_input);

    if (judge->params->n != 3 || !is_input) {
        judge->unchecked = "its params are not an argument, a call and an output";
        return;
    }
    for (size_t i = 0; function && i < function->calls.n; i++)
        if (is_judged(judge, function->calls.items[i]))
            judge_bound(judge, function->calls.items[i], first_is_input ? 0 : 2,
                        first_is_input ? 2 : 0);
}
