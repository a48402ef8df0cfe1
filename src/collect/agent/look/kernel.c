/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - what is asked of the tensors of a look, in one launch
 *
 * One source for the devices of two vendors, which NVRTC or hipRTC compiles where the agent runs,
 * and for the tests, which compile it as C. It is in parts, `kernel_*.h`, and kernel_device.h holds
 * what differs between compilers. The state of a block is one struct. A block works off phases:
 * EACH_THREAD(t) { ... } is a loop over threads in C. On the device it is the work of one thread
 * and a barrier.
 *
 * 32 threads, a warp, read a chunk (lanes.h) in vectors of two words. As a stripe has four such
 * vectors, each thread has the same two lanes all the time, and its sums stay in registers. Threads
 * hear of each other behind barriers alone: that AMD's run in groups of 64, or of 32, matters not.
 */
#if !defined(__CUDACC_RTC__) && !defined(__HIP__) /* there these stand before this text */
#    include "collect/agent/look/kernel.h"
#    include "collect/agent/look/kernel_device.h"
#    include "collect/agent/look/kernel_memory.h"
#    include "collect/agent/look/kernel_number.h"
#    include "collect/agent/look/kernel_range.h"
#    include "collect/agent/look/kernel_scale.h"
#    include "collect/agent/look/kernel_tile.h"
#endif

/* They begin as zero; where one tile is all there is, they need not. */
DEVICE void put(tc_u64 *answers, const struct tc_kernel_item *item, tc_u32 flag, tc_u64 x)
{
    tc_u64 *at = answers + tc_kernel_at(item, flag);

    if (!(item->what & flag))
        return;
    if (item->size <= item->tile)
        *at = x;
    else if (flag == TC_KERNEL_DIGEST)
        ATOMIC_ADD(at, x);
    else if (flag == TC_KERNEL_MAGNITUDE)
        ATOMIC_MAX(at, x);
    else
        ATOMIC_OR(at, x);
}

/* The half of a word, or the second word, is that of the first tile. */
DEVICE void put_first(tc_u64 *answers, const struct block *s, tc_u32 number)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 differs = s->found[0].differs & TC_KERNEL_FIRST;

    if (item->item_size == 8 && number == 0 && (item->what & TC_KERNEL_FIRST))
        answers[tc_kernel_at(item, TC_KERNEL_FIRST) + 1] = s->first;
    put(answers, item, TC_KERNEL_FIRST,
        item->item_size == 8 || number ? differs : differs | s->first << 32);
}

/* And nothing in the other half of the last word. */
DEVICE void put_row(const struct block *s, tc_u32 number, tc_u32 *rows)
{
    const struct tc_kernel_item *item = &s->item;

    rows[number] =
        (tc_u32)(item->n_pieces ? s->digest : digest_of(s->found[0].digest, item->size, 0));
    if (number + 1 == item->n_rows && item->n_rows % 2)
        rows[item->n_rows] = 0;
}

DEVICE void put_digest(const struct block *s, tc_u32 number, tc_u64 *answers)
{
    if (s->item.what & TC_KERNEL_STRIPES)
        answers[0] = s->digest;
    else if (s->item.what & TC_KERNEL_ROWS)
        put_row(s, number, (tc_u32 *)(void *)answers);
    else
        put(answers, &s->item, TC_KERNEL_DIGEST, s->found[0].digest);
}

DEVICE void put_all(const struct block *s, tc_u32 number, tc_u64 *answers)
{
    const struct tc_kernel_item *item = &s->item;
    const struct found *found = &s->found[0];

    put_digest(s, number, answers);
    put(answers, item, TC_KERNEL_MAGNITUDE, answer_of_largest(item->number, found->largest));
    put(answers, item, TC_KERNEL_FINITE, found->flags);
    put(answers, item, TC_KERNEL_SAME, found->differs & TC_KERNEL_SAME);
    put_first(answers, s, number);
}

DEVICE void work(struct block *s, const struct tc_kernel_item *items,
                 const struct tc_kernel_tile *tile, tc_u64 *out)
{
    tc_u64 *answers = out + items[tile->item].at / 8;

    begin(s, items, tile);
    if (s->item.n_pieces)
        take_pieces(s);
    else if (s->item.what & BY_TILES)
        take_tile(s, s->item.n_rows ? 0 : tile->number * s->item.tile, out);
    gather_found(s);
    EACH_THREAD(t)
    {
        if (t == 0)
            put_all(s, tile->number, answers);
    }
    if (s->item.what & (TC_KERNEL_SUMMARY | TC_KERNEL_RANGE))
        count_elements(s, answers);
    if ((s->item.what & TC_KERNEL_SCALE) && tile->number == 0)
        scale(s, answers);
}

#if TC_KERNEL_ON_DEVICE
extern "C" __global__ void __launch_bounds__(TC_KERNEL_THREADS)
    tc_look(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles, tc_u64 *out)
{
    __shared__ struct block s;

    work(&s, items, tiles + blockIdx.x, out);
}
#else
void tc_kernel_block(const struct tc_kernel_item *items, const struct tc_kernel_tile *tiles,
                     tc_u64 *out, tc_u32 block)
{
    struct block s;

    work(&s, items, tiles + block, out);
}
#endif
