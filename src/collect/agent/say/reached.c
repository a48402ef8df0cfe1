/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reached.c - the fetches that may not be in the file yet
 *
 * Their number is bounded: where there are too many, two count as the later one. With the sink's
 * lock held.
 */
#include "collect/agent/say/reached.h"

#include <stdlib.h>
#include <string.h>

/* The step of the last line that has one. */
static int64_t last_step(const struct tc_strbuf *lines, int64_t otherwise)
{
    static const char key[] = "\"step\":"; /* within a string the quotes would be escaped */
    const size_t size = sizeof(key) - 1;

    for (size_t at = lines->size; at > size; at--)
        if (lines->text[at - 1] == ':' && !memcmp(lines->text + at - size, key, size))
            return strtoll(lines->text + at, NULL, 10);
    return otherwise;
}

void tc_reached_fetched(struct tc_reached *reached, const struct tc_strbuf *lines, uint64_t records)
{
    if (!lines->size)
        return;
    reached->fetched_step = last_step(lines, reached->fetched_step);
    if (reached->n_fetches == TC_MAX_FETCHES)
        reached->n_fetches--;
    reached->fetches[reached->n_fetches++] = (struct tc_fetch){records, reached->fetched_step};
}

void tc_reached_written(struct tc_reached *reached, uint64_t file_records)
{
    size_t n = 0;

    while (n < reached->n_fetches && reached->fetches[n].records <= file_records) {
        if (reached->fetches[n].step >= 0)
            reached->step = reached->fetches[n].step;
        n++;
    }
    reached->n_fetches -= n;
    memmove(reached->fetches, reached->fetches + n, reached->n_fetches * sizeof(*reached->fetches));
}
