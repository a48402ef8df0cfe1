/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - is a parallel training job the same computation as the single-device job?
 */
#ifndef TRAINCHECK_PLAN_H
#define TRAINCHECK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>

struct tc_plan_check_config {
    const char *plan;           /* folder with the plans of all ranks */
    const char *reference;      /* folder with the plan of one device */
    const char *const *formats; /* further reports: sarif, junit, github */
    size_t n_formats;
    const char *output_dir; /* created; NULL: no files are written */
    unsigned jobs;          /* threads; 0: all cores */
    unsigned seeds;         /* independent evaluations; 0: 2, and up to 16 for error_bits of 80 */
    bool no_html_report, color, quiet, json;
    void (*write)(void *context, const char *text, size_t size);
    /* Operators evaluated so far, of how many; false ends it with TC_E_INTERRUPTED. */
    bool (*progress)(void *context, uint64_t done, uint64_t of);
    void *context;
};

enum tc_plan_answer {
    TC_PLAN_IS_VERIFIED,
    TC_PLAN_IS_REFUTED,
    TC_PLAN_IS_UNJUDGED /* an operator without a rule, or one that cannot be evaluated */
};

struct tc_plan_check_result {
    enum tc_plan_answer answer;
    uint64_t n_results, n_differ, n_verified;
    uint64_t n_ops; /* of all ranks */
    uint32_t world, n_retargeted;
    /* A wrong "verified" has a chance below 2^-error_bits, by the degrees that were counted; 0: the
     * degrees are too high for a bound. */
    unsigned error_bits;
    uint64_t wall_ns;
};

/*
 * Read both, evaluate, explain, report. Errors are of what cannot be compared: unreadable plans,
 * tensors whose place is unknown, batches that differ.
 */
TC_API enum tc_status tc_plan_check(const struct tc_plan_check_config *config,
                                    struct tc_plan_check_result *result, struct tc_error *err);

#endif /* TRAINCHECK_PLAN_H */
