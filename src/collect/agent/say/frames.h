/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.h - whose line called
 */
#ifndef TC_COLLECT_FRAMES_H
#define TC_COLLECT_FRAMES_H

#include "collect/agent/agent.h"

/*
 * Add `,"by":...,"at":...` for the frames of this thread: the owner of the calling frame, and the
 * nearest line of the user's own code.
 */
void tc_frames_add(struct tc_strbuf *out);

/* Is the function that runs the user's own? */
bool tc_frames_is_user(void);

#endif /* TC_COLLECT_FRAMES_H */
