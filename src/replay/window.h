/*
 * window.h - step windows: which calls of the main thread stand between two cuts
 */
#ifndef TC_REPLAY_WINDOW_H
#define TC_REPLAY_WINDOW_H

#include "replay/event.h"

/* Calls on the main thread of a main process, in record order. */
void tc_window_call_begins(struct tc_process *process, struct tc_strtab *symbols,
                           struct tc_call *call);
void tc_window_call_ends(struct tc_process *process, struct tc_strtab *symbols,
                         struct tc_call *call);

/* A call of the loop that has ended becomes the newest of process->recent. */
void tc_window_remember(struct tc_process *process, const struct tc_call *call);

/* Empty the window and number it anew. */
void tc_window_next(struct tc_process *process);
void tc_window_release(struct tc_window *window);

#endif /* TC_REPLAY_WINDOW_H */
