/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost.h - records that found no room, until the trace says so
 */
#ifndef TC_COLLECT_LOST_H
#define TC_COLLECT_LOST_H

#include <stdint.h>

#include "base/strbuf.h"

struct tc_lost {
    uint64_t n;
    int64_t first_step, last_step; /* -1: unknown */
};

/* One more, of a step; -1: of none that is known. */
void tc_lost_count(struct tc_lost *lost, int64_t step);
/* Add a note of the code "lost" (docs/trace-format.md) about them, and begin anew. */
void tc_lost_note(struct tc_lost *lost, struct tc_strbuf *out);

#endif /* TC_COLLECT_LOST_H */
