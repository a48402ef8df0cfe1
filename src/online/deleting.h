/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deleting.h - records that were checked are deleted from the trace, but around findings
 */
#ifndef TC_ONLINE_DELETING_H
#define TC_ONLINE_DELETING_H

#include "online/found_steps.h"
#include <traincheck/trace.h>

struct tc_deleting;

/* Both are borrowed. */
struct tc_deleting *tc_deleting_new(const struct tc_trace_folder *folder,
                                    const struct tc_found_steps *found);
void tc_deleting_free(struct tc_deleting *deleting);

/*
 * Delete what is no longer needed: steps before this one, which no process will be judged in any
 * more. TC_E_IO: the file system cannot do it, or failed; what is in the files is whole.
 */
enum tc_status tc_deleting_run(struct tc_deleting *deleting, int64_t step, struct tc_error *err);

/* Bytes of disk given back so far. */
uint64_t tc_deleting_freed(const struct tc_deleting *deleting);

#endif /* TC_ONLINE_DELETING_H */
