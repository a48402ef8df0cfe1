/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - children of libuv with a time limit, MAX_RUNNING at once, the others in a queue
 *
 * Each runs in a session of its own, so that it can be ended with all it started: SIGTERM, then
 * SIGKILL after GRACE_MS. A run is freed only when its three handles are closed, which may be
 * after its owner; then `owner` is NULL. Needs the loop to run. Of more than MAX_WAITING the rest
 * is dropped, and said so.
 */
#include "online/command.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <traincheck/error.h>

#include "base/arena.h"
#include "base/vec.h"

#define MAX_RUNNING 4
#define MAX_WAITING 10000 /* a command that hangs must not fill memory */
#define GRACE_MS    2000  /* between SIGTERM and SIGKILL */

/* What a command is run for. */
struct task {
    char *id;
    uv_buf_t text; /* for its stdin */
};

struct tc_commands {
    uv_loop_t *loop;
    struct tc_commands_config config;
    struct run *first; /* running */
    size_t n_running;
    TC_VEC(struct task) waiting;
    size_t n_dropped;
};

/* One running command, the head of a process group. It is freed when its handles are closed. */
struct run {
    struct tc_commands *owner; /* NULL once the owner is gone */
    struct run *next;
    uv_process_t process;
    uv_pipe_t input;
    uv_timer_t limit;
    uv_write_t write;
    struct task task;
    bool is_late; /* it was told to end */
    int n_open;   /* handles */
};

struct tc_commands *tc_commands_new(uv_loop_t *loop, const struct tc_commands_config *config)
{
    struct tc_commands *commands = tc_calloc(1, sizeof(*commands));

    commands->loop = loop;
    commands->config = *config;
    return commands;
}

static void release_task(struct task *task)
{
    tc_free(task->id);
    tc_free(task->text.base);
}

static void on_closed(uv_handle_t *handle)
{
    struct run *run = handle->data;

    if (--run->n_open)
        return;
    release_task(&run->task);
    tc_free(run);
}

static void close_input(struct run *run)
{
    if (!uv_is_closing((uv_handle_t *)&run->input))
        uv_close((uv_handle_t *)&run->input, on_closed);
}

static void close_run(struct run *run)
{
    close_input(run);
    uv_close((uv_handle_t *)&run->limit, on_closed);
    uv_close((uv_handle_t *)&run->process, on_closed);
}

/* The command with all that it started, unless that left the group on purpose. */
static void signal_group(const struct run *run, int number)
{
    if (run->process.pid > 0)
        uv_kill(-run->process.pid, number);
}

void tc_commands_free(struct tc_commands *commands)
{
    if (!commands)
        return;
    for (struct run *run = commands->first, *next; run; run = next) {
        next = run->next;
        run->owner = NULL;
        signal_group(run, SIGKILL);
        close_run(run);
    }
    for (size_t i = 0; i < commands->waiting.n; i++)
        release_task(&commands->waiting.items[i]);
    tc_vec_release(&commands->waiting);
    tc_free(commands);
}

TC_PRINTF(2, 3)
static void say_line(const struct tc_commands *commands, const char *fmt, ...)
{
    char line[512];
    int used = snprintf(line, sizeof(line), "--on-violation: ");
    va_list args;

    va_start(args, fmt);
    vsnprintf(line + used, sizeof(line) - (size_t)used, fmt, args);
    va_end(args);
    commands->config.say(commands->config.context, line);
}

static void say_end(const struct tc_commands *commands, const struct run *run, int64_t status,
                    int number)
{
    const char *command = commands->config.command;

    if (run->is_late)
        return;
    if (number)
        say_line(commands, "the command was ended by signal %d: %.160s", number, command);
    else if (status)
        say_line(commands, "the command failed, exit status %lld: %.160s", (long long)status,
                 command);
}

static void start(struct tc_commands *commands, struct task take);

static void start_waiting(struct tc_commands *commands)
{
    while (commands->waiting.n && commands->n_running < MAX_RUNNING) {
        struct task task = commands->waiting.items[0];
        memmove(commands->waiting.items, commands->waiting.items + 1,
                --commands->waiting.n * sizeof(task));
        start(commands, task);
    }
}

