/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.c - one collector at a time in a folder
 *
 * The claim is a name of a socket without a file: it is of this host, and gone with its process. A
 * lock on the folder would, on file systems that share locks between hosts, refuse the second node
 * of a job.
 */
#include "collect/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"

/* One for the folder, and one for the job of several that it is of. */
static struct {
    int fd;
    struct stat is;
} claims[2] = {{.fd = -1}, {.fd = -1}};

/* The job may have closed every descriptor that it found: the number may be of a file of its own.
 */
void tc_claim_leave(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct stat there;

        if (claims[i].fd >= 0 && fstat(claims[i].fd, &there) == 0 &&
            there.st_dev == claims[i].is.st_dev && there.st_ino == claims[i].is.st_ino)
            close(claims[i].fd);
        claims[i].fd = -1;
    }
}

/* As torchrun, Slurm, Open MPI and MPICH tell the processes that they start. */
static bool is_one_of_several(void)
{
    static const char *const sizes[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
                                        "PMI_SIZE"};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const char *size = getenv(sizes[i]);

        if (size && strtol(size, NULL, 10) > 1)
            return true;
    }
    return false;
}

/* False if another process has it. Where there are no such sockets nobody is kept away. */
static bool claim(size_t which, const struct stat *folder, long job)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "traincheck-collect %jx %jx %ld",
                     (uintmax_t)folder->st_dev, (uintmax_t)folder->st_ino, job);
    size_t size = offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n;
    int fd = tc_fs_move_away(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    bool is_taken =
        fd >= 0 && bind(fd, (struct sockaddr *)&name, (socklen_t)size) != 0 && errno == EADDRINUSE;

    if (is_taken)
        close(fd);
    else if (fd >= 0 && fstat(fd, &claims[which].is) == 0)
        claims[which].fd = fd;
    return !is_taken;
}

enum tc_status tc_claim_folder(const char *dir, bool is_replaced, bool *is_shared,
                               struct tc_error *err)
{
    struct stat folder;

    *is_shared = false;
    if (stat(dir, &folder) != 0)
        return TC_OK;
    if (is_one_of_several() && !claim(1, &folder, (long)getppid())) {
        *is_shared = true;
        return TC_OK;
    }
    if (!claim(0, &folder, 0))
        return tc_error_set(err, TC_E_USAGE,
                            "%s: another traincheck-collect is writing there; name another folder",
                            dir);
    for (size_t i = 0; i < 2 && is_replaced; i++)
        if (claims[i].fd >= 0)
            fcntl(claims[i].fd, F_SETFD, 0);
    pthread_atfork(NULL, NULL, tc_claim_leave);
    return TC_OK;
}
