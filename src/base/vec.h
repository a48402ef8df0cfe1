/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - growing array
 *
 *     TC_VEC(int) v = {0};
 *     tc_vec_push(&v, 7);
 *     for (size_t i = 0; i < v.n; i++) use(v.items[i]);
 *     tc_vec_release(&v);
 */
#ifndef TC_BASE_VEC_H
#define TC_BASE_VEC_H

#include <stddef.h>

#include "base/arena.h"

#define TC_VEC(type)   \
    struct {           \
        type *items;   \
        size_t n, cap; \
    }

#define tc_vec_push(v, x)                                                         \
    do {                                                                          \
        if ((v)->n == (v)->cap)                                                   \
            (v)->items = tc_vec_grow((v)->items, &(v)->cap, sizeof(*(v)->items)); \
        (v)->items[(v)->n++] = (x);                                               \
    } while (0)

#define tc_vec_release(v)      \
    do {                       \
        tc_free((v)->items);   \
        (v)->items = NULL;     \
        (v)->n = (v)->cap = 0; \
    } while (0)

/* A block of at least one more item than *cap, which is set to what it holds. */
void *tc_vec_grow(void *items, size_t *cap, size_t item_size);
void tc_free(void *p); /* free(); declared here so that the macro needs no <stdlib.h> */

#endif /* TC_BASE_VEC_H */
