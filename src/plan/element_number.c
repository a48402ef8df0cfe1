/* SPDX-License-Identifier: Apache-2.0 */
/*
 * element_number.c - numbers as elements of the field, and their roots; elements as doubles
 *
 * A root is a keyed permutation, so its square is its argument again. A number is the ratio it
 * most likely is, or such a root, or a permutation of its digits.
 */
#include "plan/element.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

#define LOW61 TC_EL_PRIME

static bool is_zero(tc_el a)
{
    return !a.re && !a.im;
}

static bool is_one(tc_el a)
{
    return a.re == 1 && !a.im;
}

static uint64_t fold(uint64_t hash)
{
    return tc_field_reduce(hash & LOW61);
}

/* ---- roots --------------------------------------------------------------------------------- */

#define ROUNDS 4

static uint64_t round_of(uint64_t half, int round)
{
    static const uint64_t salts[ROUNDS] = {
        UINT64_C(0x1f58476d1ce4e5b9), UINT64_C(0x0dc5a3c1f2e77a91), UINT64_C(0x94d049bb133111eb),
        UINT64_C(0xbf58476d1ce4e5b9)};

    return fold(tc_hash_mix(tc_hash_mix(salts[round], half, salts[ROUNDS - 1 - round]), half, 1));
}

/* A permutation of the field: a Feistel network over the two halves. */
static tc_el permute(tc_el a)
{
    for (int k = 0; k < ROUNDS; k++)
        a = (tc_el){a.im, tc_field_reduce(a.re + round_of(a.im, k))};
    return a;
}

static tc_el permute_back(tc_el a)
{
    for (int k = ROUNDS; k-- > 0;)
        a = (tc_el){tc_field_reduce(a.im + tc_field_neg(round_of(a.re, k))), a.re};
    return a;
}

#define MAX_ROOT (1 << 20) /* numerators and denominators of ratios whose roots are known */

/* A root of a prime: where it is no square modulo p, its negative is one. */
static tc_el root_of_prime(uint64_t n)
{
    uint64_t root = tc_field_power(n, UINT64_C(1) << 59); /* (p + 1) / 4 */

    if (tc_field_reduce_wide((tc_wide)root * root) == n)
        return (tc_el){root, 0};
    return (tc_el){0, tc_field_power(tc_field_neg(n), UINT64_C(1) << 59)};
}

/* By its primes, so that the root of a product is the product of the roots. */
static tc_el root_of_whole(uint64_t n)
{
    tc_el root = TC_EL_ONE;

    for (uint64_t prime = 2; prime * prime <= n; prime++) {
        for (; n % (prime * prime) == 0; n /= prime * prime)
            root = tc_field_mul(root, tc_el_int((int64_t)prime));
        if (n % prime)
            continue;
        root = tc_field_mul(root, root_of_prime(prime));
        n /= prime;
    }
    return n > 1 ? tc_field_mul(root, root_of_prime(n)) : root;
}

static tc_el root_of_ratio(int64_t n, int64_t d)
{
    return tc_field_mul(root_of_whole((uint64_t)n), tc_el_inv(root_of_whole((uint64_t)d)));
}

/* a = n / d with n and d up to MAX_ROOT, by Euclid's algorithm on p and a. */
static bool is_ratio(tc_el a, int64_t *n, int64_t *d)
{
    int64_t r0 = (int64_t)TC_EL_PRIME, r1 = (int64_t)a.re, t0 = 0, t1 = 1;

    if (a.im) /* as of all that is drawn */
        return false;
    while (r1 > MAX_ROOT) {
        int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
        r0 = r1, r1 = r2, t0 = t1, t1 = t2;
    }
    *n = r1;
    *d = t1;
    return r1 > 0 && t1 > 0 && t1 <= MAX_ROOT;
}

/* Of small ratios the roots are those that numbers have. */
static tc_el root_of(tc_el a)
{
    int64_t n, d;

    if (is_zero(a) || is_one(a) || tc_el_is_marked(a))
        return a;
    if (is_ratio(a, &n, &d))
        return root_of_ratio(n, d);
    a = permute(a);
    a.re |= TC_MARK_ROOT;
    return a;
}

tc_el tc_el_sqrt(const struct tc_function *f, tc_el a)
{
    (void)f;
    tc_el_counts.functions[TC_FN_SQRT]++;
    if (tc_el_spread != 0)
        return tc_el_of_double(sqrt(tc_el_to_double(a)));
    return root_of(tc_el_plain(a));
}

bool tc_el_is_root(tc_el a)
{
    return a.re >> 61 == 1;
}

tc_el tc_el_scale_root(tc_el a, tc_el square)
{
    tc_el_counts.functions[TC_FN_SQRT]++;
    return root_of(tc_el_mul(permute_back(tc_el_plain(a)), square));
}

