/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent.c - what the forms of Consistent share
 */
#include "relation/consistent.h"

#include "replay/symbols.h"

tc_sym tc_consistent_agreement(struct tc_strtab *symbols, tc_sym attr, bool equal)
{
    return TC_ATOM(symbols, attr, equal ? TC_SYM_EQUAL : TC_SYM_DIFFERS);
}

void tc_consistent_framework(struct tc_situation *s, const struct tc_variable *v)
{
    for (size_t i = 0; i < v->n_attrs; i++)
        tc_situation_set(s, v->attrs[i].field, v->attrs[i].value);
}

void tc_consistent_situation(struct tc_situation *s, const struct tc_variable *v)
{
    s->n = 0;
    tc_situation_set(s, TC_SYM_F_V_REQUIRES_GRAD, tc_symbols_bool(v->requires_grad));
    tc_situation_set(s, TC_SYM_F_V_DTYPE, v->dtype);
    tc_situation_set(s, TC_SYM_F_V_OWNER, v->owner);
    tc_consistent_framework(s, v);
    tc_situation_sort(s);
}

void tc_consistent_emit(const struct tc_sink *sink, const struct tc_event *event, tc_sym key,
                        const struct tc_situation *situation, tc_sym *outcome, size_t n,
                        const struct tc_variable *variable)
{
    tc_sym_sort(outcome, n);
    struct tc_example example = {.key = key,
                                 .situation = situation,
                                 .outcome = outcome,
                                 .n_outcome = n,
                                 .variable = variable};
    sink->example(sink->context, event, &example);
}

struct tc_snapshot tc_snapshot_of(const struct tc_variable *v)
{
    return (struct tc_snapshot){.data = v->data,
                                .algorithm = v->algorithm,
                                .dtype = v->dtype,
                                .shape = v->shape,
                                .has_data = v->has_data,
                                .is_sampled = v->is_sampled,
                                .requires_grad = v->requires_grad};
}

bool tc_snapshots_compare(const struct tc_snapshot *a, const struct tc_snapshot *b)
{
    return a->has_data && b->has_data && a->is_sampled == b->is_sampled &&
           a->algorithm == b->algorithm;
}
