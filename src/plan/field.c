/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.c - the field of (2^61 - 1)^2 elements: sums over rows, keyed functions
 *
 * The arithmetic of element_field.h that is too long for a header. Sums of products are reduced
 * once a row. A function without a rule is a keyed hash of its argument, so equal arguments give
 * equal values. Where one of two elements is a double (element_number.c), so is what is made of
 * them. Nothing allocates, and nothing has state.
 */
#include "plan/element.h"

#include <math.h>

#include "base/hash.h"
#include "plan/carry.h"
#include "plan/real.h"

#define LOW61 TC_EL_PRIME

_Thread_local struct tc_el_counts tc_el_counts;
_Thread_local double tc_el_spread;
_Thread_local bool tc_el_bends;

/* ---- marked elements ----------------------------------------------------------------------- */

static bool is_infinite(tc_el a)
{
    return a.re == TC_MARK_MINUS || a.re == TC_MARK_PLUS;
}

static bool is_zero(tc_el a)
{
    return !a.re && !a.im;
}

static bool is_one(tc_el a)
{
    return a.re == 1 && !a.im;
}

/* Is one more than its value, and are both numbers? */
static bool is_carried(tc_el a, tc_el b)
{
    return (tc_el_carries(a) || tc_el_carries(b)) && !tc_el_is_marked(tc_el_plain(a)) &&
           !tc_el_is_marked(tc_el_plain(b));
}

static bool has_double(tc_el a, tc_el b)
{
    return tc_el_is_double(a) || tc_el_is_double(b);
}

tc_el tc_el_add_marked(tc_el a, tc_el b)
{
    if (has_double(a, b))
        return tc_el_of_double(tc_el_to_double(a) + tc_el_to_double(b));
    if (is_carried(a, b))
        return tc_carry_add(a, b);
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (tc_el_is_undefined(a) || tc_el_is_undefined(b))
        return TC_EL_UNDEF;
    if (is_infinite(a))
        return is_infinite(b) && a.re != b.re ? TC_EL_UNDEF : a;
    return is_infinite(b) ? b : tc_field_add(a, b);
}

tc_el tc_el_neg_marked(tc_el a)
{
    if (tc_el_is_double(a))
        return tc_el_of_double(-tc_el_to_double(a));
    if (tc_el_carries(a))
        return tc_carry_neg(a);
    a = tc_el_plain(a);
    if (is_infinite(a))
        return a.re == TC_MARK_MINUS ? TC_EL_PLUS : TC_EL_MINUS;
    return tc_el_is_undefined(a) ? a : (tc_el){tc_field_neg(a.re), tc_field_neg(a.im)};
}

/* The sign of an element is not known: that of an infinite product is the infinite factor's. */
tc_el tc_el_mul_marked(tc_el a, tc_el b)
{
    if (has_double(a, b))
        return tc_el_of_double(tc_el_to_double(a) * tc_el_to_double(b));
    if (a.re == b.re && a.im == b.im && tc_el_is_root(a))
        return tc_el_square(a);
    if (is_carried(a, b))
        return tc_carry_mul(a, b);
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (tc_el_is_undefined(a) || tc_el_is_undefined(b))
        return TC_EL_UNDEF;
    if (is_infinite(a) || is_infinite(b)) {
        const tc_el minus = {TC_EL_PRIME - 1, 0};
        if (is_zero(a) || is_zero(b))
            return TC_EL_UNDEF;
        if (is_infinite(a) && is_infinite(b))
            return a.re == b.re ? TC_EL_PLUS : TC_EL_MINUS;
        if (tc_el_same(a, minus) || tc_el_same(b, minus))
            return tc_el_neg_marked(is_infinite(a) ? a : b);
        return is_infinite(a) ? a : b;
    }
    return tc_field_mul(a, b);
}

uint64_t tc_field_power(uint64_t base, uint64_t exponent)
{
    uint64_t r = 1;

    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            r = tc_field_reduce_wide((tc_wide)r * base);
        base = tc_field_reduce_wide((tc_wide)base * base);
    }
    return r;
}

/* 1 / (re + im i) = (re - im i) / (re^2 + im^2), by Fermat. */
tc_el tc_el_inv(tc_el a)
{
    tc_el_count_inverses(1);
    a = tc_el_plain(a);
    if (tc_el_spread != 0)
        return tc_el_of_double(1 / tc_el_to_double(a));
    if (is_infinite(a))
        return TC_EL_ZERO;
    if (is_zero(a) || tc_el_is_undefined(a))
        return TC_EL_UNDEF;
    tc_el turned = {a.re, tc_field_neg(a.im)};
    tc_el inverse = {tc_field_power(tc_field_mul(a, turned).re, TC_EL_PRIME - 2), 0};
    return tc_field_mul(turned, inverse);
}

