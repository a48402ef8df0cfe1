/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_words.c - statements about operands in words
 *
 * The sentence of a claim comes from its params alone. That of a breach also has the values of
 * the call, as the trace has them.
 */
#include "relation/operand_form.h"

#include <stdio.h>
#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* "args.input.dtype" is "dtype of input", "value.shape[1]" is "shape[1] of the result". */
static void describe_path(const struct tc_strtab *symbols, tc_sym sym, struct tc_strbuf *out)
{
    static const char size[] = "value.shape[", setting[] = "self.";
    const char *text = tc_strtab_text(symbols, sym);
    const struct tc_path path = tc_path_read(symbols, sym);
    const struct tc_str said = path.root == TC_PATH_ARGUMENT ? path.name : path.owner;

    if (sym == TC_SYM_F_CTX_AUTOCAST)
        tc_strbuf_adds(out, "the dtype of autocast");
    else if (sym == TC_SYM_F_OWNER_TRAINING)
        tc_strbuf_adds(out, "the mode of the module it runs in");
    else if (sym == TC_SYM_SELF)
        tc_strbuf_adds(out, "the input");
    else if (!strncmp(text, size, sizeof(size) - 1))
        tc_strbuf_addf(out, "%s of the result", text + strlen("value."));
    else if (path.part == TC_PART_OF_MATRIX)
        tc_strbuf_add(out, said.text, said.size);
    else if (!path.part && !strncmp(text, setting, sizeof(setting) - 1))
        tc_strbuf_adds(out, text + sizeof(setting) - 1);
    else {
        if (path.part)
            tc_strbuf_addf(out, "%s of ", tc_path_part_text(path.part) + 1);
        if (tc_str_is(path.owner, "value"))
            tc_strbuf_adds(out, "the result");
        else
            tc_strbuf_add(out, said.text, said.size);
    }
}

/* "missing_keys of the result", of "len(value.missing_keys)". */
static void describe_left(const struct tc_strtab *symbols, const struct tc_param *params,
                          struct tc_strbuf *out)
{
    const struct tc_path left = tc_path_read(symbols, params[1].name);

    if (left.root != TC_PATH_LENGTH) {
        describe_path(symbols, left.sym, out);
    } else {
        if (left.name.text[0] == '.')
            tc_strbuf_addf(out, "%.*s of ", (int)left.name.size - 2, left.name.text + 1);
        tc_strbuf_adds(out, "the result");
    }
    tc_strbuf_adds(out, " of ");
    tc_describe_call(symbols, params[0].name, out);
    if (left.part == TC_PART_OF_MATRIX)
        tc_strbuf_adds(out, " of a matrix");
}

static void describe_value(const char *value, struct tc_strbuf *out)
{
    size_t n = strlen(value);

    if (n > 2 && value[0] == '"')
        tc_strbuf_add(out, value + 1, n - 2);
    else if (!strcmp(value, "true") || !strcmp(value, "false"))
        tc_strbuf_adds(out, *value == 't' ? "True" : "False");
    else
        tc_strbuf_adds(out, strcmp(value, "null") ? value : "None");
}

/* What was true of all operands together; "the model is in training mode". */
static bool describe_whole(const struct tc_strtab *symbols, const struct tc_param *params,
                           bool is_seen, struct tc_strbuf *out)
{
    const struct tc_operand_whole *whole =
        tc_operand_whole(tc_path_read(symbols, params[1].name).root);
    const bool is_claimed = whole && params[1].to == whole->claimed;

    if (whole) {
        tc_strbuf_addf(out, "%s in ", is_claimed != is_seen ? whole->held : whole->broken);
        tc_describe_call(symbols, params[0].name, out);
        return true;
    }
    if (params[1].name != TC_SYM_F_SELF_TRAINING || params[1].attr != TC_SYM_IS)
        return false;
    const bool is_training = (params[1].to == TC_SYM_TRUE) != is_seen;
    const char *was =
        is_seen ? is_training ? ", was in evaluation mode" : ", was in training mode" : "";
    if (params[0].name == TC_SYM_ROOT_FORWARD) {
        tc_strbuf_adds(out, "the model");
    } else {
        tc_strbuf_adds(out, "the module of ");
        tc_describe_call(symbols, params[0].name, out);
    }
    tc_strbuf_addf(out, " is in %s mode%s", is_training ? "training" : "evaluation", was);
    return true;
}

