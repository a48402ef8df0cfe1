/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_spread.h - in which steps something happened, and how often, in bounded memory
 *
 * Steps are kept one by one as long as there is room; then those of one stretch of 2, 4, 8 ...
 * steps are counted together. What is kept is the same in whatever order the steps come.
 */
#ifndef TC_CHECK_STEP_SPREAD_H
#define TC_CHECK_STEP_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#define TC_SPREAD_STRETCHES 64

struct tc_step_stretch {
    int64_t first, last; /* steps that it was met in: of 2^shift in a row */
    uint64_t n;          /* times */
};

/* All zero to begin with. */
struct tc_step_spread {
    unsigned shift; /* 0: every step is known */
    size_t n;
    struct tc_step_stretch items[TC_SPREAD_STRETCHES]; /* in their order */
};

/* A negative step is none that is known. */
void tc_step_spread_add(struct tc_step_spread *spread, int64_t step);
/* Add all of another one. */
void tc_step_spread_join(struct tc_step_spread *spread, const struct tc_step_spread *other);

#endif /* TC_CHECK_STEP_SPREAD_H */
