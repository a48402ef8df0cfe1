/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.h - which traces of a folder are of the same job as this process
 */
#ifndef TC_COLLECT_PEERS_H
#define TC_COLLECT_PEERS_H

#include <stdbool.h>

enum {
    TC_JOB_SIZE = 17
};

/* The name that a launcher gave the job, the same on all nodes, as a digest of it; empty where none
 * did. */
void tc_peers_name_job(char job[TC_JOB_SIZE]);

/*
 * Is a trace file of another node of this job, or was it left by this job before it was restarted?
 * Such a trace belongs to the run that is about to begin.
 */
bool tc_peers_is_of_job(const char *dir, const char *name, const char *job);

#endif /* TC_COLLECT_PEERS_H */
