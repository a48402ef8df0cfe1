/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers.h - what DataLoader workers that live at the same time have in common; private to
 * api_arg_distinct.c
 */
#ifndef TC_RELATION_WORKERS_H
#define TC_RELATION_WORKERS_H

#include "relation/relation.h"

struct tc_workers {
    TC_VEC(struct operand *) operands;
    struct tc_map by_operand; /* hash of (parent, key) → struct operand * */
    struct tc_map by_value;   /* hash of (parent, key, value) → struct value * */
    struct tc_map waiting;    /* process → struct waiting * */
};

void tc_workers_release(struct tc_workers *workers);

/*
 * Events of workers, and the end of the run. An example for each value that a worker gave to an
 * operand of a call while a sibling made that call: "repeated" if a sibling gave the same value
 * before, known as soon as both were read; else "distinct", known at the end of the run. detail is
 * the pid of the worker, an int64_t.
 */
void tc_workers_observe(struct tc_workers *workers, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_sink *sink);

#endif /* TC_RELATION_WORKERS_H */
