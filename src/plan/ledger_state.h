/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_state.h - what is counted for the bound of the error; shared by the files that count it
 */
#ifndef TC_PLAN_LEDGER_STATE_H
#define TC_PLAN_LEDGER_STATE_H

#include <pthread.h>

#include "base/map.h"
#include "plan/carry.h"
#include "plan/degree.h"
#include "plan/element.h"

/* What a storage holds. A root also has the degree of its square, which products may bring back;
 * what carries logs that of what they are logs of, and of its inverse. */
struct held {
    struct tc_degree value, square, carried;
    double late; /* applications that only elementwise operators follow, in one element */
    double n;    /* elements of the storage */
};

struct tracked {
    struct held *slots;
    uint32_t next_alloc;
    uint8_t *is_late; /* for each operator */
};

/* All applications of a function, whatever its attributes; those that only elementwise operators
 * follow are counted by element. */
struct applied {
    double n;
    struct tc_degree argument, late_argument;
    bool has_late;
};

/* All values of one level that were inverted: sums over them. */
struct inverted {
    double own, inverses;
};

struct tc_ledger {
    const struct tc_plan_set *set;
    enum tc_laws_mode mode;
    struct tracked *ranks;
    struct tc_map forms; /* address of a rule -> address of its form */
    struct applied functions[TC_N_FN];
    struct inverted levels[TC_DEGREE_LEVELS + 1];
    struct tc_degree result;
    double late; /* applications that a result rests on and functions[].n has not */
    bool is_too_deep;
    const struct tc_plan_op *choice;
    uint64_t n_choices;
    pthread_mutex_t lock;
};

/* To what is at least as high in all respects. */
void tc_degree_raise(struct tc_degree *a, struct tc_degree to);
/* For each operator: do only elementwise ones follow? The caller frees it. */
uint8_t *tc_degree_find_late(const struct tc_plan_program *program);

#endif /* TC_PLAN_LEDGER_STATE_H */
