/*
 * command.h - a shell command for each violation, beside the checking
 */
#ifndef TC_ONLINE_COMMAND_H
#define TC_ONLINE_COMMAND_H

#include <stddef.h>
#include <uv.h>

struct tc_commands;

/* say gets a line for each command that fails. The loop and the text are borrowed. */
struct tc_commands *tc_commands_new(uv_loop_t *loop, const char *command,
                                    void (*say)(void *context, const char *line), void *context);
/* Commands that still run are left to themselves. Run the loop once more before closing it. */
void tc_commands_free(struct tc_commands *commands);

/* Run it with this on stdin, now or when fewer are running; never waits. */
void tc_commands_run(struct tc_commands *commands, const char *text, size_t size);
/* Running and waiting ones. */
size_t tc_commands_pending(const struct tc_commands *commands);

#endif /* TC_ONLINE_COMMAND_H */
