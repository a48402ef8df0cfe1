/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.h - all that is known of two runs that are compared
 */
#ifndef TC_COMPARE_COMPARISON_H
#define TC_COMPARE_COMPARISON_H

#include "compare/closeness.h"
#include "compare/differences.h"
#include "compare/outline.h"
#include "replay/symbols.h"
#include <traincheck/compare.h>

/* One process of each run. */
struct tc_process_pair {
    int64_t rank;
    bool is_worker;
    uint64_t n_windows, n_step_windows; /* that were compared */
    uint64_t only_a, only_b;            /* windows that have no like */
    uint64_t n_calls;
    bool has_parted; /* a value differed: where it did first */
    int64_t parted_step;
    uint64_t parted_steps; /* steps that were compared before */
};

struct tc_comparison {
    const struct tc_compare_config *config;
    struct tc_excerpts excerpts; /* of the healthy runs of invariant files */
    struct tc_strtab *symbols;
    struct tc_call_sites sites;
    struct tc_leaf_reader reader;
    struct tc_course_context context;
    struct tc_outline reference, run;
    TC_VEC(struct tc_outline) healthy; /* the others */
    struct tc_map aside;               /* keys of what differs between healthy runs, how often */
    TC_VEC(uint64_t) matched; /* of each site of the reference: how often it has its like */
    struct tc_differences differences;
    TC_VEC(struct tc_process_pair) pairs;
    size_t unpaired_a, unpaired_b; /* processes without their like */
    int64_t resumed_at;            /* step of the reference at which the run begins, or -1 */
    struct tc_map parts; /* names of variables of which a process of either run holds a part */
    uint64_t n_parts_of_ranks; /* variables of ranks whose parts do not add up (shards.h) */
    uint64_t n_steps_of_ranks; /* compared over all ranks of another number of them; else 0 */
    bool has_other_seed, has_values;
    bool is_same_program; /* equal scripts, environment and command line */
    struct tc_closeness closeness;
    uint64_t n_counted; /* differences that are not set aside */
};

/* What is kept while the windows of two processes are compared. */
struct tc_pair_state {
    struct tc_comparison *comparison;
    struct tc_outline *a, *b; /* a: the reference */
    struct tc_differences *out;
    struct tc_process_pair *pair;
    bool is_healthy;           /* b is a healthy run, too */
    bool is_last_a, is_last_b; /* the windows are the last of their processes */
    bool has_new_variable; /* the leaves are of a variable that both look at for the first time */
    bool has_no_content;   /* a is an excerpt */
    bool has_other_world;  /* of ranks: values differ by rounding and by shares of a batch */
    bool resumes; /* b goes on from a, with this window of its own: what it looks at there for the
                     first time was compared as a state */
    uint64_t resumed_window;
    uint64_t order;         /* counts what was compared */
    struct tc_map unfilled; /* a set: serials of tensors of b whose content was not told yet */
    struct tc_map renamed;  /* name of a variable of b -> that of a */
    struct tc_leaves leaves_a, leaves_b;
    const struct tc_course_window *window_a, *window_b;
};

/* A difference that is seen now, at no site and no path. */
static inline struct tc_difference tc_difference_seen(const struct tc_pair_state *state,
                                                      enum tc_difference_kind kind,
                                                      enum tc_difference_what what)
{
    return (struct tc_difference){
        .kind = kind,
        .what = what,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .passed.was = TC_NO_SITE,
        .path = TC_SYM_EMPTY,
        .rank = state->pair->rank,
        .is_worker = state->pair->is_worker,
        .step = state->window_b->step,
        .stage = state->window_b->stage,
        .order = state->order,
        .window = state->window_b->number,
        .is_after = state->pair->has_parted,
        .steps_before = state->pair->n_step_windows,
    };
}

#endif /* TC_COMPARE_COMPARISON_H */
