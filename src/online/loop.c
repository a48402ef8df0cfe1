/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - makes libuv allocate as all else does, with failure at one place
 *
 * Process-wide, and before the first loop is made: hence called by tools alone.
 */
#include "online/loop.h"

#include <uv.h>

#include "base/vec.h"

void tc_loop_use_own_memory(void)
{
    uv_replace_allocator(tc_malloc, tc_realloc, tc_calloc, tc_free);
}
