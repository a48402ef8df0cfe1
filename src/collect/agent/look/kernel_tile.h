/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_tile.h - what a block finds in the words of a tile, and the digests of pieces
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_TILE_H
#define TC_COLLECT_KERNEL_TILE_H

/* Repeated up to a word. */
DEVICE tc_u64 first_of(const struct tc_kernel_item *item)
{
    const tc_u64 element = load_some(item->data, item->item_size);
    tc_u64 word = element;

    for (tc_u32 k = item->item_size; k < 8; k += item->item_size)
        word |= element << 8 * k;
    return word;
}

/* From here on the item is one of its rows. */
DEVICE void take_row(struct tc_kernel_item *item, tc_u64 row)
{
    item->size /= item->n_rows;
    item->tile = item->size;
    if (item->n_dims)
        item->begins = row * (item->size / item->item_size);
    else
        item->data += row * item->size;
}

DEVICE void begin(struct block *s, const struct tc_kernel_item *items,
                  const struct tc_kernel_tile *tile)
{
    EACH_THREAD(t)
    {
        const tc_u64 *from = (const tc_u64 *)(const void *)&items[tile->item];

        for (tc_u32 i = t; i < CHUNK_WORDS; i += TC_KERNEL_THREADS)
            s->keys[i] = mix((i + 1) * GOLDEN);
        if (t < sizeof(s->item) / 8)
            ((tc_u64 *)(void *)&s->item)[t] = from[t];
        s->found[t].digest = s->found[t].largest = 0;
        s->found[t].flags = s->found[t].differs = 0;
    }
    EACH_THREAD(t)
    {
        if (t == 0) {
            s->first = (s->item.what & TC_KERNEL_FIRST) && s->item.size ? first_of(&s->item) : 0;
            s->bytes_at = s->item.at / 8 + tc_kernel_at(&s->item, TC_KERNEL_BYTES);
            s->digest = s->item.seed;
            if (s->item.what & TC_KERNEL_ROWS)
                take_row(&s->item, tile->number);
        }
    }
}

/* What is asked of each word. */
#define BY_WORDS (TC_KERNEL_FINITE | TC_KERNEL_SAME | TC_KERNEL_FIRST | TC_KERNEL_BYTES)
/* And what a tile is read for. */
#define BY_TILES (BY_WORDS | TC_KERNEL_DIGEST | TC_KERNEL_MAGNITUDE | TC_KERNEL_ROWS)

/* What else than sums and magnitudes is asked of the word at this byte. */
SELDOM void take_word(const struct block *s, struct found *found, tc_u64 byte, tc_u64 word,
                      tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u32 left = left_of(item->size, byte);
    const tc_u64 mask = left == 8 ? ~0ull : (1ull << 8 * left) - 1;

    if (!left)
        return;
    if (item->what & TC_KERNEL_FINITE)
        found->flags |= flags_of(item->number, word, left);
    if ((item->what & TC_KERNEL_SAME) && word != load_some(item->other + byte, left))
        found->differs |= TC_KERNEL_SAME;
    if ((item->what & TC_KERNEL_FIRST) && ((word ^ s->first) & mask))
        found->differs |= TC_KERNEL_FIRST;
    if (item->what & TC_KERNEL_BYTES)
        out[s->bytes_at + byte / 8] = word;
}

DEVICE void add_products(const struct block *s, tc_u64 *sums, tc_u32 v, struct pair p)
{
    sums[0] += product(p.a, s->keys[2 * v]) + p.b;
    sums[1] += product(p.b, s->keys[2 * v + 1]) + p.a;
}

DEVICE void take_pair(const struct block *s, struct found *found, tc_u64 *sums, tc_u32 v,
                      struct pair p)
{
    const tc_u32 number = s->item.number;

    add_products(s, sums, v, p);
    if (s->item.what & TC_KERNEL_MAGNITUDE)
        found->largest = larger_of_each(
            number, found->largest,
            larger_of_each(number, without_signs(number, p.a), without_signs(number, p.b)));
}

/* A chunk of which all is there, in one piece, on multiples of `by`. */
DEVICE void take_whole(const struct block *s, tc_u32 t, tc_u64 byte, tc_u32 by, struct found *found,
                       tc_u64 *sums)
{
    UNROLL
    for (tc_u32 k = 0; k < VECTORS; k++) {
        const tc_u32 v = t % WARP + WARP * k;

        take_pair(s, found, sums, v, load_pair(s->item.data + byte + 16 * v, by));
    }
}

/* by is 0 where the chunk is none of these. */
SELDOM void take_any(const struct block *s, tc_u32 t, tc_u64 byte, tc_u32 by, struct found *found,
                     tc_u64 *sums, tc_u64 *out)
{
    ROLL for (tc_u32 k = 0; k < VECTORS; k++)
    {
        const tc_u32 v = t % WARP + WARP * k;
        const tc_u64 at = byte + 16 * v;
        struct pair p;

        if (by) {
            p = load_pair(s->item.data + at, by);
        } else {
            p.a = word_at(&s->item, at);
            p.b = word_at(&s->item, at + 8);
        }
        take_pair(s, found, sums, v, p);
        if (s->item.what & BY_WORDS) {
            take_word(s, found, at, p.a, out);
            take_word(s, found, at + 8, p.b, out);
        }
    }
}

