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

/* Empty the window and number it anew. */
void tc_window_next(struct tc_process *process);
void tc_window_release(struct tc_window *window);

/* Have all, some or none of these variables a gradient? TC_SYM_ALL, _SOME, _NONE. */
tc_sym tc_window_grads(const struct tc_process *process, const int64_t *serials, size_t n);

#endif /* TC_REPLAY_WINDOW_H */
