/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_scale.h - root of the mean square, smallest and largest of some elements: SCALE
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_SCALE_H
#define TC_COLLECT_KERNEL_SCALE_H

DEVICE double double_of_bits(tc_u64 bits)
{
#if TC_KERNEL_ON_DEVICE
    return __longlong_as_double((tc_i64)bits);
#else
    double x;

    memcpy(&x, &bits, sizeof(x));
    return x;
#endif
}

DEVICE tc_u64 bits_of_double(double x)
{
#if TC_KERNEL_ON_DEVICE
    return (tc_u64)__double_as_longlong(x);
#else
    tc_u64 bits;

    memcpy(&bits, &x, sizeof(x));
    return bits;
#endif
}

DEVICE double double_of_float(tc_u32 bits)
{
#if TC_KERNEL_ON_DEVICE
    return (double)__uint_as_float(bits);
#else
    float x;

    memcpy(&x, &bits, sizeof(x));
    return (double)x;
#endif
}

DEVICE double number_of(tc_u32 number, tc_u64 bits)
{
    const tc_u32 width = bits_of(number);
    const tc_u64 magnitude = bits & ((1ull << (width - 1)) - 1);
    const tc_u32 sign = (tc_u32)(bits >> (width - 1)) << 31;

    if (number == F64)
        return double_of_bits(bits);
    return double_of_float(sign | (tc_u32)(number == F16    ? float_of_half(magnitude)
                                           : number == BF16 ? magnitude << 16
                                                            : magnitude));
}

/* Of 32 bits what a pair of them holds: min and max are numbers of the tensor, but for halves. */
DEVICE tc_u64 bits_for_pair(const struct tc_kernel_item *item, double x)
{
#if TC_KERNEL_ON_DEVICE
    return item->item_size == 8 ? bits_of_double(x) : (tc_u64)__float_as_uint((float)x);
#else
    const float single = (float)x;
    tc_u32 bits;

    memcpy(&bits, &single, sizeof(bits));
    return item->item_size == 8 ? bits_of_double(x) : bits;
#endif
}

/* Each rounded by itself: the CPU says the same, in the same order. */
DEVICE double add_square(double sum, double x)
{
    NO_FUSING
    const double square = MULTIPLY(x, x);

    return sum + square;
}

#define ONE_F64 (1ull << 52) /* the bit above those of a fraction */

/* Of a number that is neither negative nor none, rounded to the nearest: not all devices' own is.
 * Digit by digit, of twice as many as the root has and of one more that says how to round. */
SELDOM double root_of(double x)
{
    const tc_u64 bits = bits_of_double(x);
    int exponent = (int)(bits >> 52);
    tc_u64 digits = exponent ? (bits & (ONE_F64 - 1)) | ONE_F64 : bits, left = 0, root = 0;

    if (!bits || exponent == 0x7ff)
        return x;
    for (exponent -= 1023 - !exponent; digits < ONE_F64; digits *= 2)
        exponent--;
    if (exponent % 2) {
        digits *= 2;
        exponent--;
    }
    ROLL for (int i = 0; i < 54; i++)
    {
        const tc_u64 least = root << 2 | 1;
        tc_u32 is_one;

        left = left << 2 | (i < 27 ? digits >> (52 - 2 * i) & 3 : 0);
        is_one = left >= least;
        left -= is_one ? least : 0;
        root = root << 1 | is_one;
    }
    return double_of_bits(((tc_u64)(exponent / 2 + 1023) << 52) + ((root + 1) >> 1) - ONE_F64);
}

DEVICE int is_finite_number(double x)
{
    return is_finite(F64, (tc_i64)bits_of_double(x));
}

/* By one thread, from the first to the last, as summary.c. */
DEVICE void put_scale(const struct block *s, tc_u64 *at)
{
    const tc_u64 size = n_elements(&s->item);
    const tc_u32 n_read = size < TC_KERNEL_N_SCALED ? (tc_u32)size : TC_KERNEL_N_SCALED;
    double squares = 0, min = 0, max = 0;
    tc_u32 n = 0;

    ROLL for (tc_u32 i = 0; i < n_read; i++)
    {
        const double x = s->room.scaled[i];

        if (!is_finite_number(x))
            continue;
        min = n && min < x ? min : x;
        max = n && max > x ? max : x;
        n++;
        squares = add_square(squares, x);
    }
    at[0] = bits_of_double(n ? root_of(squares / n) : -1.0);
    put_pair(at + 1, s->item.item_size, bits_for_pair(&s->item, min), bits_for_pair(&s->item, max));
}

/* As tc_scaled_at(). */
DEVICE tc_u64 scaled_at(tc_u64 n, tc_u64 i)
{
    const tc_u64 scattered = i * 0x9E3779B1u >> 16 & 0xFFFF;

    return n < TC_KERNEL_N_SCALED
               ? i
               : i * n / TC_KERNEL_N_SCALED + (scattered * (n / TC_KERNEL_N_SCALED) >> 16);
}

SELDOM void scale(struct block *s, tc_u64 *answers)
{
    const struct tc_kernel_item *item = &s->item;
    const tc_u64 n = n_elements(item);

    EACH_THREAD(t)
    {
        const tc_u64 n_read = n < TC_KERNEL_N_SCALED ? n : TC_KERNEL_N_SCALED;

        for (tc_u64 i = t; i < n_read; i += TC_KERNEL_THREADS)
            s->room.scaled[i] = number_of(item->number, (tc_u64)element_at(item, scaled_at(n, i)) &
                                                            (~0ull >> (64 - 8 * item->item_size)));
    }
    EACH_THREAD(t)
    {
        if (t == 0)
            put_scale(s, answers + tc_kernel_at(item, TC_KERNEL_SCALE));
    }
}

#endif /* TC_COLLECT_KERNEL_SCALE_H */
