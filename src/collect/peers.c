/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.c - a name for the job, from what launchers and batch systems put into the environment
 *
 * The same on all nodes of a job and different for the next one, hashed so that it tells nothing.
 * A trace of another host that is young, or of this job started again, is a peer if its process
 * record has the name; one that is only begun has none yet and counts.
 */
#include "collect/peers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include <traincheck/record.h>
#include <traincheck/trace.h>

/* As long as ranks wait for each other when torch.distributed starts. What was written before that
 * is of an earlier run: the rendezvous of two runs may have one name. */
#define MAX_AGE_S (30 * 60)

/* The batch systems first: a rendezvous may move when they start a job again. */
static const char *const names[][2] = {
    {"SLURM_JOB_ID",   "SLURM_STEP_ID"},
    {"PMIX_NAMESPACE", NULL           },
    {"MASTER_ADDR",    "MASTER_PORT"  },
};

/* How often the job was started again. */
static const char *const restarts[] = {"SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"};

void tc_peers_name_job(char job[TC_JOB_SIZE])
{
    uint64_t digest = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !digest; i++)
        for (size_t k = 0; k < 2 && names[i][k]; k++) {
            const char *word = getenv(names[i][k]);

            if (word && *word)
                digest = tc_hash64(word, strlen(word), digest + i + k + 1);
        }
    job[0] = '\0';
    if (digest)
        snprintf(job, TC_JOB_SIZE, "%016llx", (unsigned long long)digest);
}

static bool was_restarted(void)
{
    for (size_t i = 0; i < sizeof(restarts) / sizeof(*restarts); i++) {
        const char *count = getenv(restarts[i]);

        if (count && strtol(count, NULL, 10) > 0)
            return true;
    }
    return false;
}

/* "trace_HOST_r0_p17.jsonl.zst" */
static bool is_of_this_host(const char *name)
{
    struct tc_strbuf stem = TC_STRBUF_INIT;
    char host[HOST_NAME_MAX + 1] = "";
    bool is_ours;

    gethostname(host, sizeof(host) - 1);
    tc_strbuf_addf(&stem, "trace_%s_r", host);
    is_ours = strncmp(name, stem.text, stem.size) == 0;
    tc_strbuf_release(&stem);
    return is_ours;
}

/* What another node has only begun to write names no job yet: only that may be taken for ours. */
static bool names_job(const char *path, const char *job, bool may_be_begun)
{
    struct tc_trace_file *file = NULL;
    struct tc_error err = {0};
    bool is_job = may_be_begun;

    if (tc_trace_file_open(path, NULL, &file, &err) == TC_OK) {
        is_job = tc_value_is(tc_value_get(tc_trace_file_process(file)->object, "job"), job);
        tc_trace_file_close(file);
    }
    return is_job;
}

bool tc_peers_is_of_job(const char *dir, const char *name, const char *job)
{
    char *path = tc_fs_join(dir, name);
    struct stat info;
    bool is_peer = false;

    if (*job && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        is_peer = !is_of_this_host(name) && info.st_mtime > time(NULL) - MAX_AGE_S;
        is_peer = (is_peer || was_restarted()) && names_job(path, job, is_peer);
    }
    tc_free(path);
    return is_peer;
}
