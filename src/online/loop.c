/* SPDX-License-Identifier: Apache-2.0 */
#include "online/loop.h"

#include <uv.h>

#include "base/vec.h"

void tc_loop_use_own_memory(void)
{
    uv_replace_allocator(tc_malloc, tc_realloc, tc_calloc, tc_free);
}
