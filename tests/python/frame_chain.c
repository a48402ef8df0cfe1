/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_chain.c - preloaded into a job: does the chain of frame pointers lead through the agent?
 *
 * The agent asks for the time in the middle of a traced call. From there the chain is followed as
 * profilers do. At the end of the process FRAME_CHAIN, a file, holds the most frames of the agent
 * that were met before one of Python's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FRAME 65536 /* bytes; anything larger is no frame */

static int most;

static int is_in(const void *address, const char *name)
{
    Dl_info info;

    return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, name);
}

/* Frames of the agent up to the first of Python's; 0 if the chain breaks before that. */
static int follow(void *const *frame)
{
    int n = 0;

    while (is_in(frame[1], "traincheck_agent")) {
        void *const *next = frame[0];

        n++;
        if (next <= frame || (uintptr_t)next - (uintptr_t)frame > MAX_FRAME)
            return 0;
        frame = next;
    }
    return is_in(frame[1], "python") ? n : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = NULL;
    int n = follow(__builtin_frame_address(0));

    if (n > most)
        most = n;
    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, t);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FRAME_CHAIN");
    FILE *file = most && path ? fopen(path, "w") : NULL;

    if (file) {
        fprintf(file, "%d\n", most);
        fclose(file);
    }
}
