/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element.c - arithmetic on more than two elements
 */
#include "plan/element.h"

#include "base/arena.h"
#include "base/vec.h"

tc_el tc_el_power(tc_el base, uint64_t exponent)
{
    tc_el r = TC_EL_ONE;

    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            r = tc_el_mul(r, base);
        base = tc_el_mul(base, base);
    }
    return r;
}

/* Zeros and what is no number have no part in the common product; one of doubles would overflow. */
static bool is_inverted_alone(tc_el x)
{
    return x.re >> 61 || tc_el_same(x, TC_EL_ZERO);
}

void tc_el_invert(tc_el *a, size_t n)
{
    tc_el *before, product = TC_EL_ONE;

    if (n == 1)
        a[0] = tc_el_inv(a[0]);
    if (n < 2)
        return;
    tc_el_count_inverses(n - 1); /* the inverse of the product is the last */
    before = tc_malloc(n * sizeof(*before));
    for (size_t i = 0; i < n; i++) {
        before[i] = product;
        a[i] = tc_el_plain(a[i]);
        if (!is_inverted_alone(a[i]))
            product = tc_el_mul(product, a[i]);
    }
    product = tc_el_inv(product);
    for (size_t i = n; i-- > 0;) {
        tc_el x = a[i];
        if (is_inverted_alone(x)) {
            a[i] = tc_el_inv(x);
            continue;
        }
        a[i] = tc_el_mul(product, before[i]);
        product = tc_el_mul(product, x);
    }
    tc_free(before);
}
