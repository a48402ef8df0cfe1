/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h - a fact without its value, and what was seen of it
 *
 * Learning keeps two values of a slot, the first ones by their letters, and how often each was met:
 * a slot with two is no fact, and what is kept does not depend on which process was read first.
 * Judging keeps the value that is expected.
 */
#ifndef TC_FACT_SLOT_H
#define TC_FACT_SLOT_H

#include "base/vec.h"
#include "fact/surprise.h"
#include "invariant/fact.h"
#include "replay/event.h"

#define TC_FACT_VALUES 2

/* What broke in one window of one process, and may be chance. */
struct tc_fact_kept {
    struct tc_place place; /* the first */
    tc_sym value, origin;
    uint64_t times;
    uint32_t lead; /* that it followed from, a tc_fact_lead; 0: none */
};

/* Breaches of a fact that is broken in so many windows, and is no surprise yet, are chance. */
#define TC_FACT_MAX_KEPT 256

struct tc_fact_slot {
    struct tc_fact fact;           /* value: the one expected */
    uint64_t n_windows;            /* learning, in which it was met, of all processes */
    struct tc_fact_record learned; /* judging */
    tc_sym key;                    /* of its examples; TC_NO_SYM while learning */
    tc_sym values[TC_FACT_VALUES];
    uint64_t n[TC_FACT_VALUES];
    unsigned n_values;
    bool is_mixed; /* several values are expected, by facts of several files */
    uint64_t held, told, broken;
    TC_VEC(struct tc_fact_kept) kept; /* breaches that are not told yet, by window */
    bool is_told; /* it broke too often for chance: breaches are reported at once */
};

#endif /* TC_FACT_SLOT_H */
