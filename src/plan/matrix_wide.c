/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix_wide.c - products of matrices in registers of eight columns (AVX-512 IFMA)
 *
 * The build gives this file alone the flags for them. The processor multiplies numbers of 52 bits
 * and adds the low or the high half of the product. So a number of up to 62 bits is taken apart
 * into 52 bits and what is above; the parts of a product are added up by their weight, and reduced
 * once for many of them.
 */
#include "plan/matrix.h"

#ifdef __AVX512IFMA__
#    include <cpuid.h>
#    include <immintrin.h>
#    include <string.h>

#    define LANES   8
#    define LIMB    52
#    define MOST    1024 /* products of 3 * 2^52 a weight that are added before they are reduced */
#    define N_PARTS 3    /* re, im and their sum, as Karatsuba's products take them */

typedef __m512i wide;

/* An element of a row, and elements of eight columns. */
struct row_limbs {
    uint64_t low[N_PARTS], high[N_PARTS];
};

struct column_limbs {
    wide low[N_PARTS], high[N_PARTS];
};

/* Sums of products of one part, by weight: 1, 2^52, 2^104. */
struct weights {
    wide at[3];
};

/* Eight elements. */
struct lanes {
    wide re, im;
};

bool tc_matrix_has_wide(void)
{
    unsigned a, b, c, d, kept;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX512F) || !(b & bit_AVX512IFMA))
        return false;
    __asm__("xgetbv" : "=a"(kept) : "c"(0) : "edx");
    return (kept & 0xe6) == 0xe6; /* the system keeps all of the registers */
}

/* ---- numbers modulo p ---------------------------------------------------------------------- */

