/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_adding.h - what ranks did to add up their gradients
 */
#ifndef TC_RELATION_REPLICA_ADDING_H
#define TC_RELATION_REPLICA_ADDING_H

#include "relation/form.h"

/* Of those of one step the first of these is told. */
enum tc_adding_how {
    TC_ADDING_OFF,        /* the model was told not to */
    TC_ADDING_NOTHING,    /* neither the model nor a collective did */
    TC_ADDING_COLLECTIVE, /* one came after the backward */
    TC_ADDING_MODEL,      /* the model adds them up by itself */
    TC_ADDING_UNKNOWN,    /* no backward of a model was met */
};

/* The last backward of a process, or of one of several in a step. */
struct tc_adding {
    enum tc_adding_how how;
    int64_t rank;
    struct tc_spot forward, backward, collective;
};

/* A call of a main process returned; map: process → struct tc_adding *. */
void tc_adding_meet_call(struct tc_map *map, const struct tc_event *event);
/* What a process did, or did before it was asked, joins that of others. */
void tc_adding_join(const struct tc_map *map, const struct tc_process *process,
                    struct tc_adding *of_step);
/* "; on rank 1 ... and no collective followed"; nothing where it explains nothing. */
void tc_adding_explain(const struct tc_strtab *symbols, const struct tc_adding *adding,
                       struct tc_strbuf *out);

#endif /* TC_RELATION_REPLICA_ADDING_H */
