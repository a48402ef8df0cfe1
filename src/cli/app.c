/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app.c - the one voice of the tools: stderr, stdout, exit codes, signals
 *
 * A progress line is erased before anything else is written. A first SIGINT or SIGTERM sets a flag
 * that work looks at; a second one ends the process. Text of traces is made safe for a terminal
 * here. A failed write to stdout is remembered and fails the tool at its end.
 */
#include "cli/app.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/safe.h"

#define REDRAW_NS UINT64_C(250000000)
#define PLAIN_NS  UINT64_C(10000000000) /* where each is a line for good */

/* The one thing a handler may touch. */
static volatile sig_atomic_t caught_signal;

static void remember_signal(int number)
{
    caught_signal = number;
}

void tc_app_hold_stderr(void)
{
    if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
        return;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || fd == STDERR_FILENO)
        return;
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
}

void tc_app_catch_signals(void)
{
    struct sigaction action = {.sa_handler = remember_signal, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool tc_app_interrupted(void)
{
    return caught_signal != 0;
}

bool tc_app_on_terminal(void)
{
    return isatty(STDERR_FILENO);
}

bool tc_app_color(enum tc_app_when when)
{
    if (when != TC_APP_AUTO)
        return when == TC_APP_ALWAYS;
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && isatty(STDOUT_FILENO);
}

/* What is printed now may still pass through another program (`| jq`): the line waits for that. */
void tc_app_hide_progress(struct tc_app *app)
{
    if (!app->line.shown)
        return;
    tc_terminal_erase(&app->line);
    app->due_ns = tc_clock_ns() + REDRAW_NS;
}

/* The text may name what stands in a trace. */
TC_PRINTF(3, 0)
static void print_line(struct tc_app *app, const char *kind, const char *fmt, va_list args)
{
    struct tc_strbuf text = TC_STRBUF_INIT, line = TC_STRBUF_INIT;

    tc_app_hide_progress(app);
    tc_strbuf_addv(&text, fmt, args);
    tc_strbuf_addf(&line, "%s: %s", app->tool->name, kind);
    tc_safe_add(&line, TC_SAFE_LINE, text.text, text.size);
    fprintf(stderr, "%s\n", line.text);
    tc_strbuf_release(&text);
    tc_strbuf_release(&line);
}

void tc_app_say(struct tc_app *app, const char *fmt, ...)
{
    va_list args;
    if (app->quiet)
        return;
    va_start(args, fmt);
    print_line(app, "", fmt, args);
    va_end(args);
}

void tc_app_error(struct tc_app *app, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    print_line(app, "error: ", fmt, args);
    va_end(args);
}

void tc_app_next(struct tc_app *app, const char *fmt, ...)
{
    va_list args;
    if (app->quiet || !tc_app_on_terminal())
        return;
    va_start(args, fmt);
    print_line(app, "next: ", fmt, args);
    va_end(args);
}

void tc_app_write(void *context, const char *text, size_t size)
{
    struct tc_app *app = context;

    tc_app_hide_progress(app);
    if (!app->stdout_errno && tc_fs_write_all(STDOUT_FILENO, text, size) != TC_OK)
        app->stdout_errno = errno;
}

void tc_app_begin_progress(struct tc_app *app, bool is_asked)
{
    app->redraws = tc_terminal_redraws(STDERR_FILENO);
    app->line = (struct tc_terminal_line){.fd = STDERR_FILENO};
    app->progress = !app->quiet && (is_asked || app->redraws);
    app->due_ns = tc_clock_ns() + (app->redraws ? 0 : PLAIN_NS);
}

bool tc_app_is_progress_due(const struct tc_app *app)
{
    return app->progress && tc_clock_ns() >= app->due_ns;
}

void tc_app_show_progress(struct tc_app *app, const char *fmt, ...)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    va_list args;

    va_start(args, fmt);
    if (app->redraws) {
        tc_strbuf_addv(&text, fmt, args);
        tc_terminal_draw(&app->line, text.text);
    } else {
        print_line(app, "", fmt, args);
    }
    va_end(args);
    app->due_ns = tc_clock_ns() + (app->redraws ? REDRAW_NS : PLAIN_NS);
    tc_strbuf_release(&text);
}

bool tc_app_progress(void *context, size_t i, size_t n, uint64_t bytes)
{
    struct tc_app *app = context;

    if (tc_app_is_progress_due(app))
        tc_app_show_progress(app, "trace %zu of %zu, %.1f MB read", i + 1, n, (double)bytes / 1e6);
    return !tc_app_interrupted();
}

bool tc_app_no_progress(void *context, size_t i, size_t n, uint64_t bytes)
{
    (void)context;
    (void)i;
    (void)n;
    (void)bytes;
    return !tc_app_interrupted();
}

bool tc_app_progress_share(struct tc_app *app, const char *what, uint64_t done, uint64_t of)
{
    if (tc_app_is_progress_due(app))
        tc_app_show_progress(app, "%s %.0f %%", what, of ? 100.0 * (double)done / (double)of : 0);
    return !tc_app_interrupted();
}

/* One word as a shell reads it back. */
static void add_word(struct tc_strbuf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    if (*word && !word[strspn(word, plain)]) {
        tc_strbuf_adds(out, word);
        return;
    }
    tc_strbuf_addc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            tc_strbuf_adds(out, "'\\'");
        tc_strbuf_addc(out, *word);
    }
    tc_strbuf_addc(out, '\'');
}