static inline wide all(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

/* Of less than 2p. */
static inline wide once(wide x)
{
    return _mm512_min_epu64(x, _mm512_sub_epi64(x, all(TC_EL_PRIME)));
}

/* Of less than 2^63. */
static inline wide reduced(wide x)
{
    return once(_mm512_add_epi64(_mm512_and_si512(x, all(TC_EL_PRIME)), _mm512_srli_epi64(x, 61)));
}

/* x * 2^shift without what is a multiple of 2^61, and that as it is: 2^61 is 1. */
static inline wide turned(wide x, unsigned shift)
{
    const wide low = _mm512_and_si512(x, all((UINT64_C(1) << (61 - shift)) - 1));

    return _mm512_add_epi64(_mm512_slli_epi64(low, shift), _mm512_srli_epi64(x, 61 - shift));
}

static inline wide total(const struct weights *w)
{
    wide sum = _mm512_add_epi64(turned(w->at[0], 0), turned(w->at[1], LIMB));

    return reduced(_mm512_add_epi64(sum, turned(w->at[2], 2 * LIMB - 61)));
}

static inline void add_product(struct weights *w, wide a0, wide a1, wide b0, wide b1)
{
    w->at[0] = _mm512_madd52lo_epu64(w->at[0], b0, a0);
    w->at[1] = _mm512_madd52hi_epu64(w->at[1], b0, a0);
    w->at[1] = _mm512_madd52lo_epu64(w->at[1], b1, a0);
    w->at[1] = _mm512_madd52lo_epu64(w->at[1], b0, a1);
    w->at[2] = _mm512_madd52hi_epu64(w->at[2], b1, a0);
    w->at[2] = _mm512_madd52hi_epu64(w->at[2], b0, a1);
    w->at[2] = _mm512_madd52lo_epu64(w->at[2], b1, a1);
}

/* ---- rows by columns ----------------------------------------------------------------------- */

/* One row, or two: as many sums as there are registers. The next row is `stride` elements on. */
static inline void dot(const struct row_limbs *row, size_t stride, unsigned n_rows,
                       const struct column_limbs *columns, size_t n, struct lanes *to)
{
    struct weights sums[2][N_PARTS];

    for (unsigned r = 0; r < n_rows; r++)
        for (int part = 0; part < N_PARTS; part++)
            for (int weight = 0; weight < 3; weight++)
                sums[r][part].at[weight] = _mm512_setzero_si512();
    for (size_t k = 0; k < n; k++)
        for (int part = 0; part < N_PARTS; part++)
            for (unsigned r = 0; r < n_rows; r++) {
                const struct row_limbs *a = &row[r * stride + k];
                add_product(&sums[r][part], all(a->low[part]), all(a->high[part]),
                            columns[k].low[part], columns[k].high[part]);
            }
    for (unsigned r = 0; r < n_rows; r++) {
        wide re = total(&sums[r][0]), im = total(&sums[r][1]);
        wide both = _mm512_add_epi64(total(&sums[r][2]), all(2 * TC_EL_PRIME));
        to[r].re = once(_mm512_sub_epi64(_mm512_add_epi64(re, all(TC_EL_PRIME)), im));
        to[r].im = reduced(_mm512_sub_epi64(_mm512_sub_epi64(both, re), im));
    }
}

/* Sums of products over any number of elements. */
static void dots(const struct row_limbs *row, size_t stride, unsigned n_rows,
                 const struct column_limbs *columns, size_t n, struct lanes *to)
{
    for (size_t k = 0; k < n || k == 0; k += MOST) {
        struct lanes more[2];
        size_t some = n - k < MOST ? n - k : MOST;
        if (n_rows == 1)
            dot(row + k, stride, 1, columns + k, some, k ? more : to);
        else
            dot(row + k, stride, 2, columns + k, some, k ? more : to);
        for (unsigned r = 0; r < n_rows && k; r++) {
            to[r].re = once(_mm512_add_epi64(to[r].re, more[r].re));
            to[r].im = once(_mm512_add_epi64(to[r].im, more[r].im));
        }
    }
}

/* ---- taken apart --------------------------------------------------------------------------- */

/* False if some element is marked. */
static bool take_row(const tc_el *p, size_t step, size_t n, struct row_limbs *to)
{
    const uint64_t low = (UINT64_C(1) << LIMB) - 1;
    uint64_t marks = 0;

    for (size_t k = 0; k < n; k++) {
        uint64_t parts[N_PARTS] = {p[k * step].re, p[k * step].im, p[k * step].re + p[k * step].im};
        for (int part = 0; part < N_PARTS; part++) {
            to[k].low[part] = parts[part] & low;
            to[k].high[part] = parts[part] >> LIMB;
        }
        marks |= parts[0];
    }
    return !(marks >> 61);
}

/* Element k of LANES columns; zeros where there are fewer. */
static inline struct lanes load(const struct tc_matrix *b, size_t k, size_t first)
{
    const tc_el *p = b->p + k * b->row + first * b->column;
    size_t left = b->columns - first;

    if (b->column == 1 && left >= LANES) {
        const wide even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), one = all(1);
        const wide x = _mm512_loadu_si512(p), y = _mm512_loadu_si512(p + LANES / 2);
        return (struct lanes){_mm512_permutex2var_epi64(x, even, y),
                              _mm512_permutex2var_epi64(x, _mm512_or_si512(even, one), y)};
    }
    const __mmask8 mask = left >= LANES ? 0xff : (__mmask8)((1u << left) - 1);
    const long long s = 2 * (long long)b->column;
    const wide index = _mm512_set_epi64(7 * s, 6 * s, 5 * s, 4 * s, 3 * s, 2 * s, s, 0);
    const wide none = _mm512_setzero_si512();
    return (struct lanes){_mm512_mask_i64gather_epi64(none, mask, index, &p->re, 8),
                          _mm512_mask_i64gather_epi64(none, mask, index, &p->im, 8)};
}

