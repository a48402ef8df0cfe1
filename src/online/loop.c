/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - what libuv takes of memory and of descriptors, asked of the system by us
 */
#include "online/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include "base/vec.h"

#define NEEDS 6 /* descriptors, at most: events, rings, signals, wake-ups */

void tc_loop_use_own_memory(void)
{
    uv_replace_allocator(tc_malloc, tc_realloc, tc_calloc, tc_free);
}

int tc_loop_find_descriptors(void)
{
    int found[NEEDS], n = 0, error = 0;

    while (n < NEEDS && !error) {
        found[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        if (found[n] < 0)
            error = uv_translate_sys_error(errno);
        else
            n++;
    }
    while (n > 0)
        close(found[--n]);
    return error == UV_EBADF ? 0 : error; /* no standard error: nothing is known */
}
