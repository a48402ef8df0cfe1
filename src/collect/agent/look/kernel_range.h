/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_range.h - the elements of a tensor counted: SUMMARY and RANGE
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_RANGE_H
#define TC_COLLECT_KERNEL_RANGE_H

/* Elements that a thread reads before it looks at them: memory takes long to answer. */
#define AHEAD 4u

DEVICE void read_ahead(const struct tc_kernel_item *item, tc_u64 i, tc_u64 n, tc_u64 *x)
{
    UNROLL
    for (tc_u32 k = 0; k < AHEAD; k++)
        x[k] = i + k * TC_KERNEL_THREADS < n ? bits_at(item, i + k * TC_KERNEL_THREADS) : 0;
}

DEVICE void count_number(struct counted *c, tc_u32 number, tc_i64 bits)
{
    const tc_i64 key = key_of(number, bits);

    if (!is_finite(number, bits))
        return;
    c->min = key < c->min ? key : c->min;
    c->max = key > c->max ? key : c->max;
    c->negative += key < -1;
    c->zero += key > 0;
    c->one++;
}

DEVICE void count_integer(struct counted *c, tc_i64 x)
{
    c->min = x < c->min ? x : c->min;
    c->max = x > c->max ? x : c->max;
    c->negative += x < 0;
    c->zero += x == 0;
    c->one += x == 1;
}

/* Is element i of a column that shows another one at first? */
DEVICE tc_u32 differs_at(const struct tc_kernel_item *item, tc_u64 i, tc_i64 x, const tc_i64 *shown)
{
    const tc_u32 column = item->n_columns ? (tc_u32)i % item->n_columns : 0;

    if (!item->n_columns)
        return 0;
    return (column == 0 && x != shown[0] ? TC_KERNEL_HAS_FIRST : 0) |
           (column == item->n_columns - 1 && x != shown[1] ? TC_KERNEL_HAS_LAST : 0);
}

DEVICE void count_one(struct counted *c, const struct tc_kernel_item *item, tc_u64 i, tc_i64 x,
                      const tc_i64 *shown)
{
    if (item->number) {
        count_number(c, item->number, x);
        return;
    }
    count_integer(c, x);
    c->differs |= differs_at(item, i, x, shown);
}

DEVICE void count_some(struct block *s, tc_u32 t)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 n = n_elements(item);
    const tc_i64 shown[2] = {element_at(item, 0),
                             element_at(item, item->n_columns ? item->n_columns - 1 : 0)};
    struct counted c = {0x7fffffffffffffffll, -0x7fffffffffffffffll - 1, 0, 0, 0, 0};

    ROLL for (tc_u64 i = t; i < n; i += AHEAD * TC_KERNEL_THREADS)
    {
        tc_u64 x[AHEAD];

        read_ahead(item, i, n, x);
        UNROLL
        for (tc_u32 k = 0; k < AHEAD; k++)
            if (i + k * TC_KERNEL_THREADS < n)
                count_one(&c, item, i + k * TC_KERNEL_THREADS, element_of(item, x[k]), shown);
    }
    s->room.counted[t] = c;
}

DEVICE void add_counted(struct counted *to, const struct counted *from)
{
    to->min = from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
    to->negative += from->negative;
    to->zero += from->zero;
    to->one += from->one;
    to->differs |= from->differs;
}

DEVICE void count_all(struct block *s)
{
    EACH_THREAD(t)
    {
        count_some(s, t);
    }
    for (tc_u32 half = TC_KERNEL_THREADS / 2; half; half /= 2)
        EACH_THREAD(t)
        {
            if (t < half)
                add_counted(&s->room.counted[t], &s->room.counted[t + half]);
        }
    EACH_THREAD(t)
    {
        if (t == 0) {
            s->counted = s->room.counted[0];
            s->n_marks = 0;
        }
    }
}

DEVICE tc_u64 span_of(const struct counted *c)
{
    return (tc_u64)c->max - (tc_u64)c->min;
}

