/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - stretches of steps of one stage, at most TC_TRACK_STRETCHES a process
 *
 * A window goes on with the last stretch or begins a new one. When the list is full each two
 * neighbours become one, without a stage where theirs differ; so a run of any length keeps its
 * extent and loses detail. Processes are known by address until tc_timeline_end_run().
 */
#include "check/timeline.h"

#include <string.h>

void tc_timeline_release(struct tc_timeline *timeline)
{
    for (size_t i = 0; i < timeline->tracks.n; i++)
        tc_vec_release(&timeline->tracks.items[i].stretches);
    tc_vec_release(&timeline->tracks);
    tc_map_release(&timeline->by_process);
    tc_arena_release(&timeline->arena);
}

void tc_timeline_end_run(struct tc_timeline *timeline)
{
    tc_map_clear(&timeline->by_process);
}

static struct tc_track *track_of(struct tc_timeline *timeline, const char *trace,
                                 const struct tc_process *process)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&timeline->by_process, (uintptr_t)process, &is_new);

    if (is_new) {
        const struct tc_track track = {
            .trace = trace,
            .file = tc_arena_text(&timeline->arena, process->file, strlen(process->file)),
            .rank = process->rank};
        tc_vec_push(&timeline->tracks, track);
        *slot = timeline->tracks.n;
    }
    return &timeline->tracks.items[*slot - 1];
}

/* Each two neighbours become one. */
static void thin_out(struct tc_track *track)
{
    struct tc_stretch *items = track->stretches.items;
    size_t n = track->stretches.n / 2;

    for (size_t i = 0; i < n; i++) {
        struct tc_stretch *a = &items[2 * i], *b = &items[2 * i + 1];
        items[i] = (struct tc_stretch){strcmp(a->stage, b->stage) ? "" : a->stage, a->first_step,
                                       b->last_step, a->begin_ns, b->end_ns};
    }
    track->stretches.n = n;
}

void tc_timeline_observe(struct tc_timeline *timeline, const struct tc_strtab *symbols,
                         const char *trace, const struct tc_event *event)
{
    const struct tc_window *window = event->window;

    if (event->kind != TC_EVENT_WINDOW || event->process->is_worker)
        return;
    struct tc_track *track = track_of(timeline, trace, event->process);
    const char *stage = tc_strtab_text(symbols, window->stage);
    struct tc_stretch *last =
        track->stretches.n ? &track->stretches.items[track->stretches.n - 1] : NULL;

    track->n_windows++;
    if (last && !strcmp(last->stage, stage)) {
        last->last_step = window->step;
        last->end_ns = tc_process_time(event->process, window->t);
        return;
    }
    if (track->stretches.n == TC_TRACK_STRETCHES)
        thin_out(track);
    tc_vec_push(&track->stretches,
                ((struct tc_stretch){stage, window->step, window->step,
                                     tc_process_time(event->process, window->begin_t),
                                     tc_process_time(event->process, window->t)}));
}
