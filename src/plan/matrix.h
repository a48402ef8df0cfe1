/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h - products of matrices of elements
 */
#ifndef TC_PLAN_MATRIX_H
#define TC_PLAN_MATRIX_H

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

/* a has as many columns as b rows; to is row-major. */
static inline void tc_matrix_multiply(struct tc_matrix a, struct tc_matrix b, tc_el *to)
{
    for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < b.columns; j++)
            *to++ = tc_el_dot(a.p + i * a.row, a.column, b.p + j * b.column, b.row, a.columns);
}

#endif /* TC_PLAN_MATRIX_H */
