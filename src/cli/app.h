/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.h - what every tool does around its work
 *
 * Lines for people on stderr ("traincheck-check: ..."), results on stdout, exit
 * codes, signals, colour, and a progress line on a terminal. Nothing else in
 * src/ prints or knows exit codes.
 */
#ifndef TC_CLI_APP_H
#define TC_CLI_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>

#include "base/terminal.h"
#include "cli/opt.h"

#define TC_APP_FAILED 2 /* wrong usage, unreadable input */

enum tc_app_when {
    TC_APP_AUTO,
    TC_APP_ALWAYS,
    TC_APP_NEVER
};
#define TC_APP_WHEN "auto|always|never" /* the same, for an option table */

struct tc_app {
    const struct tc_opt_tool *tool;
    int failed;               /* exit status when the work fails; 0: TC_APP_FAILED */
    bool quiet;               /* tc_app_say says nothing */
    bool progress;            /* something of it is shown */
    bool has_no_argument;     /* on the command line */
    int exit_status;          /* set by run if it succeeds */
    const char *command_line; /* quoted for a shell; lives as long as the arena */
    struct tc_opt_parser parser;
    struct tc_arena arena;
    int stdout_errno; /* why text could not be written to stdout; 0: it arrived */
    bool redraws;     /* progress is one line of a terminal */
    struct tc_terminal_line line;
    uint64_t due_ns; /* when progress is shown again */
};

/* A tool's work: config is its struct with the options in it. */
typedef enum tc_status tc_app_run_fn(struct tc_app *app, void *config, struct tc_error *err);

/*
 * Parse the command line into config, run, report what failed. Returns the exit status: that of
 * run, app->failed, or 128 + signal when run returns TC_E_INTERRUPTED.
 */
int tc_app_main(struct tc_app *app, int argc, char **argv, void *config, tc_app_run_fn *run);

/*
 * Where the caller closed stderr, have its place taken: the next file that is opened would get the
 * number, and with it what is said to stderr. Not for a tool whose job inherits its descriptors.
 */
void tc_app_hold_stderr(void);

/* SIGINT and SIGTERM are remembered from here on; the second one ends the process. */
void tc_app_catch_signals(void);
bool tc_app_interrupted(void);

/* Decide by --color, NO_COLOR and whether stdout is a terminal. */
bool tc_app_color(enum tc_app_when when);
bool tc_app_on_terminal(void); /* is stderr one? */

/* A line on stderr after the name of the tool. say: not with -q. */
TC_PRINTF(2, 3)
void tc_app_say(struct tc_app *app, const char *fmt, ...);
TC_PRINTF(2, 3)
void tc_app_error(struct tc_app *app, const char *fmt, ...);

/* The command to type after this one, on a terminal alone. */
TC_PRINTF(2, 3)
void tc_app_next(struct tc_app *app, const char *fmt, ...);

/* For the callbacks of the library: context is the struct tc_app. */
void tc_app_write(void *context, const char *text, size_t size);

/*
 * Progress: one line on a terminal, drawn four times a second and erased before anything else is
 * printed; else, if it is asked for, a line every ten seconds. Nothing with -q, which must be known
 * by now.
 */
void tc_app_begin_progress(struct tc_app *app, bool is_asked);
bool tc_app_is_progress_due(const struct tc_app *app);
/* ASCII; cut to the width of the terminal, at two blanks in a row if there are any. */
TC_PRINTF(2, 3)
void tc_app_show_progress(struct tc_app *app, const char *fmt, ...);
/* Others are about to print. */
void tc_app_hide_progress(struct tc_app *app);
/* What most tools show; false: the work is to end. */
bool tc_app_progress(void *context, size_t i, size_t n, uint64_t bytes);
/* The same where none is shown. */
bool tc_app_no_progress(void *context, size_t i, size_t n, uint64_t bytes);
/* "evaluated 40 %": done of so many. */
bool tc_app_progress_share(struct tc_app *app, const char *what, uint64_t done, uint64_t of);

#endif /* TC_CLI_APP_H */