DEVICE void mark_some(struct block *s, tc_u32 t, tc_u64 base)
{
    const tc_u64 n = n_elements(&s->item);

    ROLL for (tc_u64 i = t; i < n; i += AHEAD * TC_KERNEL_THREADS)
    {
        tc_u64 x[AHEAD];

        read_ahead(&s->item, i, n, x);
        UNROLL
        for (tc_u32 k = 0; k < AHEAD; k++) {
            const tc_u64 mark = (tc_u64)element_of(&s->item, x[k]) - (tc_u64)s->counted.min - base;

            if (i + k * TC_KERNEL_THREADS < n && mark < N_MARKS)
                ATOMIC_OR(&s->room.marks[mark / 32], 1u << mark % 32);
        }
    }
}

/* How many different ones there are. */
DEVICE void count_different(struct block *s)
{
    for (tc_u64 base = 0; base <= span_of(&s->counted); base += N_MARKS) {
        EACH_THREAD(t)
        {
            for (tc_u32 i = t; i < N_MARKS / 32; i += TC_KERNEL_THREADS)
                s->room.marks[i] = 0;
        }
        EACH_THREAD(t)
        {
            mark_some(s, t, base);
        }
        EACH_THREAD(t)
        {
            tc_u32 n = 0;

            for (tc_u32 i = t; i < N_MARKS / 32; i += TC_KERNEL_THREADS)
                n += N_BITS(s->room.marks[i]);
            ATOMIC_ADD(&s->n_marks, n);
        }
    }
}

DEVICE void put_summary(const struct block *s, tc_u64 *at)
{
    const struct tc_kernel_item *item = &s->item;
    const struct counted *c = &s->counted;
    const int is_narrow = span_of(c) < TC_KERNEL_MAX_SPAN;
    const tc_u64 none = (tc_u64)c->min - 1;
    const tc_u64 fourth =
        is_narrow ? s->n_marks - 1 : ~c->differs & (TC_KERNEL_HAS_FIRST | TC_KERNEL_HAS_LAST);

    at += put_pair(at, item->item_size, (tc_u64)c->min, (tc_u64)c->max);
    if (item->n_columns)
        at += put_pair(
            at, item->item_size,
            c->differs & TC_KERNEL_HAS_FIRST ? none : (tc_u64)element_at(item, 0),
            c->differs & TC_KERNEL_HAS_LAST ? none : (tc_u64)element_at(item, item->n_columns - 1));
    *at = (c->negative & 0xffff) | (c->zero & 0xffff) << 16 | (tc_u64)(c->one & 0xffff) << 32 |
          fourth << 48;
}

DEVICE void put_range(const struct block *s, tc_u64 *at)
{
    const struct tc_kernel_item *item = &s->item;
    const struct counted *c = &s->counted;

    at += put_pair(at, item->item_size, (tc_u64)key_of(item->number, c->min),
                   (tc_u64)key_of(item->number, c->max));
    *at = c->negative | (tc_u64)c->zero << TC_KERNEL_COUNT_BITS |
          (tc_u64)c->one << 2 * TC_KERNEL_COUNT_BITS;
}

/* SUMMARY and RANGE. */
SELDOM void count_elements(struct block *s, tc_u64 *answers)
{
    const tc_u32 flag = s->item.what & (TC_KERNEL_SUMMARY | TC_KERNEL_RANGE);

    count_all(s);
    if (flag == TC_KERNEL_SUMMARY && span_of(&s->counted) < TC_KERNEL_MAX_SPAN)
        count_different(s);
    EACH_THREAD(t)
    {
        if (t == 0 && flag == TC_KERNEL_SUMMARY)
            put_summary(s, answers + tc_kernel_at(&s->item, flag));
        else if (t == 0)
            put_range(s, answers + tc_kernel_at(&s->item, flag));
    }
}

#endif /* TC_COLLECT_KERNEL_RANGE_H */