tc_el tc_el_square(tc_el a)
{
    if (tc_el_is_root(a))
        return permute_back(tc_el_plain(a));
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

/* 6^-0.5 and 1 / sqrt(6) are the same number, though not the same double. */
static bool to_root(double x, tc_el *out)
{
    int64_t n, d;

    if (!to_ratio(x * x, 4e-15, MAX_ROOT, &n, &d) || n > MAX_ROOT || !n)
        return false;
    *out = root_of_ratio(n, d);
    *out = x < 0 ? tc_el_neg(*out) : *out;
    return true;
}

tc_el tc_el_number_squared(double x)
{
    int64_t n, d;
    tc_el e;

    if (tc_el_spread != 0)
        return tc_el_of_double(x * x);
    if (isfinite(x) && to_ratio(x * x, 4e-15, MAX_ROOT, &n, &d) && n <= MAX_ROOT)
        return ratio(n, d);
    e = tc_el_number(x, false);
    return tc_el_mul(e, e);
}

#define DIGITS   44
#define EXPONENT 2048 /* is added, so that it is not negative */

/* By its first 44 bits: two ways to compute a number may differ in the last. */
static tc_el number_permuted(double x)
{
    int exponent;
    int64_t digits = llround(ldexp(frexp(fabs(x), &exponent), DIGITS));
    tc_el e = permute((tc_el){(uint64_t)digits, (uint64_t)(exponent + EXPONENT)});

    return x < 0 ? tc_el_neg(e) : e;
}

#define SURELY_WHOLE 0x1p41 /* no ratio of a small denominator is an element as small as this */

tc_el tc_el_number(double x, bool is_single)
{
    int64_t n, d;
    tc_el root;

    if (isnan(x))
        return TC_EL_UNDEF;
    if (isinf(x))
        return x > 0 ? TC_EL_PLUS : TC_EL_MINUS;
    if (x == floor(x) && fabs(x) < (tc_el_spread != 0 ? SURELY_WHOLE : 9e15))
        return tc_el_int((int64_t)x);
    if (tc_el_spread != 0)
        return tc_el_of_double(x);
    if (to_ratio(x, 1e-13, 1 << 12, &n, &d) || (is_single && to_ratio(x, 1e-7, 1 << 10, &n, &d)))
        return ratio(n, d);
    if (to_root(x, &root))
        return root;
    if (to_ratio(x, 2e-15, 1 << 20, &n, &d))
        return ratio(n, d);
    return number_permuted(x);
}

/* ---- doubles ------------------------------------------------------------------------------- */

tc_el tc_el_of_double(double x)
{
    tc_el e = {TC_MARK_DOUBLE, 0};

    if (isnan(x))
        return TC_EL_UNDEF;
    if (isinf(x))
        return x > 0 ? TC_EL_PLUS : TC_EL_MINUS;
    if (x == 0 || x == 1)
        return x == 0 ? TC_EL_ZERO : TC_EL_ONE;
    memcpy(&e.im, &x, sizeof(x));
    return e;
}

int64_t tc_el_double_to_int(tc_el a)
{
    double x = tc_el_to_double(a);

    return fabs(x) < 0x1p62 ? (int64_t)x : INT64_MAX;
}

/* Of what number_permuted() made. */
static double digits_of(tc_el a)
{
    tc_el d = permute_back(a);

    if (d.re >> (DIGITS - 1) == 0 || d.re >> (DIGITS + 1) != 0 || d.im >= 2 * EXPONENT)
        return (double)NAN;
    return ldexp((double)d.re, (int)d.im - EXPONENT - DIGITS);
}

/* Of what root_of_ratio() made. */
static double root_value(tc_el a)
{
    int64_t n, d;

    if (!is_ratio(tc_field_mul(a, a), &n, &d))
        return (double)NAN;
    tc_el root = root_of_ratio(n, d);
    double x = sqrt((double)n / (double)d);
    return tc_el_same(root, a) ? x : tc_el_same(tc_el_neg(root), a) ? -x : (double)NAN;
}

/* The ratio n / d of the smallest n * d, by Euclid's algorithm on p and a. */
static double ratio_value(tc_el a)
{
    int64_t r0 = (int64_t)TC_EL_PRIME, r1 = (int64_t)a.re, t0 = 0, t1 = 1;
    double best = 0x1p52, value = (double)NAN;

    while (r1 > 0 && !a.im) {
        double product = (double)r1 * fabs((double)t1);
        if (product < best) {
            best = product;
            value = (double)r1 / (double)t1;
        }
        int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
        r0 = r1, r1 = r2, t0 = t1, t1 = t2;
    }
    return value;
}

/* 2^62 is 2 modulo p. Whole numbers that are large powers of 2 are rarer than its roots. */
static bool is_root_of_2(double x)
{
    int exponent;

    return frexp(x, &exponent) == 0.5 && exponent > 27 && exponent < 37;
}

static double value_of(tc_el a)
{
    double x = digits_of(a);

    x = isnan(x) ? -digits_of(tc_el_neg(a)) : x;
    x = isnan(x) ? root_value(a) : x;
    return isnan(x) ? ratio_value(a) : x;
}

double tc_el_to_double(tc_el a)
{
    double x;

    if (tc_el_is_double(a)) {
        memcpy(&x, &a.im, sizeof(x));
        return x;
    }
    a = tc_el_plain(a);
    if (a.re >> 61)
        return a.re == TC_MARK_UNDEF ? (double)NAN : a.re == TC_MARK_PLUS ? INFINITY : -INFINITY;
    x = (double)tc_el_to_int(a);
    if (a.im || fabs(x) >= SURELY_WHOLE)
        return value_of(a);
    return is_root_of_2(fabs(x)) ? x / 0x1p31 * sqrt(2) : x;
}
