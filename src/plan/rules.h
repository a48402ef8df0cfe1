/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - the meaning of operators, one row of a table for each
 */
#ifndef TC_PLAN_RULES_H
#define TC_PLAN_RULES_H

#include "plan/program.h"

struct tc_eval;

enum tc_rule_kind {
    TC_RULE_PLAIN,
    TC_RULE_ELEMENTWISE, /* may write where it reads, if the views are the same */
    TC_RULE_SKIP,        /* changes no tensor */
    TC_RULE_COLLECTIVE,
    TC_RULE_SEND,
    TC_RULE_RECEIVE,
};

struct tc_rule {
    const char *name; /* "aten.add", without overload and without the _ of writing in place */
    const char *args; /* names in the order of their numbers, "self other|scalar alpha" */
    void (*run)(struct tc_eval *eval);
    enum tc_rule_kind kind;
    int variant;
    int extra;
};

#define TC_RULE_MAX_ARGS 24

/* Of operators that have none: a hash of all they read. It stands in no table. */
extern const struct tc_rule tc_rule_unknown;
bool tc_rule_may_be_unknown(const char *op);

/* Does the operator take no more than the sizes of this tensor, of those that it reads? */
bool tc_rule_reads_size_only(const struct tc_plan_op *op, const struct tc_plan_tensor *t);

/* NULL if there is none. */
const struct tc_rule *tc_rule_find(const char *op);
/* The i-th of all rules, NULL at the end. */
const struct tc_rule *tc_rule_get(size_t i);

extern const struct tc_rule tc_rules_elementwise[], tc_rules_reduce[], tc_rules_copy[],
    tc_rules_fill[], tc_rules_linear[], tc_rules_norm[], tc_rules_index[], tc_rules_loss[],
    tc_rules_attention[], tc_rules_convolution[], tc_rules_pool[], tc_rules_optimizer[],
    tc_rules_random[], tc_rules_fsdp[], tc_rules_collective[], tc_rules_function[], tc_rules_sort[],
    tc_rules_activation[], tc_rules_bilinear[], tc_rules_resize[], tc_rules_margin[],
    tc_rules_bag[], tc_rules_fold[];

#endif /* TC_PLAN_RULES_H */