static int order(uint64_t a, uint64_t b)
{
    int64_t x = tc_el_to_int((tc_el){a, 0}), y = tc_el_to_int((tc_el){b, 0});

    return (x > y) - (x < y);
}

int tc_el_compare(tc_el a, tc_el b)
{
    a = tc_carry_key(a);
    b = tc_carry_key(b);
    if (tc_el_spread != 0) {
        double x = tc_el_to_double(a), y = tc_el_to_double(b);
        return (x > y) - (x < y);
    }
    if (tc_el_same(a, b))
        return 0;
    if (a.re == TC_MARK_MINUS || b.re == TC_MARK_MINUS)
        return a.re == TC_MARK_MINUS ? -1 : 1;
    if (tc_el_is_marked(a) || tc_el_is_marked(b))
        return a.re < b.re ? -1 : 1;
    return a.re == b.re ? order(a.im, b.im) : order(a.re, b.re);
}

/* ---- rows ---------------------------------------------------------------------------------- */

#define WIDE_ROW 16 /* products of 124 bits that fit into 128 beside what is carried */

/* Products of the real parts, of the others, and of the sums of both. */
struct products {
    tc_wide re, im, both;
};

static inline void add_product(struct products *sum, struct tc_spread a, struct tc_spread b)
{
    sum->re += (tc_wide)a.re * b.re;
    sum->im += (tc_wide)a.im * b.im;
    sum->both += (tc_wide)a.both * b.both;
}

static inline tc_wide carried(tc_wide w)
{
    return (w & LOW61) + (w >> 61);
}

/* As tc_field_mul, once for a row of WIDE_ROW products at most. */
static inline tc_el total(const struct products *sum)
{
    const tc_wide more = (tc_wide)TC_EL_PRIME << 66; /* 0, but larger than 16 * 2^122 */

    return (tc_el){tc_field_reduce_wide(sum->re + (more - sum->im)),
                   tc_field_reduce_wide(sum->both - sum->re - sum->im)};
}

/* The same of a longer row. Once it is carried, both may be less than re + im. */
static tc_el total_carried(const struct products *sum)
{
    const tc_wide more = (tc_wide)TC_EL_PRIME << 8; /* larger than what is carried: below 2^68 */
    tc_wide re = carried(sum->re), im = carried(sum->im), both = carried(sum->both);

    return (tc_el){tc_field_reduce_wide(re + more - im),
                   tc_field_reduce_wide(both + 2 * more - re - im)};
}

static inline struct tc_spread spread(tc_el a)
{
    return (struct tc_spread){a.re, a.im, a.re + a.im};
}

tc_el tc_spread_dot(const struct tc_spread *a, const struct tc_spread *b, size_t n)
{
    struct products sum = {0};
    size_t i = 0;

    for (; n - i >= WIDE_ROW; i += WIDE_ROW) {
        for (size_t k = i; k < i + WIDE_ROW; k++)
            add_product(&sum, a[k], b[k]);
        sum = (struct products){carried(sum.re), carried(sum.im), carried(sum.both)};
    }
    for (; i < n; i++)
        add_product(&sum, a[i], b[i]);
    return n < WIDE_ROW ? total(&sum) : total_carried(&sum);
}

bool tc_spread_row(const tc_el *a, size_t step, size_t n, struct tc_spread *to)
{
    uint64_t marks = 0;

    for (size_t i = 0; i < n; i++) {
        to[i] = spread(a[i * step]);
        marks |= to[i].re;
    }
    return !(marks >> 61);
}

tc_el tc_el_dot(const tc_el *a, size_t a_step, const tc_el *b, size_t b_step, size_t n)
{
    struct products sum = {0};
    uint64_t marks = 0;
    tc_el slow = TC_EL_ZERO;

    for (size_t i = 0; i < n; i++) {
        tc_el x = a[i * a_step], y = b[i * b_step];
        marks |= x.re | y.re;
        add_product(&sum, spread(x), spread(y));
        if (i % WIDE_ROW == WIDE_ROW - 1)
            sum = (struct products){carried(sum.re), carried(sum.im), carried(sum.both)};
    }
    if (!(marks >> 61))
        return n < WIDE_ROW ? total(&sum) : total_carried(&sum);
    for (size_t i = 0; i < n; i++)
        slow = tc_el_add(slow, tc_el_mul(tc_el_plain(a[i * a_step]), tc_el_plain(b[i * b_step])));
    return slow;
}

