/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lag.c - what is not read yet has no time that is known: that of the file stands for it
 *
 * The clock of a file system may be another than that of the process: the lag is never below 0.
 */
#include "trace/lag.h"

#include "trace/folder.h"

int64_t tc_trace_folder_lag_ns(const struct tc_trace_folder *folder)
{
    int64_t most = 0, lag;

    for (size_t i = 0; i < folder->members.n; i++) {
        const struct tc_trace_member *m = &folder->members.items[i];

        if (m->progress.is_dry || m->anchor_ns <= 0)
            continue;
        if (!__builtin_sub_overflow(m->changed_ns, m->time_ns, &lag) && lag > most)
            most = lag;
    }
    return most;
}
