/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - how long work takes
 */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that never goes back, from a point of its own. */
static inline uint64_t tc_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#endif /* TC_BASE_CLOCK_H */
