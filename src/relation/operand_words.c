/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_words.c - statements about operands in words
 */
#include "relation/operand_form.h"

#include <stdio.h>
#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"

/* "args.input.dtype" is "dtype of input", "value.shape[1]" is "shape[1] of its result". */
static void describe_path(const struct tc_strtab *symbols, tc_sym sym, struct tc_strbuf *out)
{
    static const char size[] = "value.shape[";
    const char *text = tc_strtab_text(symbols, sym);
    const struct tc_path path = tc_path_read(symbols, sym);
    const struct tc_str said = path.root == TC_PATH_ARGUMENT ? path.name : path.owner;

    if (sym == TC_SYM_F_CTX_AUTOCAST)
        tc_strbuf_adds(out, "the dtype of autocast");
    else if (sym == TC_SYM_F_OWNER_TRAINING)
        tc_strbuf_adds(out, "the mode of the module it runs in");
    else if (sym == TC_SYM_SELF)
        tc_strbuf_adds(out, "the receiver");
    else if (!strncmp(text, size, sizeof(size) - 1))
        tc_strbuf_addf(out, "%s of the result", text + strlen("value."));
    else if (path.part == TC_PART_OF_MATRIX)
        tc_strbuf_addf(out, "%.*s of a matrix", (int)said.size, said.text);
    else {
        if (path.part)
            tc_strbuf_addf(out, "%s of ", tc_path_part_text(path.part) + 1);
        if (tc_str_is(path.owner, "value"))
            tc_strbuf_adds(out, "the result");
        else
            tc_strbuf_add(out, said.text, said.size);
    }
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
static void describe_length(struct tc_str member, tc_sym value, struct tc_strbuf *out)
{
    if (member.text[0] == '.')
        tc_strbuf_addf(out, "%.*s of ", (int)member.size - 2, member.text + 1);
    tc_strbuf_addf(out, "the result is %s", value == TC_SYM_ZERO ? "empty" : "not empty");
}

void tc_operand_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out)
{
    const struct tc_path left = tc_path_read(symbols, params[1].name);
    const struct tc_operand_whole *whole = tc_operand_whole(left.root);
    const tc_sym verb = params[1].attr, right = params[1].to;

    (void)n_params;
    tc_strbuf_adds(out, "in ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_adds(out, ", ");
    if (whole) {
        tc_strbuf_adds(out, right == whole->claimed ? whole->held : whole->broken);
        return;
    }
    if (left.root == TC_PATH_LENGTH) {
        describe_length(left.name, right, out);
        return;
    }
    describe_path(symbols, left.sym, out);
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
    const struct tc_path left = tc_path_read(symbols, p->name);
    const struct tc_operand_whole *whole = tc_operand_whole(left.root);

    (void)example;
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_strbuf_adds(out, ": ");
    if (whole) {
        tc_strbuf_adds(out, p->to == whole->claimed ? whole->broken : whole->held);
        return;
    }
    explain_path(event, tc_strtab_text(symbols, p->name), out);
    if (p->attr == TC_SYM_IS) {
        tc_strbuf_adds(out, p->to == TC_SYM_FINITE ? " holds a NaN or an infinity" : "");
        return;
    }
    tc_strbuf_adds(out, p->attr == TC_SYM_EQUALS    ? " differs from "
                        : p->attr == TC_SYM_AT_MOST ? " exceeds "
                                                    : " is below ");
    explain_path(event, tc_strtab_text(symbols, p->to), out);
}
