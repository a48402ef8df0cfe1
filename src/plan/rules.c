/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - finding the rule of an operator
 */
#include "plan/rules.h"

#include <string.h>

static const struct tc_rule *const tables[] = {
    tc_rules_elementwise, tc_rules_function,   tc_rules_reduce,      tc_rules_copy,
    tc_rules_fill,        tc_rules_linear,     tc_rules_norm,        tc_rules_index,
    tc_rules_loss,        tc_rules_attention,  tc_rules_convolution, tc_rules_pool,
    tc_rules_optimizer,   tc_rules_random,     tc_rules_fsdp,        tc_rules_collective,
    tc_rules_sort,        tc_rules_activation,
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

const struct tc_rule *tc_rule_get(size_t i)
{
    for (size_t t = 0; t < N_TABLES; t++)
        for (const struct tc_rule *rule = tables[t]; rule->name; rule++)
            if (i-- == 0)
                return rule;
    return NULL;
}
