/* SPDX-License-Identifier: Apache-2.0 */
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

/*
 * A cut can come late: a loop that clears its gradients after the forward is cut there, and one
 * that asks another model without gradients before the backward is cut by the stage. So forwards of
 * training that no step has followed, and what comes after them, belong to the window of the next
 * step.
 *
 * tc_window_close is called before the window is reported, tc_window_next empties it and numbers it
 * anew. is_late: it was a call of the next step that cut it.
 */
void tc_window_close(struct tc_process *process, bool is_late);
void tc_window_next(struct tc_process *process, bool is_late);
void tc_window_release(struct tc_window *window);

#endif /* TC_REPLAY_WINDOW_H */
