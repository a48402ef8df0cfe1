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

/* Add `,"at":...` if a line of the user's own calls, and no function of another's between. */
void tc_frames_add_caller(struct tc_strbuf *out);

/* The place in the user's own code that runs; false if another's code does. */
struct tc_place_in_code {
    const PyCodeObject *code; /* borrowed, for comparison alone */
    int instruction;          /* -1 where the interpreter does not tell */
    size_t caller;            /* the number of what is kept of it, or SIZE_MAX */
};
bool tc_frames_user_place(struct tc_place_in_code *place);
/* How many calls from it were asked for in the current step, with this one. */
unsigned tc_frames_count_at(const struct tc_place_in_code *place);
/* The call that the place was asked for is not told: the next one has another. */
void tc_frames_forget_place(void);

#endif /* TC_COLLECT_FRAMES_H */
