/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_number.h - the bits of digests, of floating point numbers, and of an answer of two
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_NUMBER_H
#define TC_COLLECT_KERNEL_NUMBER_H

/* ---- digests: see lanes.h ---- */

DEVICE tc_u64 mix(tc_u64 x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

DEVICE tc_u64 product(tc_u64 word, tc_u64 key)
{
    const tc_u64 x = word ^ key;

    return (x & LOW) * (x >> 32);
}

/* ---- numbers ---- */

/* Without the bits of the signs. */
DEVICE tc_u64 without_signs(tc_u32 number, tc_u64 word)
{
    return word & (number == F64   ? 0x7fffffffffffffffull
                   : number == F32 ? 0x7fffffff7fffffffull
                                   : 0x7fff7fff7fff7fffull);
}

DEVICE tc_u64 larger(tc_u64 a, tc_u64 b)
{
    return a > b ? a : b;
}

/* Of the two halves, or four quarters, each for itself. */
DEVICE tc_u64 larger_of_each(tc_u32 number, tc_u64 a, tc_u64 b)
{
    if (number == F64)
        return larger(a, b);
    if (number == F32)
        return larger(a & LOW, b & LOW) | larger(a >> 32, b >> 32) << 32;
#if defined(__HIP__)
    return (tc_u64)((tc_quarters)a > (tc_quarters)b ? (tc_quarters)a : (tc_quarters)b);
#elif TC_KERNEL_ON_DEVICE
    return (tc_u64)__vmaxu2((tc_u32)(a >> 32), (tc_u32)(b >> 32)) << 32 |
           __vmaxu2((tc_u32)a, (tc_u32)b);
#else
    return larger(a & 0xffff, b & 0xffff) | larger(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16 |
           larger(a >> 32 & 0xffff, b >> 32 & 0xffff) << 32 | larger(a >> 48, b >> 48) << 48;
#endif
}

/* A number whose bits are not below these is none, or infinite. */
DEVICE tc_u64 infinity_of(tc_u32 number)
{
    return number == F64    ? 0x7ff0000000000000ull
           : number == F32  ? 0x7f800000ull
           : number == BF16 ? 0x7f80ull
                            : 0x7c00ull;
}

DEVICE tc_u32 bits_of(tc_u32 number)
{
    return number == F64 ? 64u : number == F32 ? 32u : 16u;
}

/* The largest of the numbers of a word. */
DEVICE tc_u64 largest_in(tc_u32 number, tc_u64 word)
{
    const tc_u32 bits = bits_of(number);
    tc_u64 x = 0;

    if (bits == 64)
        return word;
    for (tc_u32 shift = 0; shift < 64; shift += bits)
        x = larger(x, word >> shift & ((1ull << bits) - 1));
    return x;
}

SELDOM tc_u32 flags_of(tc_u32 number, tc_u64 word, tc_u32 left)
{
    const tc_u32 bits = bits_of(number);
    const tc_u64 infinity = infinity_of(number), sign = 1ull << (bits - 1);
    tc_u32 flags = 0;

    for (tc_u32 shift = 0; shift < 8 * left; shift += bits) {
        const tc_u64 x = word >> shift & (sign | (sign - 1));

        flags |= (x & (sign - 1)) < infinity ? TC_KERNEL_NUMBER
                 : x == (sign | infinity)    ? TC_KERNEL_LOWEST
                                             : TC_KERNEL_INFINITE;
    }
    return flags;
}

/* IEEE 754 binary16 without its sign, as bits of a float. */
DEVICE tc_u64 float_of_half(tc_u64 bits)
{
    const tc_u64 fraction = bits & 0x3ff, exponent = bits >> 10;
    tc_u64 shifts = 0;

    if (exponent == 31)
        return 0x7f800000ull | fraction << 13;
    if (exponent)
        return (exponent + 112) << 23 | fraction << 13;
    if (!fraction)
        return 0;
    while (!(fraction << shifts & 0x400))
        shifts++;
    return (113 - shifts) << 23 | (fraction << shifts & 0x3ff) << 13;
}

DEVICE tc_u64 answer_of_largest(tc_u32 number, tc_u64 largest)
{
    const tc_u64 bits = largest_in(number, largest);

    return number == F16 ? float_of_half(bits) : number == BF16 ? bits << 16 : bits;
}

/* Bits of numbers, but for the sign, are in the order of the numbers: those of negative ones turned
 * round compare as integers, a negative zero as -1. The same turns them back. */
DEVICE tc_i64 key_of(tc_u32 number, tc_i64 bits)
{
    return bits < 0 ? bits ^ (tc_i64)((1ull << (bits_of(number) - 1)) - 1) : bits;
}

DEVICE int is_finite(tc_u32 number, tc_i64 bits)
{
    return ((tc_u64)bits & ((1ull << (bits_of(number) - 1)) - 1)) < infinity_of(number);
}

/* Returns the words. */
DEVICE tc_u64 put_pair(tc_u64 *at, tc_u32 item_size, tc_u64 a, tc_u64 b)
{
    if (item_size == 8) {
        at[0] = a;
        at[1] = b;
        return 2;
    }
    at[0] = (a & LOW) | b << 32;
    return 1;
}

#endif /* TC_COLLECT_KERNEL_NUMBER_H */
