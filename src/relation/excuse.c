/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excuse.c - the table of excuses as rows, and sets of them as bits
 */
#include "relation/excuse.h"

_Static_assert(TC_N_EXCUSES <= 64, "a set of excuses has 64 bits");

const struct tc_excuse_row *tc_excuse_row(enum tc_excuse excuse)
{
    static const struct tc_excuse_row rows[TC_N_EXCUSES] = {
#define X(name, text, about, why, forced_by, test) \
    [TC_EXCUSE_##name] = {(text), (tc_sym)(about), (why), (forced_by), (test)},
        TC_EXCUSE_MAP(X)
#undef X
    };

    return &rows[excuse];
}

bool tc_excuse_covers(enum tc_excuse excuse, tc_sym attr)
{
    tc_sym about = tc_excuse_row(excuse)->about;

    return about == TC_NO_SYM || about == attr;
}

enum tc_excuse tc_excuse_first(tc_excuses set, tc_sym attr)
{
    for (unsigned i = TC_EXCUSE_NONE + 1; set >> i; i++)
        if (set >> i & 1 && tc_excuse_covers((enum tc_excuse)i, attr))
            return (enum tc_excuse)i;
    return TC_EXCUSE_NONE;
}
