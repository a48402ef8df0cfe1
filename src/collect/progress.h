/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - the status line of --progress
 *
 * A thread of ours shows what the board says, twice a second, if stderr is a terminal that can
 * erase a line. The cursor is left at the start of the line, so that what the job prints next
 * stands there.
 */
#ifndef TC_COLLECT_PROGRESS_H
#define TC_COLLECT_PROGRESS_H

void tc_progress_start(void);
/* End the thread and clear the line. Nothing if it was not started, or in a forked child. */
void tc_progress_stop(void);

#endif /* TC_COLLECT_PROGRESS_H */
