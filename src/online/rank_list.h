/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_list.h - the numbers of ranks as words
 */
#ifndef TC_ONLINE_RANK_LIST_H
#define TC_ONLINE_RANK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TC_RANK_LIST_MAX 16 /* that are named; of the others the number is reported */

/* "rank 1", "ranks 0, 2 and 3", "ranks 0, 1, ... and 183 more" */
void tc_rank_list_add(const int64_t *ranks, size_t n, struct tc_strbuf *out);

#endif /* TC_ONLINE_RANK_LIST_H */
