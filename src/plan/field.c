/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - the field of 2^61 - 1: sums over rows, roots, keyed functions, numbers
 */
#include "plan/element.h"

#include <math.h>

#include "base/hash.h"

#include "base/banned.h"

#ifndef TC_PLAN_REAL

#    define LOW61 TC_EL_PRIME

_Thread_local struct tc_el_counts tc_el_counts;

/* ---- marked elements ----------------------------------------------------------------------- */

static bool is_infinite(tc_el a)
{
    return a == TC_EL_MINUS || a == TC_EL_PLUS;
}

tc_el tc_el_add_marked(tc_el a, tc_el b)
{
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (a == TC_EL_UNDEF || b == TC_EL_UNDEF)
        return TC_EL_UNDEF;
    if (is_infinite(a))
        return is_infinite(b) && a != b ? TC_EL_UNDEF : a;
    return is_infinite(b) ? b : tc_field_reduce(a + b);
}

tc_el tc_el_neg_marked(tc_el a)
{
    a = tc_el_plain(a);
    if (is_infinite(a))
        return a == TC_EL_MINUS ? TC_EL_PLUS : TC_EL_MINUS;
    return a == TC_EL_UNDEF ? a : a ? TC_EL_PRIME - a : 0;
}

/* The sign of an element is not known: that of an infinite product is the infinite factor's. */
tc_el tc_el_mul_marked(tc_el a, tc_el b)
{
    if (a == b && a & TC_EL_ROOT)
        return tc_el_square(a);
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (a == TC_EL_UNDEF || b == TC_EL_UNDEF)
        return TC_EL_UNDEF;
    if (is_infinite(a) || is_infinite(b)) {
        if (!a || !b)
            return TC_EL_UNDEF;
        if (is_infinite(a) && is_infinite(b))
            return a == b ? TC_EL_PLUS : TC_EL_MINUS;
        if (a == TC_EL_PRIME - 1 || b == TC_EL_PRIME - 1)
            return tc_el_neg_marked(is_infinite(a) ? a : b);
        return is_infinite(a) ? a : b;
    }
    return tc_field_mul(a, b);
}

tc_el tc_el_inv(tc_el a)
{
    tc_el_count_inverses(1);
    a = tc_el_plain(a);
    if (is_infinite(a))
        return 0;
    return !a || a == TC_EL_UNDEF ? TC_EL_UNDEF : tc_el_power(a, TC_EL_PRIME - 2);
}

int tc_el_compare(tc_el a, tc_el b)
{
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (a == b)
        return 0;
    if (a == TC_EL_MINUS || b == TC_EL_MINUS)
        return a == TC_EL_MINUS ? -1 : 1;
    if (tc_el_is_marked(a) || tc_el_is_marked(b))
        return a < b ? -1 : 1;
    int64_t x = tc_el_to_int(a), y = tc_el_to_int(b);
    return x < y ? -1 : 1;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Sixteen products of 122 bits fit before the sum must be reduced. */
tc_el tc_el_dot(const tc_el *a, size_t a_step, const tc_el *b, size_t b_step, size_t n)
{
    tc_wide sum = 0;
    uint64_t marks = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t x = a[i * a_step], y = b[i * b_step];
        marks |= x | y;
        sum += (tc_wide)x * y;
        if ((i & 15) == 15)
            sum = (uint64_t)(sum & LOW61) + (sum >> 61);
    }
    if (!(marks >> 61)) {
        sum = (sum & LOW61) + (sum >> 61);
        sum = (sum & LOW61) + (sum >> 61);
        return tc_field_reduce((uint64_t)((sum & LOW61) + (sum >> 61)));
    }
    tc_el slow = 0;
    for (size_t i = 0; i < n; i++)
        slow = tc_el_add(slow, tc_el_mul(tc_el_plain(a[i * a_step]), tc_el_plain(b[i * b_step])));
    return slow;
}

tc_el tc_el_sum(const tc_el *a, size_t step, size_t n)
{
    tc_el sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = tc_el_add(sum, a[i * step]);
    return sum;
}

/* ---- keyed functions ----------------------------------------------------------------------- */

struct tc_function tc_function_make(uint64_t seed, enum tc_fn fn, int variant, double a, double b)
{
    struct tc_function f = {.fn = fn, .variant = variant, .a = a + 0.0, .b = b + 0.0};
    uint64_t words[5] = {seed, (uint64_t)fn, (uint64_t)variant, 0, 0};

    memcpy(&words[3], &f.a, 8);
    memcpy(&words[4], &f.b, 8);
    f.key = tc_hash64(words, sizeof(words), 0x7261696e636865);
    return f;
}

static tc_el fold(uint64_t hash)
{
    return tc_field_reduce(hash & LOW61);
}

/* The few values that programs rely on: masks by -inf, padding by 0. */
static bool has_known_value(enum tc_fn fn, tc_el a, tc_el *known)
{
    switch (fn) {
    case TC_FN_EXP:
    case TC_FN_COS:
        *known = fn == TC_FN_EXP && a == TC_EL_MINUS ? 0 : 1;
        return a == 0 || (fn == TC_FN_EXP && a == TC_EL_MINUS);
    case TC_FN_LOG:
    case TC_FN_LOG2:
        *known = 0;
        return a == 1;
    case TC_FN_TANH:
    case TC_FN_SIN:
    case TC_FN_ERF:
    case TC_FN_ATAN:
    case TC_FN_EXPM1:
    case TC_FN_LOG1P:
    case TC_FN_ABS:
    case TC_FN_SIGN:
        *known = 0;
        return a == 0;
    default:
        return false;
    }
}

