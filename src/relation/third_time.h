/* SPDX-License-Identifier: Apache-2.0 */
/*
 * third_time.h - what may be chance, rounding or a matter of setting up counts from its third time
 *
 * Once and twice a healthy script does many a thing that would be wrong as a habit: it clears a
 * gradient that it tried, draws the same batch again, gives an optimizer its first step late. By
 * the third time it is what the script does. All forms count to this number; what else they ask
 * (in a row, of one process, at one line) is said where they do.
 */
#ifndef TC_RELATION_THIRD_TIME_H
#define TC_RELATION_THIRD_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define TC_THIRD_TIME 3
/* What a single batch, or its rows, may show by chance is told from the tenth on. */
#define TC_TENTH_TIME 10

/* How often in a row, with this time; before: so far. */
static inline uint64_t tc_in_a_row(uint64_t before, bool again)
{
    return again ? before + 1 : 0;
}

/* What a line did, by steps: however often in one of them. */
struct tc_line_steps {
    int64_t step; /* the last */
    uint64_t n;   /* 0: none yet */
};

/* In how many it did so, with this one. */
static inline uint64_t tc_in_steps(struct tc_line_steps *line, int64_t step)
{
    line->n += !line->n || line->step != step;
    line->step = step;
    return line->n;
}

#endif /* TC_RELATION_THIRD_TIME_H */
