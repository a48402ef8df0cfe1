/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_time.h - how long the agent works in threads that train
 *
 * Two readings of the processor's counter of time for each piece of work, and only where a budget
 * asks for it. With the interpreter's lock.
 */
#ifndef TC_COLLECT_OWN_TIME_H
#define TC_COLLECT_OWN_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct tc_own_time {
    bool is_measured;
    uint64_t ticks; /* so far */
};

extern struct tc_own_time tc_own_time;

/* In a unit of the processor's own, which does not change while it runs. */
static inline uint64_t tc_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return tc_clock_ns();
#endif
}

/* What is given to tc_own_time_end(). No piece may lie within another. */
static inline uint64_t tc_own_time_begin(void)
{
    return tc_own_time.is_measured ? tc_ticks() : 0;
}

static inline void tc_own_time_end(uint64_t begin)
{
    if (tc_own_time.is_measured && begin)
        tc_own_time.ticks += tc_ticks() - begin;
}

#endif /* TC_COLLECT_OWN_TIME_H */
