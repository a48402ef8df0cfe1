/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - a set of ranks, a bit each
 *
 * All zero is the empty set. Ranks are not negative; the highest one decides about the memory.
 */
#ifndef TC_RELATION_RANKS_H
#define TC_RELATION_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_ranks {
    uint64_t *words;
    size_t n_words;
    int64_t n; /* that are in it */
};

bool tc_ranks_have(const struct tc_ranks *ranks, int64_t rank);
void tc_ranks_add(struct tc_ranks *ranks, int64_t rank);
void tc_ranks_remove(struct tc_ranks *ranks, int64_t rank);
void tc_ranks_release(struct tc_ranks *ranks);

#endif /* TC_RELATION_RANKS_H */
