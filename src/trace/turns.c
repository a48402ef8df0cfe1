/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.c - a binary heap over files, by (step, time, number)
 *
 * The number of the file decides in the end, so the order is total and the same for each run.
 */
#include "trace/turns.h"

#include <stdbool.h>

static bool is_before(const struct tc_turn *a, const struct tc_turn *b)
{
    if (a->step != b->step)
        return a->step < b->step;
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->member < b->member;
}

void tc_turns_push(struct tc_turns *turns, struct tc_turn turn)
{
    struct tc_turn *heap;
    size_t at = turns->heap.n;

    tc_vec_push(&turns->heap, turn);
    heap = turns->heap.items;
    for (; at && is_before(&turn, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = turn;
}

const struct tc_turn *tc_turns_first(const struct tc_turns *turns)
{
    return turns->heap.n ? turns->heap.items : NULL;
}

void tc_turns_pop(struct tc_turns *turns)
{
    struct tc_turn *heap = turns->heap.items, last = heap[--turns->heap.n];
    size_t n = turns->heap.n, at = 0;

    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (is_before(&last, &heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
}

void tc_turns_release(struct tc_turns *turns)
{
    tc_vec_release(&turns->heap);
}
