/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failing_disk.c - preloaded into a job: writes to its trace files fail for a while
 *
 * FAILING_DISK=FROM:N:ERRNO: of each process the FROM-th write (from 1) and the N-1 after it; N 0:
 * all from there on. ERRNO 0: such a write succeeds, and the process is killed before it knows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    static atomic_long written;
    ssize_t (*real)(int, const void *, size_t) = NULL;
    const char *how = getenv("FAILING_DISK");
    long from = 0, n = 0, at;
    int error = 0;

    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (!how || sscanf(how, "%ld:%ld:%d", &from, &n, &error) != 3 || !is_trace(fd))
        return real(fd, data, size);
    at = ++written;
    if (at < from || (n && at >= from + n))
        return real(fd, data, size);
    if (!error) {
        (void)!real(fd, data, size);
        raise(SIGKILL);
    }
    if (size > 10 && real(fd, data, 10) < 0) /* a part of it arrives */
        return -1;
    errno = error;
    return -1;
}
