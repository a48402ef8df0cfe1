/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element_field.h - elements of the field; included by element.h alone
 *
 * Bits 61 to 63 mark what is more than a number. A root is the value that sqrt gave: a keyed
 * permutation of its argument, so that squaring it gives the argument back (norms of norms).
 * Infinities and the undefined are no numbers at all.
 */
#ifndef TC_PLAN_ELEMENT_FIELD_H
#define TC_PLAN_ELEMENT_FIELD_H

typedef uint64_t tc_el;

#define TC_EL_PRIME ((UINT64_C(1) << 61) - 1)
#define TC_EL_ROOT  (UINT64_C(1) << 61)
#define TC_EL_MINUS (UINT64_C(1) << 62)       /* -inf */
#define TC_EL_PLUS  ((UINT64_C(1) << 62) | 1) /* inf */
#define TC_EL_UNDEF (UINT64_C(1) << 63)
#define TC_EL_ZERO  UINT64_C(0)
#define TC_EL_ONE   UINT64_C(1)

__extension__ typedef unsigned __int128 tc_wide;

static inline bool tc_el_is_marked(tc_el a)
{
    return a >> 61;
}

static inline tc_el tc_el_plain(tc_el a)
{
    return a & TC_EL_ROOT ? a & ~TC_EL_ROOT : a;
}

static inline uint64_t tc_field_reduce(uint64_t a)
{
    return a >= TC_EL_PRIME ? a - TC_EL_PRIME : a;
}

static inline uint64_t tc_field_mul(uint64_t a, uint64_t b)
{
    tc_wide w = (tc_wide)a * b;

    return tc_field_reduce(((uint64_t)w & TC_EL_PRIME) + (uint64_t)(w >> 61));
}

/* What a thread has done since it was last cleared; for the bound of the error. */
struct tc_el_counts {
    uint64_t functions[TC_N_FN], inverses;
};

extern _Thread_local struct tc_el_counts tc_el_counts;

static inline void tc_el_count_inverses(size_t n)
{
    tc_el_counts.inverses += n;
}

/* The same where one of the two is marked. */
tc_el tc_el_add_marked(tc_el a, tc_el b);
tc_el tc_el_mul_marked(tc_el a, tc_el b);
tc_el tc_el_neg_marked(tc_el a);

static inline tc_el tc_el_add(tc_el a, tc_el b)
{
    if ((a | b) >> 61)
        return tc_el_add_marked(a, b);
    return tc_field_reduce(a + b);
}

static inline tc_el tc_el_mul(tc_el a, tc_el b)
{
    if ((a | b) >> 61)
        return tc_el_mul_marked(a, b);
    return tc_field_mul(a, b);
}

static inline tc_el tc_el_neg(tc_el a)
{
    if (a >> 61)
        return tc_el_neg_marked(a);
    return a ? TC_EL_PRIME - a : 0;
}

static inline tc_el tc_el_sub(tc_el a, tc_el b)
{
    return tc_el_add(a, tc_el_neg(b));
}

static inline bool tc_el_same(tc_el a, tc_el b)
{
    return a == b || tc_el_plain(a) == tc_el_plain(b);
}

static inline bool tc_el_is_undefined(tc_el a)
{
    return a == TC_EL_UNDEF;
}

static inline tc_el tc_el_int(int64_t x)
{
    uint64_t m = (x < 0 ? -(uint64_t)x : (uint64_t)x) % TC_EL_PRIME;

    return x < 0 && m ? TC_EL_PRIME - m : m;
}

/* Elements as signed integers: those of index tensors and masks are exact. */
static inline int64_t tc_el_to_int(tc_el a)
{
    a = tc_el_plain(a);
    return a > TC_EL_PRIME / 2 ? -(int64_t)(TC_EL_PRIME - a) : (int64_t)a;
}

tc_el tc_el_inv(tc_el a);
tc_el tc_el_square(tc_el a);
/* Is it the value of a root, of which the square is known? */
bool tc_el_is_root(tc_el a);
/* Such a root times a positive number with this square: a root again. */
tc_el tc_el_scale_root(tc_el a, tc_el square);
tc_el tc_el_sqrt(const struct tc_function *f, tc_el a);
tc_el tc_el_apply(const struct tc_function *f, tc_el a);
tc_el tc_el_apply2(const struct tc_function *f, tc_el a, tc_el b);
/* An order without meaning, but the same everywhere: for max, min, sort. Negative, 0 or positive.
 */
int tc_el_compare(tc_el a, tc_el b);

#endif /* TC_PLAN_ELEMENT_FIELD_H */
