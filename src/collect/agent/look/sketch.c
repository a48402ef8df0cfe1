/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sketch.c - the sums of a sketch over contiguous memory, in one pass
 *
 * Elements are taken as doubles, block by block, and added in lanes whose order is fixed: the sums
 * are the same bits on every processor. The memory must not change meanwhile: the caller holds the
 * interpreter's lock.
 */
#include "collect/agent/look/sketch.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/nh64.h"
#include "collect/agent/look/wide.h"

#ifdef __GNUC__
#    define ALWAYS_INLINE __attribute__((always_inline))
#else
#    define ALWAYS_INLINE
#endif

/* Elements whose signs one word has. */
#define BLOCK 64
/* Sums that run beside each other, so that wide registers and others add in one order. */
#define LANES 4

/* ---- numbers, as doubles; each loop becomes vector code ---- */

static inline ALWAYS_INLINE void take_f32(const void *data, size_t n, double *out)
{
    const float *p = data;

    for (size_t i = 0; i < n; i++)
        out[i] = (double)p[i];
}

static inline ALWAYS_INLINE void take_bf16(const void *data, size_t n, double *out)
{
    const uint16_t *p = data;

    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)p[i] << 16;
        float x;
        memcpy(&x, &bits, sizeof(x));
        out[i] = (double)x;
    }
}

/* IEEE 754 binary16. What is not finite becomes a NaN. */
static inline ALWAYS_INLINE void take_f16(const void *data, size_t n, double *out)
{
    const uint16_t *p = data;

    for (size_t i = 0; i < n; i++) {
        const uint32_t sign = (uint32_t)(p[i] & 0x8000) << 16, rest = p[i] & 0x7fff;
        const float small = (float)(int32_t)rest * 0x1p-24F;
        const uint32_t large = (rest << 13) + ((uint32_t)112 << 23);
        uint32_t bits;
        float x;
        memcpy(&bits, &small, sizeof(bits));
        bits = rest < 0x400 ? bits : rest < 0x7c00 ? large : UINT32_C(0x7fc00000);
        bits |= sign;
        memcpy(&x, &bits, sizeof(x));
        out[i] = (double)x;
    }
}

static inline ALWAYS_INLINE void take_numbers(const unsigned char *data, size_t n,
                                              enum tc_number kind, double *out)
{
    switch (kind) {
    case TC_NUMBER_F16:
        take_f16(data, n, out);
        break;
    case TC_NUMBER_BF16:
        take_bf16(data, n, out);
        break;
    case TC_NUMBER_F32:
        take_f32(data, n, out);
        break;
    case TC_NUMBER_F64:
        memcpy(out, data, n * sizeof(*out));
        break;
    case TC_NUMBER_OTHER:
        break;
    }
}

/* ---- sums ---- */

struct sums {
    double squares[LANES], of[TC_N_SKETCHED][LANES];
};

static inline ALWAYS_INLINE double turned(double x, uint64_t sign)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits ^= sign & UINT64_C(1) << 63;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Bit i of the word is the sign of element i: the highest bits of the lanes are those of the next
 * elements. */
static inline ALWAYS_INLINE void add_signed(double *sums, const double *x, uint64_t word)
{
    uint64_t signs[LANES];
    double sum[LANES];

    for (size_t lane = 0; lane < LANES; lane++) {
        signs[lane] = word << (LANES - 1 - lane);
        sum[lane] = sums[lane];
    }
    for (size_t i = BLOCK - LANES; i < BLOCK; i -= LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            sum[lane] += turned(x[i + lane], signs[lane]);
            signs[lane] <<= LANES;
        }
    for (size_t lane = 0; lane < LANES; lane++)
        sums[lane] = sum[lane];
}

static inline ALWAYS_INLINE void add_squares(double *sums, const double *x)
{
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += x[i + lane] * x[i + lane];
}

/* The signs in sum k of 64 elements, the first of which is element `first`. */
static inline ALWAYS_INLINE uint64_t signs_from(uint64_t first, size_t k)
{
    const uint64_t block = first / BLOCK, shift = first % BLOCK;
    const uint64_t word = tc_lanes_mix((block * TC_N_SKETCHED + k + 1) * TC_LANES_GOLDEN);

    if (!shift)
        return word;
    return word >> shift | tc_lanes_mix(((block + 1) * TC_N_SKETCHED + k + 1) * TC_LANES_GOLDEN)
                               << (BLOCK - shift);
}

static inline ALWAYS_INLINE void add_all(const void *data, size_t n, uint64_t begin,
                                         enum tc_number kind, struct sums *out)
{
    const size_t size = kind == TC_NUMBER_F64 ? 8 : kind == TC_NUMBER_F32 ? 4 : 2;
    const unsigned char *at = data;
    double x[BLOCK] = {0};

    for (size_t block = 0; block * BLOCK < n; block++, at += BLOCK * size) {
        const size_t rest = n - block * BLOCK;
        if (rest < BLOCK) {
            memset(x, 0, sizeof(x));
            take_numbers(at, rest, kind, x);
        } else {
            take_numbers(at, BLOCK, kind, x);
        }
        add_squares(out->squares, x);
        for (size_t k = 0; k < TC_N_SKETCHED; k++)
            add_signed(out->of[k], x, signs_from(begin + block * BLOCK, k));
    }
}

/* For each kind a loop of its own. */
static inline ALWAYS_INLINE void add_kind(const void *data, size_t n, uint64_t begin,
                                          enum tc_number kind, struct sums *out)
{
    switch (kind) {
    case TC_NUMBER_F16:
        add_all(data, n, begin, TC_NUMBER_F16, out);
        break;
    case TC_NUMBER_BF16:
        add_all(data, n, begin, TC_NUMBER_BF16, out);
        break;
    case TC_NUMBER_F32:
        add_all(data, n, begin, TC_NUMBER_F32, out);
        break;
    case TC_NUMBER_F64:
        add_all(data, n, begin, TC_NUMBER_F64, out);
        break;
    case TC_NUMBER_OTHER:
        break;
    }
}

#if TC_WIDE
__attribute__((target("avx2"))) static void add_wide(const void *data, size_t n, uint64_t begin,
                                                     enum tc_number kind, struct sums *out)
{
    add_kind(data, n, begin, kind, out);
}
#endif

static void add_narrow(const void *data, size_t n, uint64_t begin, enum tc_number kind,
                       struct sums *out)
{
    add_kind(data, n, begin, kind, out);
}

static double sum_of(const double *lanes)
{
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

bool tc_sketch_take(const void *data, size_t n, uint64_t begin, enum tc_number kind,
                    struct tc_sketch *out)
{
    struct sums sums = {0};
    bool is_finite = kind != TC_NUMBER_OTHER;

#if TC_WIDE
    if (tc_has_wide_registers())
        add_wide(data, n, begin, kind, &sums);
    else
#endif
        add_narrow(data, n, begin, kind, &sums);
    out->norm = sqrt(sum_of(sums.squares));
    for (size_t k = 0; k < TC_N_SKETCHED; k++) {
        out->sums[k] = sum_of(sums.of[k]);
        is_finite = is_finite && isfinite(out->sums[k]);
    }
    return is_finite && isfinite(out->norm);
}

void tc_sketch_add(struct tc_strbuf *out, const struct tc_sketch *sketch)
{
    tc_strbuf_addf(out, ",\"sketch\":[%.9g", sketch->norm);
    for (size_t k = 0; k < TC_N_SKETCHED; k++)
        tc_strbuf_addf(out, ",%.9g", sketch->sums[k] + 0.0); /* no -0 */
    tc_strbuf_addc(out, ']');
}
