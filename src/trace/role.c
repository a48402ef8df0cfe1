/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role.c - names and traits of roles, from one map
 *
 * A text that is no role is FUNCTION: a trace of a newer collector stays readable.
 */
#include "trace/role.h"

static const struct {
    const char *text;
    unsigned traits;
} roles[] = {
#define X(name, text, traits) [TC_ROLE_##name] = {(text), (traits)},
    TC_ROLE_MAP(X)
#undef X
};

enum tc_role tc_role_parse(struct tc_str text)
{
    for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (tc_str_is(text, roles[i].text))
            return (enum tc_role)i;
    return TC_ROLE_FUNCTION;
}

const char *tc_role_text(enum tc_role role)
{
    return roles[role].text;
}

bool tc_role_has(enum tc_role role, enum tc_trait trait)
{
    return roles[role].traits & trait;
}
