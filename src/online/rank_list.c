/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_list.c - the first numbers, and how many more there are
 */
#include "online/rank_list.h"

void tc_rank_list_add(const int64_t *ranks, size_t n, struct tc_strbuf *out)
{
    const size_t told = n < TC_RANK_LIST_MAX ? n : TC_RANK_LIST_MAX;

    tc_strbuf_adds(out, n == 1 ? "rank " : "ranks ");
    for (size_t i = 0; i < told; i++) {
        if (i)
            tc_strbuf_adds(out, i + 1 == n ? " and " : ", ");
        tc_strbuf_addf(out, "%lld", (long long)ranks[i]);
    }
    if (n > told)
        tc_strbuf_addf(out, " and %zu more", n - told);
}
