/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track.c - a queue of lines to a child's stdin by a socket that never blocks
 *
 * The socket raises no signal when the helper has gone. At the end it gets the rest and WAIT_S
 * seconds (TRAINCHECK_TRACK_WAIT), then it is killed. One helper at a time; the child is waited
 * for by its id.
 */
#include "track.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/interpreter.h"
#include "base/vec.h"

#define WAIT_S  120 /* a tracker may have to upload */
#define LOOK_MS 20

static const char *const known[] = {"wandb", "mlflow", "tensorboard", "otel"};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(known[i], name))
            return true;
    return false;
}

enum tc_status track_validate(const struct check_options *options, struct tc_error *err)
{
    for (size_t i = 0; i < options->track.n; i++)
        if (!is_known(options->track.items[i]))
            return tc_error_set(err, TC_E_USAGE,
                                "--track: no tracker is named '%s'; there are wandb, mlflow, "
                                "tensorboard, otel",
                                options->track.items[i]);
    return TC_OK;
}

/* What pipx and uv make for a tool alone may hold trackers, too: what is beside us comes next. */
static char *find_python(void)
{
    char *path = tc_interpreter_of_environment();

    if (path)
        return path;
    path = tc_fs_installed("bin/python3");
    if (access(path, X_OK) == 0)
        return path;
    tc_free(path);
    return tc_strdup("python3");
}

static int spawn_helper(struct track *track, char *const *argv, int fd)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    error = posix_spawnp(&track->pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* A socket, as writing to one whose reader has gone raises no signal if asked so. */
static void start(struct track *track, char *const *argv)
{
    int fds[2], error;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        tc_app_say(track->app, "--track: %s", strerror(errno));
        return;
    }
    error = spawn_helper(track, argv, fds[1]);
    close(fds[1]);
    track->fd = fds[0];
    if (!error)
        return;
    tc_app_say(track->app, "--track: %s: %s", argv[0], strerror(error));
    close(track->fd);
    track->fd = -1;
    track->pid = 0;
}

void track_begin(struct track *track, struct tc_app *app, const struct check_options *options)
{
    TC_VEC(char *) argv = {0};
    char *python, *helper;

    *track = (struct track){.app = app, .fd = -1};
    if (!options->track.n)
        return;
    python = find_python();
    helper = tc_fs_installed("lib/traincheck/track.py");
    tc_vec_push(&argv, python);
    tc_vec_push(&argv, helper);
    for (size_t i = 0; i < options->track.n; i++) {
        tc_vec_push(&argv, (char *)"--tracker");
        tc_vec_push(&argv, (char *)options->track.items[i]);
    }
    tc_vec_push(&argv, (char *)"--trace");
    tc_vec_push(&argv, (char *)options->traces.items[0]);
    tc_vec_push(&argv, (char *)"--output-dir");
    tc_vec_push(&argv, (char *)options->output_dir);
    tc_vec_push(&argv, NULL);
    start(track, argv.items);
    tc_free(python);
    tc_free(helper);
    tc_vec_release(&argv);
}

/* What it takes now. False when it takes no more at all. */
static bool flush(struct track *track)
{
    ssize_t n;

    while (track->queue.size) {
        n = send(track->fd, track->queue.text, track->queue.size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        memmove(track->queue.text, track->queue.text + n, track->queue.size - (size_t)n);
        track->queue.size -= (size_t)n;
    }
    return true;
}

void track_tell(struct track *track, const char *json, size_t size)
{
    if (track->fd < 0)
        return;
    tc_strbuf_add(&track->queue, json, size);
    if (flush(track))
        return;
    close(track->fd); /* it ended; why is said when it is waited for */
    track->fd = -1;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long patience_s(void)
{
    const char *said = getenv("TRAINCHECK_TRACK_WAIT");
    long seconds = said ? strtol(said, NULL, 10) : 0;

    return seconds > 0 ? seconds : WAIT_S;
}

/* Give it the rest, then see it end. False when the time is over. */
static bool wait_for_end(struct track *track, int64_t until_ms, int *state)
{
    while (now_ms() < until_ms) {
        if (track->fd >= 0 && (!flush(track) || !track->queue.size)) {
            close(track->fd);
            track->fd = -1;
        }
        if (waitpid(track->pid, state, WNOHANG) == track->pid)
            return true;
        poll(NULL, 0, LOOK_MS);
    }
    return false;
}

void track_end(struct track *track, bool has_reports)
{
    int state = 0;

    if (has_reports)
        track_tell(track, "\"reports\"\n", strlen("\"reports\"\n"));
    if (track->pid && !wait_for_end(track, now_ms() + patience_s() * 1000, &state)) {
        kill(track->pid, SIGKILL);
        waitpid(track->pid, &state, 0);
        tc_app_say(track->app, "--track: the tracker took longer than %ld s and was ended",
                   patience_s());
    } else if (track->pid && state) {
        tc_app_say(track->app, "--track: the tracker failed; the check does not depend on it");
    }
    if (track->fd >= 0)
        close(track->fd);
    tc_strbuf_release(&track->queue);
    *track = (struct track){.fd = -1};
}
