/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.c - the times at which the count had grown
 *
 * The pace is taken between two such times, as what is written in bursts grows in bursts. The
 * window goes back to the last growth but one where that is longer ago: a job with a step each 20 s
 * has a pace, too. One that rests for longer than that foretells has stopped.
 */
#include "online/pace.h"

#include <string.h>

#define PATIENCE 4 /* times the last gap: then it has stopped */

void tc_pace_add(struct tc_pace *pace, uint64_t now_ms, int64_t count)
{
    const struct tc_pace_sample *last = pace->n ? &pace->samples[pace->n - 1] : NULL;

    /* The first sample is of the time at which the count begins to grow. */
    if (last && (count < last->count || (pace->n == 1 && count == last->count)))
        pace->n = 0;
    else if (last && (count == last->count || now_ms < last->ms + TC_PACE_SPACING_MS))
        return;
    if (pace->n == TC_PACE_SAMPLES)
        memmove(&pace->samples[0], &pace->samples[1], --pace->n * sizeof(*pace->samples));
    pace->samples[pace->n++] = (struct tc_pace_sample){now_ms, count};
}

double tc_pace_per_s(const struct tc_pace *pace, uint64_t now_ms)
{
    const struct tc_pace_sample *s = pace->samples, *last;
    uint64_t quiet_ms, gap_ms, ms;
    size_t first;

    if (pace->n < 2)
        return 0;
    last = &s[pace->n - 1];
    first = pace->n - 2;
    quiet_ms = now_ms - last->ms;
    gap_ms = last->ms - s[first].ms;
    if (quiet_ms > TC_PACE_WINDOW_MS && quiet_ms > PATIENCE * gap_ms)
        return 0;
    while (first > 0 && now_ms - s[first].ms < TC_PACE_WINDOW_MS)
        first--;
    ms = last->ms - s[first].ms;
    return 1000 * (double)(last->count - s[first].count) / (double)(ms > quiet_ms ? ms : quiet_ms);
}
