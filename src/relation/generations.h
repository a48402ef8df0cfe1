/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generations.h - which processes of a run work together
 *
 * A job that is restarted, or that starts its ranks several times, leaves several processes of one
 * rank in its folder. Ranks are compared within one generation: processes of different ranks that
 * were started by the same restart, or that live at the same time.
 */
#ifndef TC_RELATION_GENERATIONS_H
#define TC_RELATION_GENERATIONS_H

#include "relation/ranks.h"
#include "replay/event.h"

struct tc_generation {
    TC_VEC(const struct tc_process *) members;
    struct tc_ranks ranks; /* of the members */
    /* Not after any member lived until, and not before any began: members live on, and bounds lag
     * behind. */
    int64_t lived_until, last_began;
    int64_t restart; /* of each member; -1: they have none, or not all the same one */
};

/* All zero is none. */
struct tc_generations {
    TC_VEC(struct tc_generation) items;
    struct tc_map of_process;
};

/* Number of its generation, from 0: found, or begun, when the process is asked about first. It must
 * have a rank by then, and have finished a step: so ranks that wait for each other have met. */
size_t tc_generation_of(struct tc_generations *generations, const struct tc_process *process);
void tc_generations_release(struct tc_generations *generations);

#endif /* TC_RELATION_GENERATIONS_H */
