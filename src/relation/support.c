/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.c - the table of supports as numbers
 */
#include "relation/support.h"

unsigned tc_support_pipelines(enum tc_support support)
{
    static const unsigned pipelines[TC_N_SUPPORTS] = {
#define X(name, pipelines, why, origin, claims) [TC_SUPPORT_##name] = (pipelines),
        TC_SUPPORT_MAP(X)
#undef X
    };

    return pipelines[support];
}
