/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - finding the rule of an operator
 *
 * An operator is looked up by its own name, then without the _ of writing in place, then, if it
 * is one over lists of tensors, as the operator of one tensor.
 */
#include "plan/rules.h"

#include <string.h>

static const struct tc_rule *const tables[] = {
    tc_rules_elementwise, tc_rules_function,   tc_rules_reduce,      tc_rules_copy,
    tc_rules_fill,        tc_rules_linear,     tc_rules_norm,        tc_rules_index,
    tc_rules_loss,        tc_rules_attention,  tc_rules_convolution, tc_rules_pool,
    tc_rules_optimizer,   tc_rules_random,     tc_rules_fsdp,        tc_rules_collective,
    tc_rules_sort,        tc_rules_activation, tc_rules_bilinear,    tc_rules_resize,
    tc_rules_margin,      tc_rules_bag,        tc_rules_fold,
};

#define N_TABLES (sizeof(tables) / sizeof(*tables))

static const struct tc_rule *find_rule(const char *name, size_t size)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const struct tc_rule *rule = tables[t]; rule->name; rule++)
            if (!strncmp(rule->name, name, size) && !rule->name[size])
                return rule;
    return NULL;
}

#define LIST_PREFIX "aten._foreach_"

/* "aten._foreach_add_.Scalar": itself, without the _ of writing in place, and as aten.add. */
const struct tc_rule *tc_rule_find(const char *op)
{
    const char *dot = strchr(op, '.');
    size_t size = dot ? (size_t)(dot + 1 - op) + strcspn(dot + 1, ".") : strlen(op);
    bool is_in_place = size > 1 && op[size - 1] == '_' && op[size - 2] != '_';
    size_t prefix = strlen(LIST_PREFIX);
    char single[80];

    const struct tc_rule *rule = find_rule(op, size);
    if (!rule && is_in_place)
        rule = find_rule(op, --size);
    if (rule || strncmp(op, LIST_PREFIX, prefix) != 0 || size <= prefix || size >= sizeof(single))
        return rule;
    memcpy(single, "aten.", 5);
    memcpy(single + 5, op + prefix, size - prefix);
    return find_rule(single, size - prefix + 5);
}

/* Named by the rule, but for its sizes alone. The weight of all targets counts as such. */
static const struct {
    const char *rule;
    unsigned argument;
} sizes_only[] = {
    {"aten.nll_loss_backward",                1},
    {"aten.nll_loss_backward",                6},
    {"aten.nll_loss2d_backward",              1},
    {"aten.nll_loss2d_backward",              6},
    {"aten.max_pool2d_with_indices_backward", 1},
    {"aten.max_pool3d_with_indices_backward", 1},
    {"aten.adaptive_max_pool3d_backward",     1},
    {"aten.adaptive_max_pool2d_backward",     1},
    {"aten.avg_pool2d_backward",              1},
    {"aten.avg_pool3d_backward",              1},
    {"aten.zeros_like",                       0},
    {"aten.ones_like",                        0},
    {"aten.new_zeros",                        0},
    {"aten.new_ones",                         0},
};

static bool has_tensor(const struct tc_plan_value *v, const struct tc_plan_tensor *t)
{
    bool found = v->kind == TC_PLAN_TENSOR && v->tensor == t;

    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n && !found; i++)
        found = has_tensor(&v->items[i], t);
    return found;
}

bool tc_rule_reads_size_only(const struct tc_plan_op *op, const struct tc_plan_tensor *t)
{
    bool is_named = false;

    if (op->rule == &tc_rule_unknown || op->rule->kind > TC_RULE_ELEMENTWISE)
        return false;
    for (uint32_t k = 0; k < op->n_args && !is_named; k++)
        is_named = has_tensor(&op->args[k], t);
    for (size_t i = 0; i < sizeof(sizes_only) / sizeof(*sizes_only) && is_named; i++)
        if (!strcmp(op->rule->name, sizes_only[i].rule) &&
            has_tensor(&op->args[sizes_only[i].argument], t))
            return true;
    return !is_named;
}

const struct tc_rule *tc_rule_get(size_t i)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const struct tc_rule *rule = tables[t]; rule->name; rule++)
            if (i-- == 0)
                return rule;
    return NULL;
}
