#include "online/command.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

#include "base/banned.h"

#define MAX_RUNNING 4
#define MAX_WAITING 10000 /* a command that hangs must not fill memory */

struct tc_commands {
    uv_loop_t *loop;
    const char *command;
    void (*say)(void *context, const char *line);
    void *context;
    struct run *first; /* running */
    size_t n_running;
    TC_VEC(uv_buf_t) waiting;
    size_t n_dropped;
};

/* One running command. It is freed when both of its handles are closed. */
struct run {
    struct tc_commands *owner; /* NULL once the owner is gone */
    struct run *next;
    uv_process_t process;
    uv_pipe_t input;
    uv_write_t write;
    uv_buf_t text;
    int n_open; /* handles */
};

struct tc_commands *tc_commands_new(uv_loop_t *loop, const char *command,
                                    void (*say)(void *context, const char *line), void *context)
{
    struct tc_commands *commands = tc_calloc(1, sizeof(*commands));

    commands->loop = loop;
    commands->command = command;
    commands->say = say;
    commands->context = context;
    return commands;
}

static void on_closed(uv_handle_t *handle)
{
    struct run *run = handle->data;

    if (--run->n_open)
        return;
    tc_free(run->text.base);
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
    if (!uv_is_closing((uv_handle_t *)&run->process))
        uv_close((uv_handle_t *)&run->process, on_closed);
}

void tc_commands_free(struct tc_commands *commands)
{
    if (!commands)
        return;
    for (struct run *run = commands->first, *next; run; run = next) {
        next = run->next;
        run->owner = NULL;
        close_run(run);
    }
    for (size_t i = 0; i < commands->waiting.n; i++)
        tc_free(commands->waiting.items[i].base);
    tc_vec_release(&commands->waiting);
    tc_free(commands);
}

static void say_failure(struct tc_commands *commands, int64_t status, int signal)
{
    char line[256];

    if (signal)
        snprintf(line, sizeof(line), "--on-violation: the command was ended by signal %d: %.160s",
                 signal, commands->command);
    else
        snprintf(line, sizeof(line), "--on-violation: the command failed, exit status %lld: %.160s",
                 (long long)status, commands->command);
    commands->say(commands->context, line);
}

static void say_error(struct tc_commands *commands, int error)
{
    char line[256];

    snprintf(line, sizeof(line), "--on-violation: the command cannot be run: %s",
             uv_strerror(error));
    commands->say(commands->context, line);
}

static void start(struct tc_commands *commands, uv_buf_t take);

static void start_waiting(struct tc_commands *commands)
{
    while (commands->waiting.n && commands->n_running < MAX_RUNNING) {
        uv_buf_t text = commands->waiting.items[0];
        memmove(commands->waiting.items, commands->waiting.items + 1,
                --commands->waiting.n * sizeof(text));
        start(commands, text);
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

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct run *run = process->data;
    struct tc_commands *commands = run->owner;

    close_run(run);
    if (!commands)
        return;
    forget(commands, run);
    if (status || signal)
        say_failure(commands, status, signal);
    start_waiting(commands);
}

/* A command need not read what it is given: a broken pipe is no failure. */
static void on_written(uv_write_t *write, int status)
{
    (void)status;
    close_input(write->data);
}

static int spawn(struct tc_commands *commands, struct run *run)
{
    char *args[] = {(char *)"sh", (char *)"-c", (char *)commands->command, NULL};
    uv_stdio_container_t stdio[] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&run->input},
        {.flags = UV_INHERIT_FD,                     .data.fd = 2                             }, /* stdout is for violations */
        {.flags = UV_INHERIT_FD,                     .data.fd = 2                             },
    };
    const uv_process_options_t options = {
        .exit_cb = on_exit_of, .file = "/bin/sh", .args = args, .stdio_count = 3, .stdio = stdio};

    return uv_spawn(commands->loop, &run->process, &options);
}

static void start(struct tc_commands *commands, uv_buf_t take)
{
    struct run *run = tc_calloc(1, sizeof(*run));
    int error;

    run->owner = commands;
    run->text = take;
    run->n_open = 2;
    run->process.data = run->input.data = run->write.data = run;
    uv_pipe_init(commands->loop, &run->input, 0);
    error = spawn(commands, run);
    if (error) {
        say_error(commands, error);
        close_run(run);
        return;
    }
    run->next = commands->first;
    commands->first = run;
    commands->n_running++;
    if (uv_write(&run->write, (uv_stream_t *)&run->input, &run->text, 1, on_written))
        close_input(run);
}

void tc_commands_run(struct tc_commands *commands, const char *text, size_t size)
{
    uv_buf_t copy;

    if (commands->waiting.n == MAX_WAITING) {
        if (!commands->n_dropped++)
            commands->say(commands->context,
                          "--on-violation: too many commands are waiting: the rest is not run");
        return;
    }
    copy = uv_buf_init(tc_malloc(size), (unsigned)size);
    memcpy(copy.base, text, size);
    tc_vec_push(&commands->waiting, copy);
    start_waiting(commands);
}

size_t tc_commands_pending(const struct tc_commands *commands)
{
    return commands->n_running + commands->waiting.n;
}
