/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_mount.c - preloaded into a check: files named trace_* lie on a mount like NFS
 *
 * SLOW_MOUNT_DELAY_MS: each open, stat and read takes so long. SLOW_MOUNT_CACHE_MS: the size of a
 * file is remembered for so long, and no read goes beyond it. While the file SLOW_MOUNT_GONE is
 * there, what is read or opened is stale (ESTALE), though sizes are still told.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N_FILES 1024

static struct cached {
    ino_t inode;
    off_t size;
    uint64_t ms;
} cache[N_FILES];

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : 0;
}

static void wait_for_server(void)
{
    const uint64_t ms = number_of("SLOW_MOUNT_DELAY_MS");
    const struct timespec delay = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    nanosleep(&delay, NULL);
}

static int is_gone(void)
{
    const char *mark = getenv("SLOW_MOUNT_GONE");

    return mark && faccessat(AT_FDCWD, mark, F_OK, 0) == 0;
}

static int is_on_mount(const char *path)
{
    const char *base = strrchr(path, '/');

    return !strncmp(base ? base + 1 : path, "trace_", 6);
}

/* The size as it was when it was last asked for. */
static void remember(struct stat *st)
{
    struct cached *file = &cache[st->st_ino % N_FILES];

    if (file->inode != st->st_ino || now_ms() >= file->ms + number_of("SLOW_MOUNT_CACHE_MS"))
        *file = (struct cached){st->st_ino, st->st_size, now_ms()};
    st->st_size = file->size;
}

int stat(const char *path, struct stat *st)
{
    if (is_on_mount(path))
        wait_for_server();
    if (fstatat(AT_FDCWD, path, st, 0) != 0)
        return -1;
    if (is_on_mount(path) && S_ISREG(st->st_mode))
        remember(st);
    return 0;
}

static int is_of_mount(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return is_on_mount(path);
}

int fstat(int fd, struct stat *st)
{
    if (fstatat(fd, "", st, AT_EMPTY_PATH) != 0)
        return -1;
    if (S_ISREG(st->st_mode) && is_of_mount(fd))
        remember(st);
    return 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (is_on_mount(path)) {
        wait_for_server();
        if (is_gone()) {
            errno = ESTALE;
            return -1;
        }
    }
    return openat(AT_FDCWD, path, flags, mode);
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    struct stat st;

    if (!next)
        next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    if (!is_of_mount(fd))
        return next(fd, data, size, at);
    wait_for_server();
    if (is_gone()) {
        errno = ESTALE;
        return -1;
    }
    if (fstat(fd, &st) != 0)
        return -1;
    if (at >= st.st_size)
        return 0;
    return next(fd, data, (uint64_t)(st.st_size - at) < size ? (size_t)(st.st_size - at) : size,
                at);
}
