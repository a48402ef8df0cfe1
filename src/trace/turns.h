/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h - which file of a folder is read next: the one that is behind in steps, then in time
 *
 * A binary heap. A file that is being read, or of which all was read, is not in it, so that no
 * place in it ever changes.
 */
#ifndef TC_TRACE_TURNS_H
#define TC_TRACE_TURNS_H

#include <stdint.h>

#include "base/vec.h"

/* What a file waits with. */
struct tc_turn {
    int64_t step, time_ns;
    size_t member; /* of its folder; decides between equals */
};

struct tc_turns {
    TC_VEC(struct tc_turn) heap;
};

void tc_turns_push(struct tc_turns *turns, struct tc_turn turn);
/* The next one; NULL: no file waits. Valid until the next push or pop. */
const struct tc_turn *tc_turns_first(const struct tc_turns *turns);
void tc_turns_pop(struct tc_turns *turns);
void tc_turns_release(struct tc_turns *turns);

#endif /* TC_TRACE_TURNS_H */
