/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h - products of matrices of elements
 */
#ifndef TC_PLAN_MATRIX_H
#define TC_PLAN_MATRIX_H

#include "base/arena.h"
#include "plan/element.h"

/* Elements [i][j] at p[i * row + j * column]. */
struct tc_matrix {
    const tc_el *p;
    size_t rows, columns, row, column;
};

static inline struct tc_matrix tc_matrix_of(const tc_el *p, size_t rows, size_t columns)
{
    return (struct tc_matrix){p, rows, columns, columns, 1};
}

static inline struct tc_matrix tc_matrix_turned(struct tc_matrix m)
{
    return (struct tc_matrix){m.p, m.columns, m.rows, m.column, m.row};
}

/* Row i of a by column j of b. */
static inline tc_el tc_matrix_dot(struct tc_matrix a, size_t i, struct tc_matrix b, size_t j)
{
    return tc_el_dot(a.p + i * a.row, a.column, b.p + j * b.column, b.row, a.columns);
}

/* a has as many columns as b rows; to is row-major. scratch: what it takes there it gives back. */
void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to,
                        struct tc_arena *scratch);

/* ---- eight columns at once; for matrix.c --------------------------------------------------- */

/* Element [i][j] goes to p[i * row + j * column]. */
struct tc_matrix_out {
    tc_el *p;
    size_t row, column;
};

/* Does this processor have what tc_matrix_multiply_wide takes? */
bool tc_matrix_has_wide(void);
void tc_matrix_multiply_wide(struct tc_matrix a, struct tc_matrix b, struct tc_matrix_out to,
                             struct tc_arena *scratch);

#endif /* TC_PLAN_MATRIX_H */
