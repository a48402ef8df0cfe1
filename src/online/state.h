/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what a checker has told, kept in a file for the one that goes on after it
 *
 * JSON Lines: {"traincheck_state":1,"trace":PATH}, then {"file":NAME} for the first file that was
 * read, {"told":ID} for each violation, {"cause":ID} for each that a command is due for, and
 * {"ran":ID} when that command has ended. A last line that is torn does not count.
 */
#ifndef TC_ONLINE_STATE_H
#define TC_ONLINE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include <traincheck/error.h>

struct tc_state;

/*
 * Read the file, or begin one, and keep other checkers away from it. TC_E_FORMAT if it is another
 * kind of file, TC_E_USAGE if it is of another trace.
 */
enum tc_status tc_state_open(const char *path, const char *trace, struct tc_state **out,
                             struct tc_error *err);
void tc_state_close(struct tc_state *state);

/* Name of the first file of the run that was checked before, or NULL. */
const char *tc_state_file(const struct tc_state *state);
enum tc_status tc_state_set_file(struct tc_state *state, const char *name, struct tc_error *err);

bool tc_state_was_told(const struct tc_state *state, const char *id);
/* Remember an id. It is on the disk when this returns. */
enum tc_status tc_state_tell(struct tc_state *state, const char *id, struct tc_error *err);

/* Number of a cause, from 1 in the order in which they were added; 0 if it is none. */
size_t tc_state_cause(const struct tc_state *state, const char *id);
enum tc_status tc_state_add_cause(struct tc_state *state, const char *id, struct tc_error *err);
/* Did the command for a cause end? */
bool tc_state_has_run(const struct tc_state *state, const char *id);
enum tc_status tc_state_run(struct tc_state *state, const char *id, struct tc_error *err);

#endif /* TC_ONLINE_STATE_H */
