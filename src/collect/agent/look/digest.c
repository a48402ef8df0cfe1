/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - digests in full or in stripes, the largest magnitude, and what it says of a gradient
 *
 * The magnitude is an integer maximum over the bits of the floats, which becomes vector code: one
 * pass, as fast as memory. With AVX2 where the machine has it, by a second copy of the same loop.
 * NaN and infinity are above all numbers, so that one pass finds these, too.
 */
#include "collect/agent/look/digest.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "collect/agent/look/lanes.h"
#include "collect/agent/look/wide.h"

#ifdef __GNUC__
#    define ALWAYS_INLINE __attribute__((always_inline))
#else
#    define ALWAYS_INLINE
#endif

/* An update of that relative size may be lost in rounding. */
#define TINY_RATIO 1e-6

uint64_t tc_digest_seed(const char *dtype, const int64_t *shape, size_t n_dims)
{
    return tc_nh64_seed(dtype, strlen(dtype), shape, n_dims);
}

uint64_t tc_digest_of_sum(uint64_t sum, size_t size, uint64_t seed)
{
    return tc_lanes_digest(sum, size, seed);
}

uint64_t tc_digest(const void *data, size_t size, uint64_t seed)
{
    return tc_digest_of_sum(tc_lanes_sum(data, size), size, seed);
}

size_t tc_digest_stripe_at(size_t size, size_t i)
{
    return i < TC_N_STRIPES ? i * (size / TC_N_STRIPES) : size - TC_STRIPE_SIZE;
}

bool tc_digest_has_stripes(size_t size)
{
    return size > TC_N_STRIPES * TC_STRIPE_SIZE;
}

uint64_t tc_digest_stripes(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t digest = seed;

    if (!tc_digest_has_stripes(size))
        return tc_digest(data, size, seed);
    for (size_t i = 0; i <= TC_N_STRIPES; i++)
        digest = tc_digest(bytes + tc_digest_stripe_at(size, i), TC_STRIPE_SIZE, digest);
    return digest;
}

/*
 * Without its sign bit, a float's bits order like its magnitude, infinities and NaN above all
 * numbers. So the largest magnitude is an integer maximum, which compilers turn into vector code;
 * of signed integers, as processors of the x86 line lack most of the unsigned ones.
 */
#define TC_MAX_BITS(name, type, mask)                              \
    static inline ALWAYS_INLINE type name(const type *p, size_t n) \
    {                                                              \
        type max = 0;                                              \
                                                                   \
        for (size_t i = 0; i < n; i++) {                           \
            type x = (type)(p[i] & (mask));                        \
            max = x > max ? x : max;                               \
        }                                                          \
        return max;                                                \
    }

TC_MAX_BITS(max_bits16, int16_t, INT16_MAX)
TC_MAX_BITS(max_bits32, int32_t, INT32_MAX)
TC_MAX_BITS(max_bits64, int64_t, INT64_MAX)

static double from_bits32(int32_t bits)
{
    float x;

    if (bits >= INT32_C(0x7f800000))
        return (double)INFINITY;
    memcpy(&x, &bits, sizeof(x));
    return (double)x;
}

static double from_bits64(int64_t bits)
{
    double x;

    if (bits >= INT64_C(0x7ff0000000000000))
        return (double)INFINITY;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* IEEE 754 binary16: 5 bits of exponent with bias 15, 10 bits of fraction. */
static double from_half(int16_t bits)
{
    int exponent = bits >> 10, fraction = bits & 0x3ff;

    if (exponent == 31)
        return (double)INFINITY;
    if (exponent == 0)
        return ldexp(fraction, -24);
    return ldexp(1024 + fraction, exponent - 25);
}

/* Inlined into each of its callers, which differ in the instructions they may use. */
static inline ALWAYS_INLINE double max_abs(const void *data, size_t n, enum tc_number kind)
{
    switch (kind) {
    case TC_NUMBER_F16:
        return from_half(max_bits16(data, n));
    case TC_NUMBER_BF16:
        return from_bits32((int32_t)max_bits16(data, n) << 16);
    case TC_NUMBER_F32:
        return from_bits32(max_bits32(data, n));
    case TC_NUMBER_F64:
        return from_bits64(max_bits64(data, n));
    case TC_NUMBER_OTHER:
        break;
    }
    return 0;
}

#if TC_WIDE
__attribute__((target("avx2"))) static double max_abs_avx2(const void *data, size_t n,
                                                           enum tc_number kind)
{
    return max_abs(data, n, kind);
}

double tc_max_abs(const void *data, size_t n, enum tc_number kind)
{
    return tc_has_wide_registers() ? max_abs_avx2(data, n, kind) : max_abs(data, n, kind);
}
#else
double tc_max_abs(const void *data, size_t n, enum tc_number kind)
{
    return max_abs(data, n, kind);
}
#endif

/* A number that is not finite has all bits of its exponent set; an infinity has no others but the
 * sign. */
bool tc_is_masked(const void *data, size_t n, enum tc_number kind)
{
    static const struct {
        size_t size;
        uint64_t exponent, sign;
    } formats[] = {
        [TC_NUMBER_F16] = {2, 0x7c00,                       0x8000                      },
        [TC_NUMBER_BF16] = {2, 0x7f80,                       0x8000                      },
        [TC_NUMBER_F32] = {4, 0x7f800000,                   0x80000000                  },
        [TC_NUMBER_F64] = {8, UINT64_C(0x7ff0000000000000), UINT64_C(0x8000000000000000)},
    };
    const uint64_t exponent = formats[kind].exponent, sign = formats[kind].sign;
    const size_t size = formats[kind].size;
    bool any_finite = false;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const unsigned char *)data + i * size, size);
        if ((bits & exponent) != exponent)
            any_finite = true;
        else if (bits != (exponent | sign))
            return false;
    }
    return any_finite;
}

enum tc_grad_class tc_grad_classify(double grad, double parameter)
{
    if (isinf(grad))
        return TC_GRAD_NAN_OR_INF;
    if (grad == 0)
        return TC_GRAD_ZERO;
    return grad < TINY_RATIO * parameter ? TC_GRAD_TINY : TC_GRAD_NON_ZERO;
}

const char *tc_grad_class_name(enum tc_grad_class class)
{
    static const char *const names[] = {"null", "zero", "tiny", "non_zero", "nan_or_inf"};

    return names[class];
}
