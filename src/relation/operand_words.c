/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_words.c - statements about operands in words
 */
#include "relation/operand_form.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* "args.input.dtype" is "dtype of input", "value.shape[1]" is "shape[1] of its result". */
static void describe_path(const char *path, struct tc_strbuf *out)
{
    const char *part = tc_statement_part(path);
    size_t n = part ? strlen(path) - strlen(part) : strlen(path);

    if (!strncmp(path, "value.shape[", strlen("value.shape["))) {
        tc_strbuf_addf(out, "%s of the result", path + strlen("value."));
        return;
    }
    if (!strcmp(path, "ctx.autocast")) {
        tc_strbuf_adds(out, "the dtype of autocast");
        return;
    }
    if (!strcmp(path, "self")) {
        tc_strbuf_adds(out, "the receiver");
        return;
    }
    if (!strcmp(path, "owner.training")) {
        tc_strbuf_adds(out, "the mode of the module it runs in");
        return;
    }
    if (n > strlen(TC_PART_MATRIX) && !strcmp(path + n - strlen(TC_PART_MATRIX), TC_PART_MATRIX)) {
        tc_strbuf_addf(out, "%.*s of a matrix", (int)(n - 5 - strlen(TC_PART_MATRIX)), path + 5);
        return;
    }
    if (part)
        tc_strbuf_addf(out, "%s of ", part + 1);
    if (n == strlen("value") && !strncmp(path, "value", n))
        tc_strbuf_adds(out, "the result");
    else if (!strncmp(path, "args.", 5))
        tc_strbuf_add(out, path + 5, n - 5);
    else
        tc_strbuf_add(out, path, n);
}

static void describe_value(const char *value, struct tc_strbuf *out)
{
    size_t n = strlen(value);

    if (n > 2 && value[0] == '"')
        tc_strbuf_add(out, value + 1, n - 2);
    else
        tc_strbuf_adds(out, value);
}

/* "len(value.missing_keys) is zero" is "missing_keys of the result is empty". */
static void describe_length(const char *path, const char *value, struct tc_strbuf *out)
{
    const char *member = path + strlen("len(value");

    if (*member == '.')
        tc_strbuf_addf(out, "%.*s of ", (int)strlen(member) - 2, member + 1);
    tc_strbuf_addf(out, "the result is %s", strcmp(value, "\"zero\"") ? "not empty" : "empty");
}

/* "at least one operand requires a gradient", or the contrary. */
static void describe_gradients(const char *path, const char *value, struct tc_strbuf *out)
{
    bool is_some = !strcmp(path, TC_OPERAND_SOME_GRADIENT), is_true = !strcmp(value, "true");

    tc_strbuf_adds(out, is_some ? (is_true ? "at least one operand requires a gradient"
                                           : "no operand requires a gradient")
                                : (is_true ? "all operands require a gradient"
                                           : "not all operands require a gradient"));
}

void tc_operand_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out)
{
    const char *left = tc_strtab_text(symbols, params[1].name);
    const char *verb = tc_strtab_text(symbols, params[1].attr);
    const char *right = tc_strtab_text(symbols, params[1].to);

    (void)n_params;
    tc_strbuf_adds(out, "in ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_adds(out, ", ");
    if (!strcmp(left, TC_OPERAND_SOME_GRADIENT) || !strcmp(left, TC_OPERAND_ALL_GRADIENTS)) {
        describe_gradients(left, right, out);
        return;
    }
    if (tc_str_starts((struct tc_str){left, (uint32_t)strlen(left)}, "len(value")) {
        describe_length(left, right, out);
        return;
    }
    describe_path(left, out);
    if (!strcmp(verb, "is")) {
        tc_strbuf_adds(out, " is ");
        describe_value(right, out);
        return;
    }
    tc_strbuf_adds(out, !strcmp(verb, "equals")    ? " equals "
                        : !strcmp(verb, "at_most") ? " is at most "
                                                   : " is at least ");
    describe_path(right, out);
}

/* The value of a path in the call, as it came. */
static const struct tc_value *find(const struct tc_event *event, const char *path)
{
    const struct tc_call *call = event->call;
    char name[64];
    size_t n;

    if (!strncmp(path, "self.", 5))
        return tc_value_get(tc_value_get(call->self, "attrs"), path + 5);
    if (!strncmp(path, "value", 5))
        return call->end->value;
    if (strncmp(path, "args.", 5))
        return NULL;
    n = strcspn(path + 5, ".");
    snprintf(name, sizeof(name), "%.*s", (int)n, path + 5);
    return tc_value_get(call->args, name);
}

static void print_tensor(const struct tc_value *v, struct tc_strbuf *out)
{
    struct tc_str dtype = tc_value_str(tc_value_get(v, "dtype"));
    const struct tc_value *shape = tc_value_get(v, "shape");

    tc_strbuf_addf(out, "%.*s[", (int)dtype.size, dtype.text ? dtype.text : "");
    for (uint32_t i = 0; shape && shape->kind == TC_VALUE_ARRAY && i < shape->n; i++)
        tc_strbuf_addf(out, "%s%lld", i ? "," : "", (long long)tc_value_int(&shape->items[i], 0));
    tc_strbuf_addc(out, ']');
}

static void explain_path(const struct tc_event *event, const char *path, struct tc_strbuf *out)
{
    const struct tc_value *v = find(event, path);

    tc_strbuf_addf(out, "%s", path);
    if (!v)
        return;
    if (tc_value_get(v, "tensor")) {
        tc_strbuf_adds(out, " (");
        print_tensor(v, out);
        tc_strbuf_addc(out, ')');
    } else if (v->kind == TC_VALUE_BOOL) {
        tc_strbuf_addf(out, " = %s", v->boolean ? "true" : "false");
    } else if (v->kind == TC_VALUE_INT) {
        tc_strbuf_addf(out, " = %lld", (long long)v->integer);
    } else if (v->kind == TC_VALUE_FLOAT) {
        tc_strbuf_addf(out, " = %g", v->number);
    } else if (v->kind == TC_VALUE_STR) {
        tc_strbuf_adds(out, " = ");
        tc_strbuf_add_json(out, v->text, v->n);
    }
}

void tc_operand_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                        const struct tc_event *event, const struct tc_example *example,
                        struct tc_strbuf *out)
{
    const struct tc_param *p = &invariant->params[1];
    const char *verb = tc_strtab_text(symbols, p->attr);
    const char *other = tc_statement_contrary(verb);

    (void)example;
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_strbuf_adds(out, ": ");
    if (!strcmp(tc_strtab_text(symbols, p->name), TC_OPERAND_SOME_GRADIENT) ||
        !strcmp(tc_strtab_text(symbols, p->name), TC_OPERAND_ALL_GRADIENTS)) {
        bool is_true = !strcmp(tc_strtab_text(symbols, p->to), "true");
        describe_gradients(tc_strtab_text(symbols, p->name), is_true ? "false" : "true", out);
        return;
    }
    explain_path(event, tc_strtab_text(symbols, p->name), out);
    if (!other) {
        if (!strcmp(tc_strtab_text(symbols, p->to), "\"finite\""))
            tc_strbuf_adds(out, " holds a NaN or an infinity");
        return;
    }
    tc_strbuf_adds(out, !strcmp(other, "differs_from") ? " differs from "
                        : !strcmp(other, "exceeds")    ? " exceeds "
                                                       : " is below ");
    explain_path(event, tc_strtab_text(symbols, p->to), out);
}