/* Those of the columns, as bits, in which some element is marked. */
static unsigned take_columns(const struct tc_matrix *b, size_t first, struct column_limbs *to)
{
    wide marks = _mm512_setzero_si512();

    for (size_t k = 0; k < b->rows; k++) {
        const struct lanes x = load(b, k, first);
        const wide parts[N_PARTS] = {x.re, x.im, _mm512_add_epi64(x.re, x.im)};
        for (int part = 0; part < N_PARTS; part++) {
            to[k].low[part] = _mm512_and_si512(parts[part], all((UINT64_C(1) << LIMB) - 1));
            to[k].high[part] = _mm512_srli_epi64(parts[part], LIMB);
        }
        marks = _mm512_or_si512(marks, x.re);
    }
    return _mm512_cmpgt_epu64_mask(marks, all((UINT64_C(1) << 61) - 1));
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void store(struct lanes x, tc_el *to, size_t step, size_t n)
{
    const wide first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), half = all(LANES / 2);
    tc_el row[LANES];

    _mm512_storeu_si512(row, _mm512_permutex2var_epi64(x.re, first, x.im));
    _mm512_storeu_si512(row + LANES / 2,
                        _mm512_permutex2var_epi64(x.re, _mm512_add_epi64(first, half), x.im));
    if (step == 1)
        memcpy(to, row, n * sizeof(*to));
    for (size_t j = 0; j < n && step != 1; j++)
        to[j * step] = row[j];
}

/* A product while it is made. */
struct job {
    struct tc_matrix a, b;
    struct tc_matrix_out to;
    struct row_limbs *rows;
    bool *is_plain; /* row by row: no element is marked */
    struct column_limbs *columns;
};

/* All rows by LANES columns. */
static void multiply_columns(const struct job *m, size_t first)
{
    size_t n = m->a.columns, left = m->b.columns - first, width = left < LANES ? left : LANES;
    unsigned marked = take_columns(&m->b, first, m->columns);

    for (size_t i = 0; i < m->a.rows; i += 2) {
        unsigned n_rows = m->a.rows - i < 2 ? 1 : 2;
        struct lanes sums[2];
        dots(m->rows + i * n, n, n_rows, m->columns, n, sums);
        for (unsigned r = 0; r < n_rows; r++) {
            tc_el *row = m->to.p + (i + r) * m->to.row + first * m->to.column;
            store(sums[r], row, m->to.column, width);
            for (size_t k = 0; k < width && (marked || !m->is_plain[i + r]); k++)
                if (!m->is_plain[i + r] || marked >> k & 1)
                    row[k * m->to.column] = tc_matrix_dot(m->a, i + r, m->b, first + k);
        }
    }
}

void tc_matrix_multiply_wide(struct tc_matrix a, struct tc_matrix b, struct tc_matrix_out to,
                             struct tc_arena *scratch)
{
    struct tc_arena_mark mark = tc_arena_mark(scratch);
    struct job m = {.a = a, .b = b, .to = to};
    size_t n = a.columns;
    char *room = tc_arena_alloc(scratch, n * sizeof(*m.columns) + sizeof(wide));

    m.columns = (void *)(room + sizeof(wide) - (uintptr_t)room % sizeof(wide));
    m.rows = tc_arena_alloc(scratch, (a.rows * n + 1) * sizeof(*m.rows));
    m.is_plain = tc_arena_alloc(scratch, a.rows + 1);
    for (size_t i = 0; i < a.rows; i++)
        m.is_plain[i] = take_row(a.p + i * a.row, a.column, n, m.rows + i * n);
    for (size_t j = 0; j < b.columns; j += LANES)
        multiply_columns(&m, j);
    tc_arena_rewind(scratch, mark);
}

#else

bool tc_matrix_has_wide(void)
{
    return false;
}

void tc_matrix_multiply_wide(struct tc_matrix a, struct tc_matrix b, struct tc_matrix_out to,
                             struct tc_arena *scratch)
{
    (void)a, (void)b, (void)to, (void)scratch;
}

#endif