void tc_operand_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out)
{
    const tc_sym verb = params[1].attr, right = params[1].to;

    (void)n_params;
    if (describe_whole(symbols, params, false, out))
        return;
    describe_left(symbols, params, out);
    if (tc_path_read(symbols, params[1].name).root == TC_PATH_LENGTH) {
        tc_strbuf_adds(out, right == TC_SYM_ZERO ? " is empty" : " is not empty");
        return;
    }
    if (verb == TC_SYM_IS) {
        tc_strbuf_adds(out, " is ");
        describe_value(tc_strtab_text(symbols, right), out);
        return;
    }
    tc_strbuf_adds(out, verb == TC_SYM_EQUALS    ? " equals "
                        : verb == TC_SYM_AT_MOST ? " is at most "
                                                 : " is at least ");
    describe_path(symbols, right, out);
}

/* The value of a path in the call, as it came. */
static const struct tc_value *find_operand(const struct tc_event *event, const char *path)
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

/* A tensor, or a scalar; false if it is neither. */
static bool print_value(const struct tc_value *v, struct tc_strbuf *out)
{
    if (v && tc_is_tensor(v))
        print_tensor(v, out);
    else if (v && v->kind == TC_VALUE_BOOL)
        tc_strbuf_adds(out, v->boolean ? "True" : "False");
    else if (v && v->kind == TC_VALUE_INT)
        tc_strbuf_addf(out, "%lld", (long long)v->integer);
    else if (v && v->kind == TC_VALUE_FLOAT)
        tc_strbuf_addf(out, "%g", v->number);
    else if (v && v->kind == TC_VALUE_STR)
        tc_strbuf_add(out, v->text, v->n);
    else
        return false;
    return true;
}

/* " (float32[8,10])" */
static void explain_value(const struct tc_strtab *symbols, const struct tc_event *event,
                          tc_sym path, struct tc_strbuf *out)
{
    const size_t size = out->size;

    tc_strbuf_adds(out, " (");
    if (print_value(find_operand(event, tc_strtab_text(symbols, path)), out))
        tc_strbuf_addc(out, ')');
    else
        out->text[out->size = size] = '\0';
}

/* "dim of softmax() is 0, was -1" */
static void explain_is(const struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_param *p, struct tc_strbuf *out)
{
    const struct tc_path left = tc_path_read(symbols, p->name);
    const struct tc_value *v = find_operand(event, tc_strtab_text(symbols, p->name));

    if (left.root == TC_PATH_LENGTH) {
        tc_strbuf_adds(out, p->to == TC_SYM_ZERO ? " is not empty" : " is empty");
        return;
    }
    if (p->to == TC_SYM_FINITE) {
        tc_strbuf_adds(out, " holds a NaN or an infinity");
        return;
    }
    tc_strbuf_adds(out, " is ");
    if (!v || tc_is_tensor(v) || !print_value(v, out))
        tc_strbuf_adds(out, "another");
    tc_strbuf_adds(out, ", was ");
    describe_value(tc_strtab_text(symbols, p->to), out);
}

void tc_operand_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                        const struct tc_event *event, const struct tc_example *example,
                        struct tc_strbuf *out)
{
    const struct tc_param *p = &invariant->params[1];

    (void)example;
    if (describe_whole(symbols, invariant->params, true, out))
        return;
    describe_left(symbols, invariant->params, out);
    if (p->attr == TC_SYM_IS) {
        explain_is(symbols, event, p, out);
        return;
    }
    explain_value(symbols, event, p->name, out);
    tc_strbuf_adds(out, p->attr == TC_SYM_EQUALS    ? " differs from "
                        : p->attr == TC_SYM_AT_MOST ? " exceeds "
                                                    : " is below ");
    describe_path(symbols, p->to, out);
    explain_value(symbols, event, p->to, out);
}
