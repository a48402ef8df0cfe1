/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nth_fails.c - preloaded into a tool: its Nth call of one kind fails
 *
 * NTH_FAILS=KIND:N, KIND one of malloc write open link rename fsync mmap. Exactly one call fails;
 * if it was reached, the file NTH_FAILS_REACHED is there afterwards. With NTH_FAILS_IN only calls
 * count that come from the loaded object whose path holds that text.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the C library, or of a sanitizer that is loaded after this. */
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);

static atomic_long count;
static long wanted;
static char kind[16];
static const char *only;

__attribute__((constructor)) static void read_order(void)
{
    const char *order = getenv("NTH_FAILS");

    if (order && sscanf(order, "%15[a-z]:%ld", kind, &wanted) != 2)
        wanted = 0;
    only = getenv("NTH_FAILS_IN");
}

#define CALLER __builtin_return_address(0)

static int is_from_there(const void *caller)
{
    Dl_info info;

    return !only || (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, only));
}

static int fails(const char *name, int error, const void *caller)
{
    const char *mark;
    long fd;

    if (!wanted || strcmp(kind, name) != 0 || !is_from_there(caller) || ++count != wanted)
        return 0;
    mark = getenv("NTH_FAILS_REACHED");
    fd = mark ? syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT, 0600) : -1;
    if (fd >= 0)
        syscall(SYS_close, fd);
    errno = error;
    return 1;
}

/* dlsym allocates nothing where it finds the name. */
static void find_next(void)
{
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
}

void *malloc(size_t size)
{
    if (!next_malloc)
        find_next();
    return fails("malloc", ENOMEM, CALLER) ? NULL : next_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (!next_calloc)
        find_next();
    return fails("malloc", ENOMEM, CALLER) ? NULL : next_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    if (!next_realloc)
        find_next();
    return fails("malloc", ENOMEM, CALLER) ? NULL : next_realloc(old, size);
}

/* libuv wakes itself by pipes that cannot run full, and aborts where that fails. */
static int is_own_wake(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libuv");
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (fd != STDERR_FILENO && !is_own_wake(CALLER) && fails("write", ENOSPC, CALLER))
        return -1;
    return syscall(SYS_write, fd, data, size);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (fails("open", EACCES, CALLER))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int rename(const char *from, const char *to)
{
    return fails("rename", EACCES, CALLER)
               ? -1
               : (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_folder, const char *from, int folder, const char *to, int flags)
{
    return fails("link", EPERM, CALLER)
               ? -1
               : (int)syscall(SYS_linkat, from_folder, from, folder, to, flags);
}

int fsync(int fd)
{
    return fails("fsync", EIO, CALLER) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails("fsync", EIO, CALLER) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails("mmap", ENOMEM, CALLER))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