tc_el tc_el_apply(const struct tc_function *f, tc_el a)
{
    tc_el known;

    tc_el_counts.functions[f->fn]++;
    a = tc_el_plain(a);
    if (a == TC_EL_UNDEF)
        return a;
    if (has_known_value(f->fn, a, &known))
        return known;
    return fold(tc_hash_mix(tc_hash_mix(f->key, a, f->key), f->key, a));
}

tc_el tc_el_apply2(const struct tc_function *f, tc_el a, tc_el b)
{
    tc_el_counts.functions[f->fn]++;
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (a == TC_EL_UNDEF || b == TC_EL_UNDEF)
        return TC_EL_UNDEF;
    return fold(tc_hash_mix(tc_hash_mix(f->key, a, b), f->key, b));
}

/* ---- roots --------------------------------------------------------------------------------- */

/* Two odd factors and their inverses modulo 2^61. */
#    define FACTOR   UINT64_C(0x1f58476d1ce4e5b9)
#    define KEY_SALT UINT64_C(0x0dc5a3c1f2e77a91)

static uint64_t odd_inverse(uint64_t a)
{
    uint64_t x = a;

    for (int i = 0; i < 6; i++)
        x *= 2 - a * x;
    return x & LOW61;
}

/* A permutation of 61 bits, and the other way; the one word that is no element is walked over. */
static uint64_t permute(uint64_t x)
{
    do {
        x = (x ^ KEY_SALT) * FACTOR & LOW61;
        x ^= x >> 31;
        x = x * FACTOR & LOW61;
        x ^= x >> 31;
    } while (x == TC_EL_PRIME);
    return x;
}

static uint64_t permute_back(uint64_t x)
{
    const uint64_t inverse = odd_inverse(FACTOR);

    do {
        x ^= x >> 31;
        x = x * inverse & LOW61;
        x ^= x >> 31;
        x = (x * inverse & LOW61) ^ KEY_SALT;
    } while (x == TC_EL_PRIME);
    return x;
}

tc_el tc_el_sqrt(const struct tc_function *f, tc_el a)
{
    (void)f;
    tc_el_counts.functions[TC_FN_SQRT]++;
    a = tc_el_plain(a);
    return a <= 1 || tc_el_is_marked(a) ? a : permute(a) | TC_EL_ROOT;
}

bool tc_el_is_root(tc_el a)
{
    return a >> 61 == 1;
}

tc_el tc_el_scale_root(tc_el a, tc_el square)
{
    tc_el_counts.functions[TC_FN_SQRT]++;
    tc_el scaled = tc_el_mul(permute_back(a & LOW61), square);

    return scaled <= 1 || tc_el_is_marked(scaled) ? scaled : permute(scaled) | TC_EL_ROOT;
}

tc_el tc_el_square(tc_el a)
{
    if (a & TC_EL_ROOT)
        return permute_back(a & LOW61);
    return tc_el_mul(a, a);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* x = *n / *d with a denominator up to most, by continued fractions. */
static bool to_ratio(double x, double tolerance, int64_t most, int64_t *n, int64_t *d)
{
    double rest = x;
    int64_t n0 = 0, n1 = 1, d0 = 1, d1 = 0;

    for (int i = 0; i < 40; i++) {
        double whole = floor(rest);
        if (fabs(whole) > 1e15)
            return false;
        int64_t w = (int64_t)whole, n2, d2;
        if (__builtin_mul_overflow(w, n1, &n2) || __builtin_add_overflow(n2, n0, &n2) ||
            __builtin_mul_overflow(w, d1, &d2) || __builtin_add_overflow(d2, d0, &d2) || d2 > most)
            return false;
        n0 = n1, n1 = n2, d0 = d1, d1 = d2;
        if (fabs((double)n1 / (double)d1 - x) <= tolerance * fabs(x)) {
            *n = n1;
            *d = d1;
            return true;
        }
        rest = 1 / (rest - whole);
    }
    return false;
}

static tc_el ratio(int64_t n, int64_t d)
{
    return tc_el_mul(tc_el_int(n), tc_el_inv(tc_el_int(d)));
}

/* A number that is the root of a ratio whose root is in the field (of 2, of 1/8) is that root. */
static bool to_root(double x, tc_el *out)
{
    int64_t n, d;
    tc_el square, root;

    if (!to_ratio(x * x, 4e-15, 1 << 20, &n, &d) || n > 1 << 20)
        return false;
    square = ratio(n, d);
    root = tc_el_power(square, UINT64_C(1) << 59); /* (p + 1) / 4 */
    if (tc_field_mul(root, root) != square)
        return false;
    *out = x < 0 ? tc_el_neg(root) : root;
    return true;
}

tc_el tc_el_number_squared(double x)
{
    int64_t n, d;
    tc_el e;

    if (isfinite(x) && to_ratio(x * x, 4e-15, 1 << 20, &n, &d) && n <= 1 << 20)
        return ratio(n, d);
    e = tc_el_number(x, false);
    return tc_el_mul(e, e);
}

tc_el tc_el_number(double x, bool is_single)
{
    int64_t n, d;
    tc_el root;

    if (isnan(x))
        return TC_EL_UNDEF;
    if (isinf(x))
        return x > 0 ? TC_EL_PLUS : TC_EL_MINUS;
    if (x == floor(x) && fabs(x) < 9e15)
        return tc_el_int((int64_t)x);
    if (to_ratio(x, 1e-13, 1 << 12, &n, &d) || (is_single && to_ratio(x, 1e-7, 1 << 10, &n, &d)))
        return ratio(n, d);
    if (to_root(x, &root))
        return root;
    if (to_ratio(x, 2e-15, 1 << 20, &n, &d))
        return ratio(n, d);
    return fold(tc_hash64(&x, sizeof(x), 0x636f6e7374));
}

#endif /* TC_PLAN_REAL */
