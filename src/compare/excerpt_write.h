/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_write.h - a trace to its excerpt (excerpt.h)
 */
#ifndef TC_COMPARE_EXCERPT_WRITE_H
#define TC_COMPARE_EXCERPT_WRITE_H

#include "compare/excerpt.h"

/* How much of a run there is. */
struct tc_excerpt_size {
    uint64_t n_windows, n_kept; /* of the run; with their calls */
    uint64_t bytes;             /* of the line */
};

/* Read the trace and append the line of its excerpt, with its newline. Nothing is appended for the
 * trace of another tool, and for one of which steps were deleted, which is noted ("no-excerpt"). */
enum tc_status tc_excerpt_make(const char *trace, struct tc_strbuf *out,
                               struct tc_excerpt_size *size, struct tc_notes *notes,
                               struct tc_error *err);

#endif /* TC_COMPARE_EXCERPT_WRITE_H */
