/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.h - what all ranks of a run hold of a variable, added up
 *
 * With `--content full` the sketches of parts that are rows of one tensor add up to that of the
 * whole (docs/trace-format.md, "Sketches"): so a variable that one run shards compares with one
 * that the other holds whole, or shards over another number of ranks. Of replicas that of the first
 * rank counts. DistributedDataParallel's ".module" is no part of a name.
 */
#ifndef TC_COMPARE_SHARDS_H
#define TC_COMPARE_SHARDS_H

#include "compare/closeness.h"
#include "compare/course_window.h"

/* What is known of a run; release it. */
struct tc_shards {
    struct tc_map *ranks; /* of each rank: name -> its last sketch, and which part that is of */
    size_t n;
};

enum tc_total {
    TC_TOTAL_NONE,  /* a rank tells no sketch, or lacks the variable */
    TC_TOTAL_PARTS, /* it is split in another way than by rows: sketches of parts do not add up */
    TC_TOTAL_KNOWN,
};

void tc_shards_init(struct tc_shards *shards, size_t n_ranks);
void tc_shards_release(struct tc_shards *shards);

/* What the window of a rank tells of its variables replaces what was known of them. */
void tc_shards_note(struct tc_shards *shards, struct tc_strtab *symbols, size_t rank,
                    const struct tc_course_window *window);

/* The next variable of the first rank; *pos begins at 0. False behind the last. */
bool tc_shards_next(const struct tc_shards *shards, size_t *pos, tc_sym *name);
enum tc_total tc_shards_total(const struct tc_shards *shards, tc_sym name, double *sketch);

#endif /* TC_COMPARE_SHARDS_H */
