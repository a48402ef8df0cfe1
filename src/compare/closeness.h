/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closeness.h - how far apart the values of two runs are, step by step: rounding, or more?
 *
 * The distance of two values is relative: that of two numbers to the larger one, that of two
 * tensors, as their sketches tell it (docs/trace-format.md), to the larger norm.
 *
 * A window is beyond rounding where half of the values that differ in it, or more, are as far apart
 * as a limit. It is 2^-18 (4e-6), 64 roundings of float32; once numbers of a lower precision have
 * differed it is four roundings of theirs: 2^-9 for float16, 2^-6 for bfloat16, as all that is
 * computed of them has their error.
 *
 * Why half of them, and not the farthest: a value that is zero but for rounding, as the gradient
 * of a bias in front of a batch normalisation, or of the bias of keys in attention, is another
 * number in each run, and Adam makes a whole step of it. Over 20 steps of a perceptron, a
 * convolutional net and a GPT, other threads, another order of a sum and products in two halves
 * took single parameters 1e-2 apart; the median of a step stayed below 1e-6. A rate that is 1 %
 * higher, a decay of norms and no clipping had medians of 4e-6 to 8e-3 in the first step, which
 * grew from there. Why no bound on growth: such a fault adds up evenly, a factor of 2 to 20 in the
 * second step and little later on, as rounding does.
 *
 * Under autocast to bfloat16 rounding is 1e-3 to 8e-3 from where it is seen, and so are these
 * faults: the two cannot be told apart there.
 *
 * Rounding grows, too: after hundreds of steps it may reach the limit. So something is said of the
 * steps before alone.
 */
#ifndef TC_COMPARE_CLOSENESS_H
#define TC_COMPARE_CLOSENESS_H

#include <stdint.h>

#include "compare/call_values.h"

/* Windows of which the distances are kept: of longer runs each entry stands for several. */
#define TC_CLOSENESS_ENTRIES 128
/* Distances are counted by powers of two, from 2^-TC_CLOSENESS_LEAST on. */
#define TC_CLOSENESS_LEAST 48

/* Norm and sums of a sketch. */
#define TC_N_SKETCH 5

/* Read the member of a tensor; false: it has none. */
bool tc_sketch_read(const struct tc_value *sketch, double *out);
/* How far apart two contents are, relative to the larger norm. */
double tc_sketch_distance(const double *x, const double *y);

struct tc_closeness_place {
    int64_t step;
    uint32_t site;
    tc_sym path; /* of the variable, or of the leaf */
};

/* How far apart two values are. The limit is 2^limit. */
struct tc_distance {
    double relative;
    int limit;
};

struct tc_closeness_entry {
    int64_t step;       /* the first that it stands for */
    double typical;     /* half of the values of a window are as far apart, to a factor of two */
    double worst;       /* the farthest value */
    uint64_t n_windows; /* with values that differ */
};

/* Begins as {.near_until = -1}. */
struct tc_closeness {
    int64_t near_until; /* the last step before one beyond rounding, or of all; -1: there is none */
    bool is_known;      /* the distance of any two values is */
    bool is_far;
    struct tc_closeness_place far; /* the first value as far apart as the limit in the first window
                                      beyond rounding */
    struct tc_closeness_entry entries[TC_CLOSENESS_ENTRIES];
    size_t n_entries;
    uint64_t per_entry; /* windows; 0 stands for 1 */
    /* The window that is not over. */
    struct tc_closeness_place first_far;
    bool has_first_far;
    int limit; /* the highest of all so far; 0: none */
    uint64_t n, n_unknown, counts[TC_CLOSENESS_LEAST + 2];
    double worst;
};

/* The distance of two leaves that differ; false where nothing tells it. Of a tensor that has a
 * sketch the digest alone has one. */
bool tc_leaf_distance(const struct tc_leaf *a, const struct tc_leaf *b, struct tc_distance *out);

/* Two leaves differ there. */
void tc_closeness_note(struct tc_closeness *closeness, const struct tc_closeness_place *place,
                       const struct tc_leaf *a, const struct tc_leaf *b);
/* All of a window of that step was compared. */
void tc_closeness_close(struct tc_closeness *closeness, int64_t step);

#endif /* TC_COMPARE_CLOSENESS_H */
