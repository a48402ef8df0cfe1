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

/* a has as many columns as b rows; to is row-major. scratch: what it takes there it gives back. */
void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to,
                        struct tc_arena *scratch);

#endif /* TC_PLAN_MATRIX_H */
