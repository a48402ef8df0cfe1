/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trim.h - the oldest frames of a trace file, given back to the file system while it grows
 *
 * In their place stand one frame with what later records rest on (remains.h), and skippable frames
 * of zstd whose bodies are holes. So all other frames stay where they are, for whoever writes or
 * reads them, and zstdcat reads the file as before. The first frame and the first steps stay.
 */
#ifndef TC_TRACE_TRIM_H
#define TC_TRACE_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>

struct tc_trim; /* of one file */

/* Steps that stay at the beginning of a file, and on either side of one that is asked for. */
#define TC_TRIM_HEAD_STEPS 2
#define TC_TRIM_AROUND     10

/*
 * path is copied. TC_E_IO if the file system cannot give back a part of a file, which the text
 * says. head: most bytes that stay for the first steps.
 */
enum tc_status tc_trim_open(const char *path, uint64_t head, struct tc_trim **out,
                            struct tc_error *err);
void tc_trim_close(struct tc_trim *trim);

/* Files beside the traces have steps that a process is to keep, a line for each. Is it the name of
 * one? */
#define TC_TRIM_MARKS_BEGIN "found_"
#define TC_TRIM_MARKS_END   ".steps"
bool tc_trim_is_marks(const char *name);

/* Is one of the n steps among those from first to last, or TC_TRIM_AROUND of it or less away? */
bool tc_trim_is_near(const int64_t *steps, size_t n, int64_t first, int64_t last);

struct tc_trim_order {
    uint64_t bytes; /* to give back; may be UINT64_MAX */
    uint64_t until; /* frames that end behind it stay */
    /* Does a frame with these steps stay? Frames without a step are asked for by the step before
     * them. After one that `ends` all later ones stay, too, until the next order. */
    bool (*keeps)(void *context, int64_t first_step, int64_t last_step, bool *ends);
    void *context;
};

/* Give back at least so many bytes, if there are as many; *freed is what came back. Frames that are
 * damaged stay. */
enum tc_status tc_trim_run(struct tc_trim *trim, const struct tc_trim_order *order, uint64_t *freed,
                           struct tc_error *err);

#endif /* TC_TRACE_TRIM_H */
