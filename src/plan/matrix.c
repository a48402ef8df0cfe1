/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.c - products of matrices of elements
 *
 * Most of the time that verification takes. In the field the rows of one matrix and each column of
 * the other are laid out for the processor once, since each meets many of the other's.
 */
#include "plan/matrix.h"

#include "base/banned.h"

static tc_el product(struct tc_matrix a, size_t i, struct tc_matrix b, size_t j)
{
    return tc_el_dot(a.p + i * a.row, a.column, b.p + j * b.column, b.row, a.columns);
}

#ifdef TC_PLAN_REAL

void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to, struct tc_arena *scratch)
{
    (void)scratch;
    for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < b.columns; j++)
            *to++ = product(a, i, b, j);
}

#else

void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to, struct tc_arena *scratch)
{
    struct tc_arena_mark mark = tc_arena_mark(scratch);
    size_t n = a.columns;
    struct tc_spread *rows = tc_arena_alloc(scratch, (a.rows + 1) * (n + 1) * sizeof(*rows));
    struct tc_spread *column = rows + a.rows * n;
    bool *is_plain = tc_arena_alloc(scratch, a.rows + 1);

    for (size_t i = 0; i < a.rows; i++)
        is_plain[i] = tc_spread_row(a.p + i * a.row, a.column, n, rows + i * n);
    for (size_t j = 0; j < b.columns; j++) {
        bool is_plain_column = tc_spread_row(b.p + j * b.column, b.row, n, column);
        for (size_t i = 0; i < a.rows; i++)
            to[i * b.columns + j] = is_plain_column && is_plain[i]
                                        ? tc_spread_dot(rows + i * n, column, n)
                                        : product(a, i, b, j);
    }
    tc_arena_rewind(scratch, mark);
}

#endif
