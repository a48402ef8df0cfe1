/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.c - products of matrices of elements
 *
 * In the field the rows of one matrix and each column of the other are laid out for the processor
 * once, since each meets many of the other's.
 */
#include "plan/matrix.h"

#define WIDTH 8 /* columns of which the wide registers are worth it */

static void multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to, struct tc_arena *scratch)
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
                                        : tc_matrix_dot(a, i, b, j);
    }
    tc_arena_rewind(scratch, mark);
}

/* The question takes microseconds in a virtual machine. */
static bool has_wide(void)
{
    static _Atomic int known; /* 0: not asked yet, 1: no, 2: yes */

    if (!known)
        known = 1 + tc_matrix_has_wide();
    return known == 2;
}

/* The side with more of them is taken for the columns. */
void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to, struct tc_arena *scratch)
{
    size_t most = a.rows > b.columns ? a.rows : b.columns;

    if (most < WIDTH || !has_wide())
        multiply(a, b, to, scratch);
    else if (b.columns >= WIDTH || b.columns == most)
        tc_matrix_multiply_wide(a, b, (struct tc_matrix_out){to, b.columns, 1}, scratch);
    else
        tc_matrix_multiply_wide(tc_matrix_turned(b), tc_matrix_turned(a),
                                (struct tc_matrix_out){to, 1, b.columns}, scratch);
}
