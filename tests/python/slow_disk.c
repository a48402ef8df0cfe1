/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_disk.c - preloaded into a job: a write to a trace file takes SLOW_DISK_MS milliseconds
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_trace(int fd)
{
    char link[40], path[400];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, ".jsonl.zst") != NULL;
}

ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = NULL;
    const char *ms = getenv("SLOW_DISK_MS");
    struct timespec pause = {0, (ms ? atol(ms) : 0) * 1000000L};

    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (is_trace(fd))
        nanosleep(&pause, NULL);
    return real(fd, data, size);
}