/* The chunk of a warp. */
DEVICE void take_chunk(struct block *s, tc_u32 t, tc_u32 slot, tc_u64 byte, tc_u32 by, tc_u64 *out)
{
    const int is_more = (s->item.what & BY_WORDS) != 0;
    struct found found = s->found[t];
    tc_u64 sums[2] = {0, 0};

    if (byte + CHUNK > s->item.size)
        by = 0;
    if (by == 16 && !is_more)
        take_whole(s, t, byte, 16, &found, sums);
    else if (by == 4 && !is_more)
        take_whole(s, t, byte, 4, &found, sums);
    else
        take_any(s, t, byte, by, &found, sums, out);
    s->found[t] = found;
    s->room.sums[slot][t % WARP][0] = sums[0];
    s->room.sums[slot][t % WARP][1] = sums[1];
}

/* What the addresses of the tensor are multiples of: 16 or 4, 0 where it is read word by word. */
DEVICE tc_u32 alignment_of(const struct tc_kernel_item *item)
{
    if (item->n_dims)
        return 0;
    return item->data % 16 == 0 ? 16 : item->data % 4 == 0 ? 4 : 0;
}

/* What a lane of a chunk in hand adds to the digest. */
DEVICE tc_u64 placed(const struct block *s, tc_u32 slot, tc_u32 lane, tc_u64 chunk)
{
    tc_u64 sum = 0;

    for (tc_u32 j = 0; j < LANES; j++)
        sum += s->room.sums[slot][lane / 2 + 4 * j][lane % 2];
    return mix(sum + (chunk * LANES + lane + 1) * GOLDEN);
}

DEVICE void place_lanes(struct block *s, tc_u32 t, tc_u64 first_chunk, tc_u32 n_chunks)
{
    const tc_u32 slot = t / LANES;

    if (slot < n_chunks)
        s->found[t].digest += placed(s, slot, t % LANES, first_chunk + slot);
}

DEVICE void take_tile(struct block *s, tc_u64 from, tc_u64 *out)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 end = from + item->tile < item->size ? from + item->tile : item->size;
    const tc_u32 by = alignment_of(item);

    for (tc_u64 at = from; at < end; at += TC_KERNEL_GROUP) {
        const tc_u64 chunks = (end - at + CHUNK - 1) / CHUNK;
        const tc_u32 n = chunks < TC_KERNEL_CHUNKS ? (tc_u32)chunks : TC_KERNEL_CHUNKS;

        EACH_THREAD(t)
        {
            for (tc_u32 slot = t / WARP; slot < n; slot += N_WARPS)
                take_chunk(s, t, slot, at + slot * CHUNK, by, out);
        }
        EACH_THREAD(t)
        {
            if (item->what & (TC_KERNEL_DIGEST | TC_KERNEL_ROWS))
                place_lanes(s, t, at / CHUNK, n);
        }
    }
}

/* What all threads have found, to the first. */
DEVICE void gather_found(struct block *s)
{
    for (tc_u32 half = TC_KERNEL_THREADS / 2; half; half /= 2)
        EACH_THREAD(t)
        {
            if (t < half) {
                struct found *to = &s->found[t];
                const struct found *from = &s->found[t + half];

                to->digest += from->digest;
                to->largest = larger_of_each(s->item.number, to->largest, from->largest);
                to->flags |= from->flags;
                to->differs |= from->differs;
            }
        }
}

/* ---- digests of pieces ---- */

/* Of data of that size. */
DEVICE tc_u64 digest_of(tc_u64 sum, tc_u64 size, tc_u64 seed)
{
    return mix(sum + mix(seed + (size + 1) * GOLDEN));
}

/* Where piece i begins (digest.h). */
DEVICE tc_u64 piece_at(const struct tc_kernel_item *item, tc_u64 i)
{
    const tc_u64 last = item->n_pieces - 1;

    if (!(item->what & TC_KERNEL_STRIPES))
        return (item->size - item->piece_size) * i / last;
    return i < last ? i * (item->size / last) : item->size - item->piece_size;
}

/* By a warp. */
DEVICE void take_piece(struct block *s, tc_u32 t, tc_u32 slot, tc_u64 number)
{
    const tc_u64 from = s->item.data + piece_at(&s->item, number);
    tc_u64 sums[2] = {0, 0};

    ROLL for (tc_u32 k = 0; k < VECTORS; k++)
    {
        const tc_u32 v = t % WARP + WARP * k, size = s->item.piece_size;
        struct pair p;

        p.a = load_some(from + 16 * v, left_of(size, 16 * v));
        p.b = load_some(from + 16 * v + 8, left_of(size, 16 * v + 8));
        add_products(s, sums, v, p);
    }
    s->room.sums[slot][t % WARP][0] = sums[0];
    s->room.sums[slot][t % WARP][1] = sums[1];
}

/* Of those in hand, each of which is the first chunk of its piece. */
DEVICE void sum_piece(struct block *s, tc_u32 slot)
{
    tc_u64 sum = 0;

    ROLL for (tc_u32 lane = 0; lane < LANES; lane++) sum += placed(s, slot, lane, 0);
    s->pieces[slot] = sum;
}

/* The digest of one is the seed of the next. */
SELDOM void take_pieces(struct block *s)
{
    for (tc_u32 first = 0; first < s->item.n_pieces; first += TC_KERNEL_CHUNKS) {
        const tc_u32 left = s->item.n_pieces - first;
        const tc_u32 n = left < TC_KERNEL_CHUNKS ? left : TC_KERNEL_CHUNKS;

        EACH_THREAD(t)
        {
            for (tc_u32 slot = t / WARP; slot < n; slot += N_WARPS)
                take_piece(s, t, slot, first + slot);
        }
        EACH_THREAD(t)
        {
            if (t < n)
                sum_piece(s, t);
        }
        EACH_THREAD(t)
        {
            for (tc_u32 i = 0; t == 0 && i < n; i++)
                s->digest = digest_of(s->pieces[i], s->item.piece_size, s->digest);
        }
    }
}

#endif /* TC_COLLECT_KERNEL_TILE_H */
