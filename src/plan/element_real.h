/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element_real.h - doubles in the place of field elements, for tests; included by element.h alone
 */
#ifndef TC_PLAN_ELEMENT_REAL_H
#define TC_PLAN_ELEMENT_REAL_H

#include <math.h>

typedef double tc_el;

#define TC_EL_MINUS (-INFINITY)
#define TC_EL_PLUS  INFINITY
#define TC_EL_UNDEF ((double)NAN)
#define TC_EL_ZERO  0.0
#define TC_EL_ONE   1.0

static inline void tc_el_count_inverses(size_t n)
{
    (void)n;
}

static inline bool tc_el_is_marked(tc_el a)
{
    return !isfinite(a);
}

static inline tc_el tc_el_plain(tc_el a)
{
    return a;
}

static inline bool tc_el_carries(tc_el a)
{
    (void)a;
    return false;
}

static inline tc_el tc_el_add(tc_el a, tc_el b)
{
    return a + b;
}

static inline bool tc_el_add_rows(const tc_el *a, const tc_el *b, tc_el *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = a[i] + b[i];
    return true;
}

static inline tc_el tc_el_mul(tc_el a, tc_el b)
{
    return a * b;
}

static inline tc_el tc_el_neg(tc_el a)
{
    return -a;
}

static inline tc_el tc_el_sub(tc_el a, tc_el b)
{
    return a - b;
}

static inline bool tc_el_same(tc_el a, tc_el b)
{
    return a == b;
}

static inline bool tc_el_is_undefined(tc_el a)
{
    return isnan(a);
}

static inline tc_el tc_el_int(int64_t x)
{
    return (double)x;
}

static inline int64_t tc_el_to_int(tc_el a)
{
    return (int64_t)a;
}

static inline tc_el tc_el_inv(tc_el a)
{
    return 1 / a;
}

static inline tc_el tc_el_square(tc_el a)
{
    return a * a;
}

static inline bool tc_el_is_root(tc_el a)
{
    (void)a;
    return false;
}

static inline tc_el tc_el_scale_root(tc_el a, tc_el square)
{
    return a * sqrt(square);
}

static inline int tc_el_compare(tc_el a, tc_el b)
{
    return (a > b) - (a < b);
}

static inline tc_el tc_el_max_of(const tc_el *p, size_t n, size_t step)
{
    tc_el best = n ? p[0] : TC_EL_UNDEF;

    for (size_t i = 1; i < n; i++)
        best = p[i * step] > best ? p[i * step] : best;
    return best;
}

tc_el tc_el_sqrt(const struct tc_function *f, tc_el a);
tc_el tc_el_apply(const struct tc_function *f, tc_el a);
tc_el tc_el_apply2(const struct tc_function *f, tc_el a, tc_el b);

#endif /* TC_PLAN_ELEMENT_REAL_H */
