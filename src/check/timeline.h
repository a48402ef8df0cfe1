/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - which steps each process went through, in bounded memory
 */
#ifndef TC_CHECK_TIMELINE_H
#define TC_CHECK_TIMELINE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "replay/event.h"

/* Step windows of one stage in a row; "" for several stages that were joined to save room. */
struct tc_stretch {
    const char *stage;
    int64_t first_step, last_step;
    int64_t begin_ns, end_ns; /* wall clock, or the process's own if that is unknown */
};

/* A long run keeps so many stretches a process; neighbours are joined beyond that. */
#define TC_TRACK_STRETCHES 256

struct tc_track {
    const char *trace, *file;
    int64_t rank; /* -1 when unknown */
    uint64_t n_windows;
    TC_VEC(struct tc_stretch) stretches;
};

struct tc_timeline {
    struct tc_arena arena;
    TC_VEC(struct tc_track) tracks;
    struct tc_map by_process; /* process of this run → index of its track, plus one */
};

void tc_timeline_release(struct tc_timeline *timeline);
/* The processes known so far end here. */
void tc_timeline_end_run(struct tc_timeline *timeline);
/* Note a window that closed. */
void tc_timeline_observe(struct tc_timeline *timeline, const struct tc_strtab *symbols,
                         const char *trace, const struct tc_event *event);

#endif /* TC_CHECK_TIMELINE_H */
