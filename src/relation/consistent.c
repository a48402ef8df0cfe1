/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent.c - what the forms of Consistent share
 */
#include "relation/consistent.h"

#include <string.h>

#include "base/banned.h"
#include "replay/symbols.h"

tc_sym tc_consistent_agreement(struct tc_strtab *symbols, tc_sym attr, bool equal)
{
    return TC_ATOM(symbols, attr, equal ? TC_SYM_EQUAL : TC_SYM_DIFFERS);
}

void tc_consistent_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            struct tc_hypothesis h = {.n_params = 1, .support = TC_SUPPORT_LAW};
            tc_sym words[2];
            if (!tc_is_first(&seen, outcomes->outcome[i][j]) ||
                !tc_strtab_split(symbols, outcomes->outcome[i][j], words, 2) ||
                words[1] != TC_SYM_EQUAL)
                continue;
            h.params[0] = (struct tc_param){.kind = TC_PARAM_VARIABLE,
                                            .name = key,
                                            .role = TC_NO_SYM,
                                            .attr = words[0],
                                            .from = TC_NO_SYM,
                                            .to = TC_SYM_EQUAL};
            tc_vec_push(&out->items, h);
        }
    }
    tc_map_release(&seen);
}

tc_sym tc_consistent_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return n_params == 1 && params[0].kind == TC_PARAM_VARIABLE ? params[0].name : TC_NO_SYM;
}

enum tc_outcome tc_consistent_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const tc_sym attr = params[0].attr;

    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, tc_consistent_agreement(symbols, attr, true)))
        return TC_HELD;
    return tc_outcome_has(outcome, n_outcome, tc_consistent_agreement(symbols, attr, false))
               ? TC_BROKEN
               : TC_UNDECIDED;
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

void tc_consistent_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            const char *what, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s of each %s %s", tc_strtab_text(symbols, params[0].attr),
                   tc_strtab_text(symbols, params[0].name), what);
}

void tc_consistent_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_example *example, const char *what,
                           struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s of %s %s", tc_strtab_text(symbols, invariant->params[0].attr),
                   tc_strtab_text(symbols, example->variable->name), what);
}
