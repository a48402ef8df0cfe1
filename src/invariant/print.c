/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - invariants as lines of their file
 *
 * Keys come in the order of docs/invariant-format.md. Values are interned as JSON text, and
 * printed as they are.
 */
#include "invariant/invariant.h"

#include <string.h>

#include "invariant/headings.h"
#include "invariant/keys.h"

const char *const tc_param_keys[] = {
    [TC_PARAM_CALL] = "call",
    [TC_PARAM_CHANGE] = "change",
    [TC_PARAM_VARIABLE] = "variable",
    [TC_PARAM_OPERAND] = "operand",
};

/* Values are interned as JSON text already. */
static struct tc_json *value_to_json(const struct tc_strtab *symbols, tc_sym value)
{
    struct tc_json *node = NULL;

    if (tc_json_parse(tc_strtab_text(symbols, value), tc_strtab_size(symbols, value), &node, NULL))
        return tc_json_null();
    return node;
}

/* "is" compares with a value, every other verb with another operand. */
static void set_operand(struct tc_json *object, const struct tc_param *param,
                        const struct tc_strtab *symbols)
{
    const char *verb = tc_strtab_text(symbols, param->attr);

    if (!strcmp(verb, "is"))
        tc_json_set(object, verb, value_to_json(symbols, param->to));
    else
        tc_json_set_string(object, verb, tc_strtab_text(symbols, param->to));
}

static void set_change(struct tc_json *object, const struct tc_param *param,
                       const struct tc_strtab *symbols)
{
    tc_json_set_string(object, "attr", tc_strtab_text(symbols, param->attr));
    if (param->from != TC_NO_SYM)
        tc_json_set_string(object, "from", tc_strtab_text(symbols, param->from));
    tc_json_set_string(object, "to", tc_strtab_text(symbols, param->to));
}

static struct tc_json *param_to_json(const struct tc_param *param, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();

    if (param->kind == TC_PARAM_FOREIGN) {
        tc_json_set_string(object, "definition", tc_strtab_text(symbols, param->name));
        return object;
    }
    tc_json_set_string(object, tc_param_keys[param->kind], tc_strtab_text(symbols, param->name));
    if (param->kind == TC_PARAM_OPERAND)
        set_operand(object, param, symbols);
    else if (param->kind != TC_PARAM_CALL)
        set_change(object, param, symbols);
    else if (*tc_strtab_text(symbols, param->role))
        tc_json_set_string(object, "role", tc_strtab_text(symbols, param->role));
    if (param->given)
        tc_json_set_bool(object, "given", true);
    return object;
}

static struct tc_json *clause_to_json(const struct tc_clause *clause,
                                      const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "field", tc_strtab_text(symbols, clause->field));
    tc_json_set(object, clause->negated ? "not" : "is", value_to_json(symbols, clause->value));
    return object;
}

static struct tc_json *evidence_to_json(const struct tc_invariant *invariant,
                                        const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();
    struct tc_json *contexts = tc_json_object();

    tc_json_set_number(object, "held", (double)invariant->held);
    if (invariant->broken)
        tc_json_set_number(object, "broken", (double)invariant->broken);
    if (invariant->excluded)
        tc_json_set_number(object, "excluded", (double)invariant->excluded);
    tc_json_set_number(object, "pipelines", (double)invariant->pipelines);
    tc_fact_windows_print(&invariant->windows, object);
    if (invariant->is_validated) {
        struct tc_json *held_out = tc_json_object();
        tc_json_set_number(held_out, "held", (double)invariant->held_out);
        tc_json_set_number(held_out, "pipelines", (double)invariant->held_out_pipelines);
        tc_json_set(object, "held_out", held_out);
    }
    for (size_t i = 0; i < invariant->n_contexts; i++) {
        const struct tc_context *context = &invariant->contexts[i];
        struct tc_json *values = tc_json_array();
        for (size_t j = 0; j < context->n_values; j++)
            tc_json_append(values, value_to_json(symbols, context->values[j]));
        tc_json_set(contexts, tc_strtab_text(symbols, context->field), values);
    }
    if (invariant->n_contexts)
        tc_json_set(object, "contexts", contexts);
    else
        tc_json_free(contexts);
    return object;
}

static struct tc_json *needs_to_json(unsigned needs)
{
    struct tc_json *array = tc_json_array();

    for (unsigned i = 0; i < TC_N_NEEDS; i++)
        if (needs & TC_NEED_BIT(i))
            tc_json_append(array, tc_json_string(tc_need_text((enum tc_need)i)));
    return array;
}

struct tc_json *tc_invariant_to_json(const struct tc_invariant *invariant,
                                     const struct tc_strtab *symbols)
{
    struct tc_json *object =
        invariant->document ? tc_json_copy(invariant->document) : tc_json_object();
    struct tc_json *params, *when;

    if (invariant->unchecked)
        return object; /* nothing of it was understood: keep it as it came */
    params = tc_json_array();
    when = tc_json_array();
    if (tc_invariant_fact(invariant)) {
        tc_json_append(params, tc_fact_subject_to_json(tc_invariant_fact(invariant), symbols));
        tc_json_append(params, tc_fact_claim_to_json(tc_invariant_fact(invariant), symbols));
    }
    for (size_t i = 0; i < invariant->n_params; i++)
        if (invariant->params[i].kind != TC_PARAM_FACT)
            tc_json_append(params, param_to_json(&invariant->params[i], symbols));
    for (size_t i = 0; i < invariant->n_when; i++)
        tc_json_append(when, clause_to_json(&invariant->when[i], symbols));
    tc_json_set_string(object, "id", invariant->id);
    tc_json_set_string(object, "relation", tc_strtab_text(symbols, invariant->relation));
    tc_json_set(object, "params", params);
    tc_json_set(object, "when", when);
    if (invariant->needs)
        tc_json_set(object, "needs", needs_to_json(invariant->needs));
    tc_json_set_string(object, "text", invariant->text ? invariant->text : "");
    tc_json_set(object, "evidence", evidence_to_json(invariant, symbols));
    return object;
}

void tc_invariant_set_print(const struct tc_invariant_set *set, struct tc_json *take_header,
                            struct tc_strbuf *out)
{
    struct tc_heading_writer writer = {.out = out};

    if (take_header)
        tc_json_print_line(take_header, out);
    for (size_t i = 0; i < set->items.n; i++)
        tc_heading_writer_add(&writer, tc_invariant_to_json(set->items.items[i], set->symbols));
    tc_heading_writer_end(&writer);
}