static void forget(struct tc_commands *commands, const struct run *run)
{
    struct run **at = &commands->first;

    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    commands->n_running--;
}

static void on_exit_of(uv_process_t *process, int64_t status, int number)
{
    struct run *run = process->data;
    struct tc_commands *commands = run->owner;

    if (!commands)
        return;
    if (run->is_late)
        signal_group(run, SIGKILL); /* what it started may not have heard SIGTERM */
    forget(commands, run);
    say_end(commands, run, status, number);
    if (commands->config.done)
        commands->config.done(commands->config.context, run->task.id);
    close_run(run);
    start_waiting(commands);
}

static void on_limit(uv_timer_t *timer)
{
    struct run *run = timer->data;
    const struct tc_commands *commands = run->owner;

    if (run->is_late) {
        signal_group(run, SIGKILL);
        return;
    }
    run->is_late = true;
    say_line(commands, "the command was ended after %llu s, with what it had started: %.140s",
             (unsigned long long)(commands->config.limit_ms / 1000), commands->config.command);
    signal_group(run, SIGTERM);
    uv_timer_start(timer, on_limit, GRACE_MS, 0);
}

/* A command need not read what it is given: a broken pipe is no failure. */
static void on_written(uv_write_t *write, int status)
{
    (void)status;
    close_input(write->data);
}

/* In a session of its own: it ends as a group, and a Ctrl-C at the checker is not for it. */
static int spawn(struct tc_commands *commands, struct run *run)
{
    char *args[] = {(char *)"sh", (char *)"-c", (char *)commands->config.command, NULL};
    uv_stdio_container_t stdio[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&run->input},
        {.flags = UV_INHERIT_FD,                     .data.fd = 2                             }, /* stdout is for violations */
        {.flags = UV_INHERIT_FD,                     .data.fd = 2                             },
    };
    const uv_process_options_t options = {.exit_cb = on_exit_of,
                                          .file = "/bin/sh",
                                          .args = args,
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = stdio};

    return uv_spawn(commands->loop, &run->process, &options);
}

static struct run *new_run(struct tc_commands *commands, struct task take)
{
    struct run *run = tc_calloc(1, sizeof(*run));

    run->owner = commands;
    run->task = take;
    run->n_open = 3;
    run->process.data = run->input.data = run->limit.data = run->write.data = run;
    uv_pipe_init(commands->loop, &run->input, 0);
    uv_timer_init(commands->loop, &run->limit);
    return run;
}

static void start(struct tc_commands *commands, struct task take)
{
    struct run *run = new_run(commands, take);
    int error = spawn(commands, run);

    if (error) {
        say_line(commands, "the command cannot be run: %s", uv_strerror(error));
        close_run(run);
        return;
    }
    run->next = commands->first;
    commands->first = run;
    commands->n_running++;
    if (commands->config.limit_ms)
        uv_timer_start(&run->limit, on_limit, commands->config.limit_ms, 0);
    if (uv_write(&run->write, (uv_stream_t *)&run->input, &run->task.text, 1, on_written))
        close_input(run);
}

void tc_commands_run(struct tc_commands *commands, const char *id, const char *text, size_t size)
{
    struct task task;

    if (commands->waiting.n == MAX_WAITING) {
        if (!commands->n_dropped++)
            say_line(commands, "more than %d commands are waiting: further ones are not run",
                     MAX_WAITING);
        return;
    }
    task.id = tc_strdup(id);
    task.text = uv_buf_init(tc_malloc(size), (unsigned)size);
    memcpy(task.text.base, text, size);
    tc_vec_push(&commands->waiting, task);
    start_waiting(commands);
}

size_t tc_commands_pending(const struct tc_commands *commands)
{
    return commands->n_running + commands->waiting.n;
}

void tc_commands_say_left(const struct tc_commands *commands, const char *state)
{
    const size_t n = tc_commands_pending(commands) + commands->n_dropped;

    if (n && state)
        say_line(commands,
                 "%zu of the commands could not end before the check did; the next check with "
                 "--state %s runs them",
                 n, state);
    else if (n)
        say_line(commands,
                 "%zu of the commands could not end before the check did; with --state FILE the "
                 "next check would run them",
                 n);
}
