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

#include <ctype.h>

#include "base/vec.h"
#include "fact/surprise.h"
#include "invariant/fact.h"
#include "replay/event.h"

#define TC_FACT_VALUES 2

/* The numbers that a slot had. */
struct tc_fact_span {
    double low, high;
    uint32_t least, most; /* of their hashes */
    uint64_t bits[2];     /* one for each of their hashes, which may share it */
    uint32_t n;           /* how often one was met in another call than before */
};

/* Where a number of one process starts, until another one is met. */
struct tc_fact_start {
    const struct tc_process *process; /* NULL: there was none yet */
    double number;
    bool has_left;
};

/* So many different ones of all processes together are kept. */
#define TC_FACT_STARTS 4

/* How often a slot had the smallest and the largest of its numbers; judging, how often it had the
 * one that is expected, and how often one beyond it. */
struct tc_fact_bounds {
    uint64_t n_low, n_high;
    struct tc_fact_start started; /* learning, of the process that was met first */
    struct {
        double number;
        uint64_t n;
    } starts[TC_FACT_STARTS]; /* how often each was met in the beginning of a process */
    unsigned n_starts;        /* more than TC_FACT_STARTS: not all of them are kept */
    double expected, beyond;  /* beyond: the farthest */
    uint64_t n_met, n_beyond;
    bool has_fraction;     /* judging: not all beyond it are whole numbers */
    bool may_miss;         /* what a model computes need not reach it */
    struct tc_place first; /* of the first occasion beyond it */
};

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
    uint64_t n_all; /* learning, and of a number that varies: values that are not kept as well */
    unsigned n_values;
    struct tc_fact_span span;
    struct tc_fact_bounds bounds;
    tc_sym at;     /* judging, of what a whole run breaks: the last new line of it */
    bool is_mixed; /* several values are expected, by facts of several files */
    uint64_t held, told, broken;
    TC_VEC(struct tc_fact_kept) kept; /* breaches that are not told yet, by window */
    bool is_told;                     /* it broke too often for chance: breaches are told at once */
};

/* Is the JSON text a number? */
static inline bool tc_fact_is_number(const char *json)
{
    return isdigit((unsigned char)json[0]) || json[0] == '-';
}

#endif /* TC_FACT_SLOT_H */
