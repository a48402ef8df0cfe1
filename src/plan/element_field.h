/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element_field.h - elements of the field; included by element.h alone
 *
 * Numbers re + im * i with i * i = -1, both modulo p = 2^61 - 1. As -1 is no square modulo p, they
 * are a field of p * p elements: complex numbers, with the integers modulo p for the reals. Whole
 * numbers and ratios have im = 0.
 *
 * Bits 61 to 63 of re mark what is more than a number, or a number of another kind. A root is the
 * value that sqrt gave: a keyed permutation of its argument, so that squaring it gives the argument
 * back (norms of norms). What carries its exponential (carry.h) is the address of a record, in
 * which its value stands. Infinities and the undefined are no numbers at all. A double is what im
 * has the bits of; 0 and 1 are those of the field.
 */
#ifndef TC_PLAN_ELEMENT_FIELD_H
#define TC_PLAN_ELEMENT_FIELD_H

typedef struct tc_el {
    uint64_t re, im;
} tc_el;

#define TC_EL_PRIME ((UINT64_C(1) << 61) - 1)

/* Marks, and what has nothing but its mark. */
#define TC_MARK_ROOT   (UINT64_C(1) << 61)
#define TC_MARK_MINUS  (UINT64_C(1) << 62)
#define TC_MARK_PLUS   ((UINT64_C(1) << 62) | 1)
#define TC_MARK_UNDEF  (UINT64_C(1) << 63)
#define TC_MARK_CARRY  (TC_MARK_ROOT | TC_MARK_MINUS)
#define TC_MARK_DOUBLE (TC_MARK_UNDEF | TC_MARK_MINUS)

#define TC_EL_MINUS ((tc_el){TC_MARK_MINUS, 0}) /* -inf */
#define TC_EL_PLUS  ((tc_el){TC_MARK_PLUS, 0})  /* inf */
#define TC_EL_UNDEF ((tc_el){TC_MARK_UNDEF, 0})
#define TC_EL_ZERO  ((tc_el){0, 0})
#define TC_EL_ONE   ((tc_el){1, 0})

__extension__ typedef unsigned __int128 tc_wide;

static inline bool tc_el_is_double(tc_el a)
{
    return a.re == TC_MARK_DOUBLE;
}

static inline bool tc_el_is_marked(tc_el a)
{
    return a.re >> 61 && !tc_el_is_double(a);
}

static inline bool tc_el_carries(tc_el a)
{
    return a.re >> 61 == TC_MARK_CARRY >> 61;
}

/* The value of what carries more. */
tc_el tc_el_carried(tc_el a);

static inline tc_el tc_el_plain(tc_el a)
{
    if (!(a.re & TC_MARK_ROOT))
        return a;
    return tc_el_carries(a) ? tc_el_carried(a) : (tc_el){a.re & ~TC_MARK_ROOT, a.im};
}

/* ---- the integers modulo p ----------------------------------------------------------------- */

static inline uint64_t tc_field_reduce(uint64_t a)
{
    return a >= TC_EL_PRIME ? a - TC_EL_PRIME : a;
}

/* Below 2^122 and more: of any sum of products. */
static inline uint64_t tc_field_reduce_wide(tc_wide w)
{
    w = (w & TC_EL_PRIME) + (w >> 61); /* up to 2^67 + 2^61 */
    return tc_field_reduce(((uint64_t)w & TC_EL_PRIME) + (uint64_t)(w >> 61));
}

static inline uint64_t tc_field_neg(uint64_t a)
{
    return a ? TC_EL_PRIME - a : 0;
}

/* ---- their pairs --------------------------------------------------------------------------- */

/* What a thread has done since it was last cleared; for the bound of the error. */
struct tc_el_counts {
    uint64_t functions[TC_N_FN], inverses;
};

extern _Thread_local struct tc_el_counts tc_el_counts;

/* On a thread whose elements are doubles: they are drawn from -spread to spread. Else 0. */
extern _Thread_local double tc_el_spread;
extern _Thread_local bool tc_el_bends; /* what is clamped there */

static inline void tc_el_count_inverses(size_t n)
{
    tc_el_counts.inverses += n;
}

/* The same where one of the two is marked. */
tc_el tc_el_add_marked(tc_el a, tc_el b);
tc_el tc_el_mul_marked(tc_el a, tc_el b);
tc_el tc_el_neg_marked(tc_el a);

static inline tc_el tc_field_add(tc_el a, tc_el b)
{
    return (tc_el){tc_field_reduce(a.re + b.re), tc_field_reduce(a.im + b.im)};
}

