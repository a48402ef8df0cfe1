/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - how fast a count grows, over the last seconds
 */
#ifndef TC_ONLINE_PACE_H
#define TC_ONLINE_PACE_H

#include <stddef.h>
#include <stdint.h>

#define TC_PACE_SPACING_MS 250
#define TC_PACE_WINDOW_MS  5000
#define TC_PACE_SAMPLES    32 /* more than a window of them */

/* Zeroed to begin with. */
struct tc_pace {
    struct tc_pace_sample {
        uint64_t ms;
        int64_t count;
    } samples[TC_PACE_SAMPLES]; /* each of another count than the one before; the oldest first */
    size_t n;
};

/* The count as it is now, as often as one likes. One that falls begins anew. */
void tc_pace_add(struct tc_pace *pace, uint64_t now_ms, int64_t count);
double tc_pace_per_s(const struct tc_pace *pace, uint64_t now_ms);

#endif /* TC_ONLINE_PACE_H */
