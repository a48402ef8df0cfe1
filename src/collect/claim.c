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
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/hash.h"

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

/*
 * How launchers tell the processes that they start of how many they are, and of which job: the
 * rendezvous of torchrun, a step of Slurm, a name space of PMIx. Two jobs of a host at one time
 * differ in it, and a wrapper between launcher and collector does not change it.
 */
static const struct launcher {
    const char *size, *job[2];
} launchers[] = {
    {"WORLD_SIZE",           {"MASTER_ADDR", "MASTER_PORT"}   },
    {"SLURM_NTASKS",         {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE", NULL}         },
    {"PMI_SIZE",             {NULL, NULL}                     },
};

static const struct launcher *find_launcher(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
        const char *size = getenv(launchers[i].size);

        if (size && strtol(size, NULL, 10) > 1)
            return &launchers[i];
    }
    return NULL;
}

/* Where a launcher names no job its processes have one parent. */
static uint64_t job_of(const struct launcher *launcher)
{
    uint64_t job = 0;

    for (size_t i = 0; i < 2 && launcher->job[i]; i++) {
        const char *word = getenv(launcher->job[i]);

        if (word)
            job = tc_hash64(word, strlen(word), job + i);
    }
    return job ? job : (uint64_t)getppid();
}

/* False if another process has it. Where there are no such sockets nobody is kept away. */
static bool claim(size_t which, const struct stat *folder, uint64_t job)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "traincheck-collect %zu %jx %jx %jx",
                 which, (uintmax_t)folder->st_dev, (uintmax_t)folder->st_ino, (uintmax_t)job);
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
    const struct launcher *launcher = find_launcher();
    struct stat folder;

    *is_shared = false;
    if (stat(dir, &folder) != 0)
        return TC_OK;
    if (launcher && !claim(1, &folder, job_of(launcher))) {
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