/* Three products in the place of four (Karatsuba). */
static inline tc_el tc_field_mul(tc_el a, tc_el b)
{
    tc_wide re = (tc_wide)a.re * b.re, im = (tc_wide)a.im * b.im;
    tc_wide both = (tc_wide)(a.re + a.im) * (b.re + b.im);
    const tc_wide square = (tc_wide)TC_EL_PRIME * TC_EL_PRIME;

    return (tc_el){tc_field_reduce_wide(re + (square - im)), tc_field_reduce_wide(both - re - im)};
}

static inline tc_el tc_el_add(tc_el a, tc_el b)
{
    if ((a.re | b.re) >> 61)
        return tc_el_add_marked(a, b);
    return tc_field_add(a, b);
}

static inline tc_el tc_el_mul(tc_el a, tc_el b)
{
    if ((a.re | b.re) >> 61)
        return tc_el_mul_marked(a, b);
    return tc_field_mul(a, b);
}

static inline tc_el tc_el_neg(tc_el a)
{
    if (a.re >> 61)
        return tc_el_neg_marked(a);
    return (tc_el){tc_field_neg(a.re), tc_field_neg(a.im)};
}

static inline tc_el tc_el_sub(tc_el a, tc_el b)
{
    return tc_el_add(a, tc_el_neg(b));
}

/* False if some element is marked: then the sums are no plain ones. */
static inline bool tc_el_add_rows(const tc_el *a, const tc_el *b, tc_el *to, size_t n)
{
    uint64_t marks = 0;

    for (size_t i = 0; i < n; i++) {
        marks |= a[i].re | b[i].re;
        to[i] = tc_field_add(a[i], b[i]);
    }
    return !(marks >> 61);
}

/* The same number, whether or not it is known as a root. */
static inline bool tc_el_same(tc_el a, tc_el b)
{
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    return a.re == b.re && a.im == b.im;
}

/* The same number by laws of exp and log: also sums of the same logs, written otherwise. */
bool tc_el_agree(tc_el a, tc_el b);

static inline bool tc_el_is_undefined(tc_el a)
{
    return a.re == TC_MARK_UNDEF;
}

static inline tc_el tc_el_int(int64_t x)
{
    uint64_t m = (x < 0 ? -(uint64_t)x : (uint64_t)x) % TC_EL_PRIME;

    return (tc_el){x < 0 ? tc_field_neg(m) : m, 0};
}

int64_t tc_el_double_to_int(tc_el a);

/* Elements as signed integers: those of index tensors and masks are exact. */
static inline int64_t tc_el_to_int(tc_el a)
{
    uint64_t re = tc_el_plain(a).re;

    if (tc_el_is_double(a))
        return tc_el_double_to_int(a);
    return re > TC_EL_PRIME / 2 ? -(int64_t)(TC_EL_PRIME - re) : (int64_t)re;
}

/* Is it a whole number or a ratio of two, and no infinity? */
static inline bool tc_el_is_real(tc_el a)
{
    return !(a.re >> 61) && !a.im;
}

/* An element with the sum of its halves: what Karatsuba's products take, for rows that are met
 * often.
 */
struct tc_spread {
    uint64_t re, im, both;
};

/* False if some element is marked: then its products are no plain ones. */
bool tc_spread_row(const tc_el *a, size_t step, size_t n, struct tc_spread *to);
tc_el tc_spread_dot(const struct tc_spread *a, const struct tc_spread *b, size_t n);

/* The power of a number modulo p. */
uint64_t tc_field_power(uint64_t base, uint64_t exponent);
tc_el tc_el_inv(tc_el a);
tc_el tc_el_square(tc_el a);
/* Is it the value of a root, of which the square is known? */
bool tc_el_is_root(tc_el a);
/* Such a root times a positive number with this square: a root again. */
tc_el tc_el_scale_root(tc_el a, tc_el square);
tc_el tc_el_sqrt(const struct tc_function *f, tc_el a);
tc_el tc_el_apply(const struct tc_function *f, tc_el a);
tc_el tc_el_apply2(const struct tc_function *f, tc_el a, tc_el b);
/* A double as an element. */
tc_el tc_el_of_double(double x);
/* The value of the hash at a number, whatever laws there are. */
tc_el tc_el_hash(const struct tc_function *f, tc_el a);
/* The highest of elements that lie step apart: by order, or as the laws of the thread have it. */
tc_el tc_el_max_of(const tc_el *p, size_t n, size_t step);
/* An order without meaning, but the same everywhere: for max, min, sort. Negative, 0 or positive.
 */
int tc_el_compare(tc_el a, tc_el b);

#endif /* TC_PLAN_ELEMENT_FIELD_H */
