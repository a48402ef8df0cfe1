/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - a shell command for each cause of violations, beside the checking
 */
#ifndef TC_ONLINE_COMMAND_H
#define TC_ONLINE_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tc_commands;

struct tc_commands_config {
    const char *command; /* for sh -c */
    uint64_t limit_ms;   /* a command that runs for longer is ended with its children; 0: never */
    /* A line for each command that fails or is ended. */
    void (*say)(void *context, const char *line);
    /* The command for id ended, well or not; NULL if nobody asks. */
    void (*done)(void *context, const char *id);
    void *context;
};

/* The loop and what config points to are borrowed. */
struct tc_commands *tc_commands_new(uv_loop_t *loop, const struct tc_commands_config *config);
/* Commands that still run are ended, and are not done. Run the loop once more before closing it. */
void tc_commands_free(struct tc_commands *commands);

/* Run it with this on stdin, now or when fewer are running; never waits. */
void tc_commands_run(struct tc_commands *commands, const char *id, const char *text, size_t size);
/* Running and waiting ones. */
size_t tc_commands_pending(const struct tc_commands *commands);
/* Of these, and of ones for which there was no room, say that they are left to the next check.
 * state: what --state names, or NULL. */
void tc_commands_say_left(const struct tc_commands *commands, const char *state);

#endif /* TC_ONLINE_COMMAND_H */
