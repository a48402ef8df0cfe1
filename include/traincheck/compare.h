/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - why do two runs differ?
 */
#ifndef TRAINCHECK_COMPARE_H
#define TRAINCHECK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>
#include <traincheck/trace.h>

struct tc_compare_config {
    const char *run;            /* trace folder */
    const char *const *against; /* trace folders of healthy runs; the first is the reference */
    size_t n_against;
    uint64_t n_steps;           /* no further than so many steps of the run; 0: to its end */
    bool resumed;               /* the run goes on from a checkpoint of the reference */
    int64_t from_step;          /* ... at this step of it; TC_NONE: found by the weights */
    const char *const *formats; /* further reports: sarif, github */
    size_t n_formats;
    const char *output_dir; /* created; NULL: no files are written */
    const char *command_line;
    bool no_html_report, color, quiet, json, verbose;
    void (*write)(void *context, const char *text, size_t size);
    /* Bytes of JSON read so far, of both runs; false ends it with TC_E_INTERRUPTED. */
    bool (*progress)(void *context, uint64_t bytes);
    void *context;
};

struct tc_compare_result {
    uint64_t n_differences; /* that count */
    uint64_t n_set_aside;
    uint64_t n_windows, n_calls; /* compared */
    uint64_t json_bytes, wall_ns;
};

/*
 * Read, compare, report. TC_E_FORMAT: the two cannot be compared, and the text says why.
 */
TC_API enum tc_status tc_compare_run(const struct tc_compare_config *config,
                                     struct tc_compare_result *result, struct tc_notes *notes,
                                     struct tc_error *err);

#endif /* TRAINCHECK_COMPARE_H */
