/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.c - operators of two programs that are nearly the same
 *
 * One rank counts what is replicated, logs, or draws a number more: its program is another one. Its
 * operators stand for those of the others that have the same name, line and module and read what
 * such operators made.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "base/hash.h"

#define ROUNDS 3 /* of operands that are looked at */

static uint64_t text_key(const char *text, uint64_t key)
{
    return tc_hash64(text, strlen(text), key);
}

/* After each round one more level of operands is in the key. */
static uint64_t *keys_of(const struct tc_plan_rank *rank, const struct tc_story_node *nodes,
                         unsigned rounds)
{
    size_t n = rank->program->ops.n;
    uint64_t *keys = tc_calloc(n + 1, sizeof(*keys)), *next = tc_calloc(n + 1, sizeof(*next));

    for (size_t i = 0; i < n; i++) {
        const struct tc_plan_op *op = &rank->program->ops.items[i];
        keys[i] = text_key(op->name, text_key(op->src, text_key(op->node, text_key(op->mod, 1))));
    }
    for (; rounds > 0; rounds--) {
        for (size_t i = 0; i < n; i++) {
            next[i] = keys[i];
            for (uint32_t k = 0; k < nodes[i].n_deps; k++)
                next[i] = tc_hash_mix(next[i], keys[nodes[i].deps[k]], k);
            for (uint32_t k = 0; k < nodes[i].n_inits; k++)
                next[i] = tc_hash_mix(next[i], nodes[i].inits[k]->name, k);
        }
        memcpy(keys, next, n * sizeof(*keys));
    }
    tc_free(next);
    return keys;
}

/* Those of equal keys in their order, as far as neither has a partner yet. */
static uint32_t pair(const uint64_t *own, size_t n_own, const uint64_t *other, size_t n_other,
                     uint32_t *known_as, uint8_t *is_taken)
{
    struct tc_map first = TC_MAP_INIT; /* key -> 1 + the first operator that is left */
    uint32_t *next = tc_calloc(n_own + 1, sizeof(*next)), n = 0;

    for (size_t i = n_own; i-- > 0;) {
        if (is_taken[i])
            continue;
        uint64_t *head = tc_map_at(&first, own[i], &(bool){0});
        next[i] = (uint32_t)*head;
        *head = i + 1;
    }
    for (size_t i = 0; i < n_other; i++) {
        uint64_t head;
        if (known_as[i] != TC_NO_OP || !tc_map_get(&first, other[i], &head) || !head)
            continue;
        known_as[i] = (uint32_t)head - 1;
        is_taken[head - 1] = 1;
        tc_map_put(&first, other[i], next[head - 1]);
        n++;
    }
    tc_map_release(&first);
    tc_free(next);
    return n;
}

const uint32_t *tc_story_align(struct tc_story *s, const struct tc_plan_rank *rank)
{
    size_t n_own = s->program->ops.n, n_other = rank->program->ops.n;
    struct tc_story_node *own = tc_story_find_nodes(s, s->rank);
    struct tc_story_node *other = tc_story_find_nodes(s, rank);
    uint32_t *known_as = tc_arena_alloc(&s->arena, (n_other + 1) * sizeof(*known_as)), n = 0;
    uint8_t *is_taken = tc_calloc(n_own + 1, 1);

    for (size_t i = 0; i < n_other; i++)
        known_as[i] = TC_NO_OP;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t *keys = keys_of(s->rank, own, pass ? 0 : ROUNDS);
        uint64_t *others = keys_of(rank, other, pass ? 0 : ROUNDS);
        n += pair(keys, n_own, others, n_other, known_as, is_taken);
        tc_free(keys);
        tc_free(others);
    }
    tc_free(is_taken);
    tc_free(own);
    tc_free(other);
    return n >= n_own / 2 && n >= n_other / 2 ? known_as : NULL;
}
