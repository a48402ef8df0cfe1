/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_content.c - which operands of a call have the same content
 */
#include "fact/call_content.h"

/* "query = key" of a pair of operand names. */
static void print_pairs(const struct tc_value *pairs, struct tc_strbuf *out)
{
    for (uint32_t i = 0; pairs && pairs->kind == TC_VALUE_ARRAY && i < pairs->n; i++) {
        const struct tc_value *pair = &pairs->items[i];
        struct tc_str a, b;
        if (pair->kind != TC_VALUE_ARRAY || pair->n != 2)
            continue;
        a = tc_value_str(&pair->items[0]);
        b = tc_value_str(&pair->items[1]);
        if (a.text && b.text)
            tc_strbuf_addf(out, "%s%.*s = %.*s", out->size ? ", " : "", (int)a.size, a.text,
                           (int)b.size, b.text);
    }
}

/* What a model chooses becomes what it should choose, or is it no more: whether all of a batch is
 * right says nothing. */
static bool has_choice(const struct tc_fact_pack *pack)
{
    for (size_t i = 0; i < pack->n_tensors; i++)
        if (pack->is_computed[i] && pack->is_counted[i])
            return true;
    return false;
}

void tc_fact_read_contents(const struct tc_fact_pack *pack, struct tc_fact_reader *reader,
                           const struct tc_call *call)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    print_pairs(call->equal, &text);
    print_pairs(call->alias, &text);
    if (pack->n_tensors > 1 && !has_choice(pack))
        tc_fact_add_text(reader, NULL, TC_ATTRIBUTE_ALIKE,
                         (struct tc_str){text.text ? text.text : "", (uint32_t)text.size});
    tc_strbuf_release(&text);
}

void tc_fact_pack_contents(struct tc_fact_pack *pack, const struct tc_call *call)
{
    if (!pack->has_content)
        return;
    tc_fact_pack_value(pack, call->equal, 0);
    tc_fact_pack_value(pack, call->alias, 0);
}
