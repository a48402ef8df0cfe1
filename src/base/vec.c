/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.c - growing array
 */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>

void *tc_vec_grow(void *items, size_t *cap, size_t item_size)
{
    size_t more = *cap ? *cap * 2 : 8;

    if (more < *cap || more > SIZE_MAX / item_size)
        tc_out_of_memory();
    *cap = more;
    return tc_realloc(items, more * item_size);
}

void tc_free(void *p)
{
    free(p);
}