tc_el tc_el_sum(const tc_el *a, size_t step, size_t n)
{
    tc_el sum = TC_EL_ZERO;

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
    f.keys[0] = tc_hash64(words, sizeof(words), 0x7261696e636865);
    f.keys[1] = tc_hash64(words, sizeof(words), 0x636b206c616e65);
    return f;
}

static uint64_t fold(uint64_t hash)
{
    return tc_field_reduce(hash & LOW61);
}

/* 61 bits of two hashes each, which share nothing. */
static tc_el hashed(const struct tc_function *f, tc_el a)
{
    uint64_t halves[2];

    for (int k = 0; k < 2; k++) {
        uint64_t key = f->keys[k];
        halves[k] = fold(tc_hash_mix(tc_hash_mix(key, a.re, a.im ^ key), key, a.im));
    }
    return (tc_el){halves[0], halves[1]};
}

/* The few values that programs rely on: masks by -inf, padding by 0. */
static bool has_known_value(enum tc_fn fn, tc_el a, tc_el *known)
{
    switch (fn) {
    case TC_FN_EXP:
    case TC_FN_COS:
        *known = fn == TC_FN_EXP && a.re == TC_MARK_MINUS ? TC_EL_ZERO : TC_EL_ONE;
        return is_zero(a) || (fn == TC_FN_EXP && a.re == TC_MARK_MINUS);
    case TC_FN_LOG:
    case TC_FN_LOG2:
        *known = TC_EL_ZERO;
        return is_one(a);
    case TC_FN_TANH:
    case TC_FN_SIN:
    case TC_FN_ERF:
    case TC_FN_ATAN:
    case TC_FN_EXPM1:
    case TC_FN_LOG1P:
    case TC_FN_ABS:
    case TC_FN_SIGN:
        *known = TC_EL_ZERO;
        return is_zero(a);
    default:
        return false;
    }
}

tc_el tc_el_hash(const struct tc_function *f, tc_el a)
{
    tc_el_counts.functions[f->fn]++;
    return hashed(f, a);
}

/* As good as any function of which no law is known. The bounds are a part of it. */
static double bent(const struct tc_function *f, double x)
{
    double a = f->variant & 1 ? atan(f->a) : 2, b = f->variant & 2 ? atan(f->b) : 3;

    return asinh(x) + 0.11 * a + 0.13 * b + (f->fn == TC_FN_CLAMP ? 0 : 0.5);
}

/* What is drawn is a function of its place in both worlds. */
static tc_el applied_to_double(const struct tc_function *f, tc_el a)
{
    double x = tc_el_to_double(a);

    if (f->fn == TC_FN_VARIABLE || f->fn == TC_FN_RANDOM)
        return tc_el_of_double(tc_el_spread * (ldexp((double)hashed(f, a).re, -60) - 1));
    if (tc_el_bends && (f->fn == TC_FN_CLAMP || f->fn == TC_FN_CLAMP_STEP))
        return tc_el_of_double(bent(f, x));
    return tc_el_of_double(tc_real_apply(f, x));
}

tc_el tc_el_apply(const struct tc_function *f, tc_el a)
{
    tc_el known;

    if (tc_el_spread != 0)
        return applied_to_double(f, a);
    if (tc_carry_apply(f->fn, f->a, a, &known))
        return known;
    a = tc_el_plain(a);
    if (tc_el_is_undefined(a))
        return a;
    return has_known_value(f->fn, a, &known) ? known : tc_el_hash(f, a);
}

tc_el tc_el_apply2(const struct tc_function *f, tc_el a, tc_el b)
{
    tc_el_counts.functions[f->fn]++;
    if (tc_el_spread != 0)
        return tc_el_of_double(tc_real_apply2(f, tc_el_to_double(a), tc_el_to_double(b)));
    a = tc_el_plain(a);
    b = tc_el_plain(b);
    if (tc_el_is_undefined(a) || tc_el_is_undefined(b))
        return TC_EL_UNDEF;
    struct tc_function of_a = *f;
    for (int k = 0; k < 2; k++)
        of_a.keys[k] = tc_hash_mix(tc_hash_mix(f->keys[k], a.re, a.im), f->keys[k], a.im);
    return hashed(&of_a, b);
}
