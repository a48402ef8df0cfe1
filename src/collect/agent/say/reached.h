/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reached.h - up to which step all records are in the file
 *
 * The sink writes several fetches into one frame, and learns only how many records have reached
 * the file. This keeps which steps they were of.
 */
#ifndef TC_COLLECT_REACHED_H
#define TC_COLLECT_REACHED_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TC_MAX_FETCHES 32 /* remembered until they are in the file */

struct tc_fetch {
    uint64_t records; /* all up to it */
    int64_t step;     /* its last, or -1 */
};

struct tc_reached {
    struct tc_fetch
        fetches[TC_MAX_FETCHES]; /* those that may not be in the file yet, oldest first */
    size_t n_fetches;
    int64_t fetched_step; /* the last of all that were fetched; -1: none was seen */
    int64_t step;         /* up to which all is in the file */
};

/* These lines were fetched, the last of so many records. */
void tc_reached_fetched(struct tc_reached *reached, const struct tc_strbuf *lines,
                        uint64_t records);
/* So many records are in the file. */
void tc_reached_written(struct tc_reached *reached, uint64_t file_records);

#endif /* TC_COLLECT_REACHED_H */
