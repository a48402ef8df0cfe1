/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covered_size.c - whether the indices that a call is given cover another operand
 *
 * Edges of a graph name its nodes, segments the rows they are summed into, positions the elements
 * of a sequence: the largest index is that of the last. Graphs that are put into one batch without
 * an offset all name the nodes of the first.
 */
#include "fact/operand_facts.h"

/* A smaller index may be the last by chance, as a class. */
#define MIN_LAST 8

/* Adds ".shape[0]" of the first of its sizes that ends with this index. */
static bool print_size(const struct tc_value *tensor, int64_t last, struct tc_str name,
                       struct tc_strbuf *out)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    for (uint32_t d = 0; shape && shape->kind == TC_VALUE_ARRAY && d < shape->n; d++)
        if (tc_value_int(&shape->items[d], 0) == last + 1) {
            tc_strbuf_addf(out, "%.*s.shape[%u]", (int)name.size, name.text, d);
            return true;
        }
    return false;
}

bool tc_fact_covers(const struct tc_call *call, uint32_t member, struct tc_strbuf *out)
{
    const struct tc_value *tensor = &call->args->members[member].value;
    const int64_t last = tc_value_int(tc_value_get(tc_value_get(tensor, "summary"), "max"), -1);

    if (last < MIN_LAST)
        return false;
    if (call->self && print_size(call->self, last, (struct tc_str){"self", 4}, out))
        return true;
    for (uint32_t i = 0; i < call->args->n; i++)
        if (i != member &&
            print_size(&call->args->members[i].value, last, call->args->members[i].key, out))
            return true;
    return true;
}