static const char *quote_command(struct tc_app *app, int argc, char **argv)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_strbuf_adds(&text, app->tool->name);
    for (int i = 1; i < argc; i++) {
        tc_strbuf_addc(&text, ' ');
        add_word(&text, argv[i]);
    }
    const char *copy = tc_arena_text(&app->arena, text.text, text.size);
    tc_strbuf_release(&text);
    return copy;
}

/* Text that was written but did not arrive (a full disk) is a failure, too. */
static int finish_stdout(struct tc_app *app, int exit_status)
{
    if (!app->stdout_errno)
        return exit_status;
    tc_app_error(app, "cannot write to standard output: %s", strerror(app->stdout_errno));
    return TC_APP_FAILED;
}

/* For who calls a tool without an argument, to see what it is. */
static const char workflow[] =
    "From healthy runs to a verdict:\n"
    "  traincheck-collect -o good1 train.py        trace two runs that are good,\n"
    "  traincheck-collect -o good2 train.py        with other seeds if they can\n"
    "  traincheck-infer --specific good1 good2     learn what held in both\n"
    "  traincheck-collect -o run train.py          trace another run alike\n"
    "  traincheck-check run -i invariants.jsonl    judge it\n";

static int fail(struct tc_app *app, enum tc_status status, const struct tc_error *err)
{
    if (status == TC_E_INTERRUPTED && caught_signal) {
        tc_app_say(app, "interrupted");
        return 128 + caught_signal;
    }
    tc_app_error(app, "%s", err->text);
    if (status == TC_E_USAGE && app->has_no_argument)
        fputs(workflow, stderr);
    if (status == TC_E_USAGE)
        fprintf(stderr, "Try '%s --help'.\n", app->tool->name);
    return app->failed ? app->failed : TC_APP_FAILED;
}

int tc_app_main(struct tc_app *app, int argc, char **argv, void *config, tc_app_run_fn *run)
{
    struct tc_error err = {TC_OK, ""};
    struct tc_strbuf answer = TC_STRBUF_INIT;
    app->parser = (struct tc_opt_parser){app->tool, config, &app->arena, 0, 0};
    app->has_no_argument = argc < 2;
    app->command_line = quote_command(app, argc, argv);

    enum tc_status status = tc_opt_parse(&app->parser, argc, argv, &answer, &err);
    if (status == TC_OK)
        status = run(app, config, &err);
    else if (status == TC_END)
        tc_app_write(app, answer.text, answer.size);
    tc_app_hide_progress(app);
    int exit_status = status < 0 ? fail(app, status, &err) : app->exit_status;

    tc_strbuf_release(&answer);
    tc_arena_release(&app->arena);
    return finish_stdout(app, exit_status);
}
