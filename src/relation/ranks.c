/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.c - a bit set that grows to the highest rank
 */
#include "relation/ranks.h"

#include <string.h>

#include "base/vec.h"

bool tc_ranks_have(const struct tc_ranks *ranks, int64_t rank)
{
    size_t word = (size_t)rank / 64;

    return word < ranks->n_words && ranks->words[word] >> rank % 64 & 1;
}

void tc_ranks_add(struct tc_ranks *ranks, int64_t rank)
{
    size_t word = (size_t)rank / 64, n_words = word + 1;

    if (tc_ranks_have(ranks, rank))
        return;
    if (n_words > ranks->n_words) {
        ranks->words = tc_realloc(ranks->words, n_words * sizeof(*ranks->words));
        memset(ranks->words + ranks->n_words, 0,
               (n_words - ranks->n_words) * sizeof(*ranks->words));
        ranks->n_words = n_words;
    }
    ranks->words[word] |= UINT64_C(1) << rank % 64;
    ranks->n++;
}

void tc_ranks_remove(struct tc_ranks *ranks, int64_t rank)
{
    if (!tc_ranks_have(ranks, rank))
        return;
    ranks->words[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    ranks->n--;
}

void tc_ranks_release(struct tc_ranks *ranks)
{
    tc_free(ranks->words);
    *ranks = (struct tc_ranks){0};
}
