/* SPDX-License-Identifier: Apache-2.0 */
/*
 * online.c - a loop around the reading of a growing folder
 *
 * File events wake the reader at once where the system has them; a timer looks
 * anyway, as network file systems have none and events can be lost.
 */
#include "online/online.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/arena.h"
#include "base/fs.h"
#include "online/cause.h"
#include "online/follow.h"
#include "online/loop.h"
#include "online/pace.h"
#include "online/state.h"
#include "online/teller.h"

#define LOOK_MS       200  /* between looks at the folder without events */
#define SOON_MS       5    /* after an event: several writes are one look */
#define LOOK_SHARE    4    /* looks at many files wait so many times as long as one takes */
#define BUSY_MS       1000 /* between looks at the folder while there is more to read */
#define GRACE_MS      1000 /* after the last process ended, a further one may begin */
#define ENDING_MS     3000 /* what a command may need to end when its time is up */
#define HURRY_MS      5000 /* waited for commands after a signal, however long they may take */
#define DELETE_MS     5000 /* between deletions of what was checked, and marks of what was found */
#define RECORDS       4096 /* read between looks at everything else: some 20 ms */
#define HANG_ID       "hang" /* of its command: no violation has such an id */
#define GONE_IS_FINAL 3      /* looks in a row that found no folder where there was one */

struct online {
    const struct tc_online_config *config;
    struct tc_check check;
    struct tc_follow *follow;
    struct tc_state *state;
    struct tc_commands *commands;
    struct tc_causes causes;
    uv_loop_t loop;
    uv_fs_event_t events;
    uv_timer_t look, soon;
    uv_idle_t read;
    struct tc_teller teller;
    const struct tc_online_watch *watch; /* NULL: nobody watches */
    struct tc_pace pace;
    uint64_t paced_ms;
    int n_gone;
    uint64_t reported_ms;
    uint64_t looked_ms;         /* when the folder was looked at last */
    uint64_t look_ms;           /* how long that took */
    uint64_t deleted_ms, freed; /* when something was deleted last; bytes of disk so far */
    bool has_events, is_watching, is_changed;
    bool is_look_due; /* and waits until what is there was read */
    bool is_hung;     /* and that was reported */
    bool cannot_delete, cannot_mark;
    size_t n_hangs;
    bool is_unreported; /* the last report could not be written, and that was said */
    bool is_whole;      /* the run is over */
    bool is_done;
    enum tc_status status;
    struct tc_error *err;
};

static const char *trace_of(const struct online *o)
{
    return o->config->check.traces[0];
}

TC_PRINTF(2, 3)
static void say_line(struct online *o, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    o->config->say(o->config->check.context, line);
}

static void stop(struct online *o, enum tc_status status)
{
    if (o->is_done)
        return;
    o->is_done = true;
    o->status = status;
    uv_stop(&o->loop);
}

/* ---- reports ------------------------------------------------------------------------------- */

static void tell_found(struct online *o)
{
    enum tc_status status;

    if (o->teller.found.n && o->watch && o->commands)
        o->watch->hide(o->watch->context);
    status = tc_teller_tell(&o->teller, o->err);
    if (status != TC_OK)
        stop(o, status);
}

/* A disk may be full for a while: only the last report must be written.
 * next_s: the next one comes after so long; 0: this is the last. */
static void report(struct online *o, unsigned next_s)
{
    struct tc_error why;
    enum tc_status status;

    tc_follow_count(o->follow);
    o->check.refresh_s = next_s;
    o->check.lag_s = (double)tc_follow_lag_ns(o->follow) / 1e9;
    status = tc_check_report(&o->check, false, &why);
    if (!next_s)
        tc_teller_tell_last(&o->teller);
    if (status != TC_OK && !next_s) {
        tc_error_set(o->err, status, "%s", why.text);
        stop(o, status);
    } else if (status != TC_OK && !o->is_unreported) {
        say_line(o, "%s; the check goes on, and reports are tried again", why.text);
    }
    o->is_unreported = status != TC_OK;
    o->reported_ms = uv_now(&o->loop);
    o->is_changed = false;
}

/* A folder that cannot be written is said once; the check goes on. */
static void mark_found(struct online *o)
{
    struct tc_error why;

    if (o->cannot_mark)
        return;
    o->cannot_mark = tc_follow_mark(o->follow, &why) != TC_OK;
    if (o->cannot_mark)
        say_line(o, "%s; --keep of the job will not spare the steps of findings", why.text);
}

/* A file system that cannot do it is said once; the check goes on. */
static void delete_checked(struct online *o)
{
    struct tc_error why;

    if (!o->watch || !o->watch->delete_checked || o->cannot_delete || !tc_follow_n_files(o->follow))
        return;
    o->cannot_delete = tc_follow_delete(o->follow, uv_now(&o->loop), &o->freed, &why) != TC_OK;
    if (o->cannot_delete)
        say_line(o, "--delete-checked: %s; nothing more is deleted", why.text);
}

/* ---- the standing -------------------------------------------------------------------------- */

/* Called when what was there has been read, or for a while: what is still unread then is a lag. */
static void show_standing(struct online *o)
{
    const struct tc_online_watch *watch = o->watch;
    const uint64_t now_ms = uv_now(&o->loop);

    if (!watch || !tc_follow_n_files(o->follow))
        return;
    if (!o->pace.n || now_ms >= o->paced_ms + TC_PACE_SPACING_MS) {
        o->paced_ms = now_ms;
        tc_pace_add(&o->pace, now_ms, tc_follow_step(o->follow));
    }
    if ((o->commands && tc_commands_pending(o->commands)) || !watch->is_due(watch->context))
        return;
    watch->show(watch->context,
                &(struct tc_online_standing){.step = tc_follow_step(o->follow),
                                             .steps_per_s = tc_pace_per_s(&o->pace, now_ms),
                                             .n_findings = o->teller.n_findings,
                                             .lag_s = (double)tc_follow_lag_ns(o->follow) / 1e9});
}

/* ---- watching ------------------------------------------------------------------------------ */

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    struct online *o = event->data;

    (void)name;
    (void)events;
    if (status == 0 && !uv_is_active((uv_handle_t *)&o->soon))
        uv_timer_start(&o->soon, o->soon.timer_cb, SOON_MS + LOOK_SHARE * o->look_ms, 0);
}

/* Ask for events once the folder is there; where that fails the timer has to do. */
static void watch(struct online *o)
{
    if (o->is_watching || !o->has_events)
        return;
    o->is_watching = uv_fs_event_start(&o->events, on_event, trace_of(o), 0) == 0;
    o->has_events = o->is_watching;
}

static void unwatch(struct online *o)
{
    if (o->is_watching)
        uv_fs_event_stop(&o->events);
    o->is_watching = false;
    o->has_events = true;
}

/* On the first file: is the run still the one that the state tells of? */
static enum tc_status take_first_file(struct online *o)
{
    const char *first = tc_follow_file(o->follow, 0);
    const char *known = o->state ? tc_state_file(o->state) : NULL;
    char *path;
    bool is_there;

    if (!o->state)
        return TC_OK;
    if (!known)
        return tc_state_set_file(o->state, first, o->err);
    if (!tc_fs_is_dir(trace_of(o)))
        return TC_OK;
    path = tc_fs_join(trace_of(o), known);
    is_there = tc_fs_exists(path);
    tc_free(path);
    if (is_there)
        return TC_OK;
    return tc_error_set(o->err, TC_E_USAGE, "%s: it is the state of another run: %s is not in %s",
                        o->config->state, known, trace_of(o));
}

static void look(struct online *o)
{
    struct tc_error why;
    size_t n_before = tc_follow_n_files(o->follow);
    enum tc_status status = tc_follow_refresh(o->follow, uv_now(&o->loop), &why);

    if (status == TC_E_NOTFOUND) {
        unwatch(o);
        if (n_before && ++o->n_gone == GONE_IS_FINAL) {
            say_line(o, "%s is gone: the check ends here", trace_of(o));
            o->is_whole = true;
            stop(o, TC_OK);
        }
        return;
    }
    if (status != TC_OK) {
        tc_error_set(o->err, status, "%s", why.text);
        stop(o, status);
        return;
    }
    o->n_gone = 0;
    watch(o);
    if (!n_before && tc_follow_n_files(o->follow) && (status = take_first_file(o)) != TC_OK)
        stop(o, status);
}

/* The command gets what it gets for a finding, as far as there is such a thing. */
static void run_command_of_hang(struct online *o, const struct tc_json *finding)
{
    struct tc_json *object = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *path = realpath(trace_of(o), NULL);

    tc_json_set(object, "finding", tc_json_copy(finding));
    tc_json_set_bool(object, "first", o->n_hangs == 1 && !o->teller.n_findings);
    tc_json_set_string(object, "run", path ? path : trace_of(o));
    tc_json_set(object, "rank", tc_json_copy(tc_json_get(finding, "rank")));
    tc_json_print_line(object, &text);
    tc_commands_run(o->commands, HANG_ID, text.text, text.size);
    tc_strbuf_release(&text);
    tc_free(path);
}

static void tell_hang(struct online *o, uint64_t quiet_ms)
{
    struct tc_json *finding = tc_follow_hang(o->follow, quiet_ms / 1000);

    o->is_hung = true;
    o->n_hangs++;
    tc_json_set_number(finding, "finding", (double)(o->teller.n_findings + o->n_hangs));
    o->watch->hung(o->watch->context, finding);
    if (o->commands)
        run_command_of_hang(o, finding);
    tc_json_free(finding);
}

/* All that is there was read. */
static void look_for_a_hang(struct online *o)
{
    const uint64_t quiet_ms = uv_now(&o->loop) - tc_follow_grown_ms(o->follow);
    const uint64_t after_ms = 1000 * (uint64_t)(o->watch ? o->watch->hang_after_s : 0);

    if (!after_ms || o->is_done || !tc_follow_n_files(o->follow))
        return;
    if (!o->is_hung && quiet_ms >= after_ms && !tc_follow_has_ended(o->follow)) {
        tell_hang(o, quiet_ms);
    } else if (o->is_hung && quiet_ms < after_ms) {
        o->is_hung = false;
        say_line(o, "the run goes on");
    }
}

static void look_for_the_end(struct online *o)
{
    uint64_t quiet_ms = uv_now(&o->loop) - tc_follow_grown_ms(o->follow);

    if (quiet_ms >= GRACE_MS && tc_follow_has_ended(o->follow)) {
        o->is_whole = true;
        stop(o, TC_OK);
    } else if (o->config->idle_s && quiet_ms >= 1000 * (uint64_t)o->config->idle_s) {
        o->is_whole = true;
        stop(o, TC_OK);
    }
}

static bool is_interrupted(struct online *o)
{
    const struct tc_check_config *config = &o->config->check;

    return config->progress &&
           !config->progress(config->context, 0, 1, tc_follow_json_bytes(o->follow));
}

/* A look that was put off comes now. */
static void end_reading(struct online *o)
{
    uv_idle_stop(&o->read);
    if (o->is_look_due)
        uv_timer_start(&o->soon, o->soon.timer_cb, SOON_MS, 0);
}

static void on_read(uv_idle_t *handle)
{
    struct online *o = handle->data;
    const size_t n = RECORDS + tc_follow_n_files(o->follow); /* which the looks go over, too */
    enum tc_status status = tc_follow_read(o->follow, n, o->err);

    o->is_changed = true;
    tell_found(o);
    tc_follow_relieve(o->follow, uv_now(&o->loop));
    tell_found(o);
    if (status == TC_END)
        end_reading(o);
    else if (status != TC_OK)
        stop(o, status);
    show_standing(o);
    if (is_interrupted(o))
        stop(o, TC_E_INTERRUPTED);
}

/* Of thousands of files a look takes long, and events ask for one all the time. While some are
 * still to be read it would bring nothing that is read before them. */
static void look_in_time(struct online *o)
{
    const uint64_t began_ns = uv_hrtime(), now_ms = uv_now(&o->loop);

    o->is_look_due = uv_is_active((uv_handle_t *)&o->read) && now_ms < o->looked_ms + BUSY_MS;
    if (o->is_look_due)
        return;
    look(o);
    o->looked_ms = now_ms;
    o->look_ms = (uv_hrtime() - began_ns) / 1000000;
    uv_timer_set_repeat(&o->look, LOOK_MS + LOOK_SHARE * o->look_ms);
}

static void on_look(uv_timer_t *timer)
{
    struct online *o = timer->data;
    uint64_t interval_ms = 1000 * (uint64_t)o->config->report_interval_s;

    look_in_time(o);
    tc_follow_relieve(o->follow, uv_now(&o->loop));
    tell_found(o);
    if (!uv_is_active((uv_handle_t *)&o->read)) {
        look_for_the_end(o);
        look_for_a_hang(o);
        uv_idle_start(&o->read, on_read);
    }
    if (interval_ms && o->is_changed && tc_follow_n_files(o->follow) &&
        uv_now(&o->loop) - o->reported_ms >= interval_ms)
        report(o, o->config->report_interval_s);
    if (uv_now(&o->loop) - o->deleted_ms >= DELETE_MS) {
        o->deleted_ms = uv_now(&o->loop);
        mark_found(o);
        delete_checked(o);
    }
    if (is_interrupted(o))
        stop(o, TC_E_INTERRUPTED);
}

/* ---- the run ------------------------------------------------------------------------------- */

static enum tc_status init_loop(struct online *o)
{
    int error = tc_loop_find_descriptors();

    if (!error)
        error = uv_loop_init(&o->loop);

    if (error)
        return tc_error_set(o->err, TC_E_IO, "an event loop cannot be made: %s",
                            uv_strerror(error));
    uv_fs_event_init(&o->loop, &o->events);
    uv_timer_init(&o->loop, &o->look);
    uv_timer_init(&o->loop, &o->soon);
    uv_idle_init(&o->loop, &o->read);
    o->events.data = o->look.data = o->soon.data = o->read.data = o;
    o->soon.timer_cb = on_look;
    o->has_events = true;
    return TC_OK;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* ---- commands ------------------------------------------------------------------------------ */

static void on_command_done(void *context, const char *id)
{
    struct online *o = context;
    struct tc_error why;

    if (o->state && strcmp(id, HANG_ID) != 0 && tc_state_run(o->state, id, &why) != TC_OK)
        say_line(o, "%s", why.text);
}

static void say_command(void *context, const char *line)
{
    say_line(context, "%s", line);
}

static void begin_commands(struct online *o)
{
    const struct tc_commands_config config = {.command = o->config->on_violation,
                                              .limit_ms =
                                                  1000 * (uint64_t)o->config->on_violation_limit_s,
                                              .say = say_command,
                                              .done = on_command_done,
                                              .context = o};

    if (!config.command)
        return;
    o->commands = tc_commands_new(&o->loop, &config);
    tc_causes_init(&o->causes, &o->check, o->state, o->commands);
}

/* Until when they are waited for, in the loop's time. */
static uint64_t end_of_wait(const struct online *o)
{
    const uint64_t limit_ms = 1000 * (uint64_t)o->config->on_violation_limit_s;

    return limit_ms ? uv_now(&o->loop) + limit_ms + ENDING_MS : UINT64_MAX;
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

/*
 * Let commands end, so that their failures are reported and none is lost; but not for ever, and not
 * for long after a signal, whether it ended the check or comes while they are waited for.
 */
static void wait_for_commands(struct online *o)
{
    bool is_hurried = false;

    if (!o->commands)
        return;
    uint64_t end = end_of_wait(o);
    uv_timer_start(&o->look, on_tick, 0, LOOK_MS);
    while (tc_commands_pending(o->commands) && uv_now(&o->loop) < end) {
        if (!is_hurried && (o->status == TC_E_INTERRUPTED || is_interrupted(o))) {
            is_hurried = true;
            end = end - uv_now(&o->loop) > HURRY_MS ? uv_now(&o->loop) + HURRY_MS : end;
        }
        uv_run(&o->loop, UV_RUN_ONCE);
    }
    uv_timer_stop(&o->look);
    tc_commands_say_left(o->commands, o->state ? o->config->state : NULL);
}

static void close_loop(struct online *o)
{
    if (o->commands)
        tc_causes_release(&o->causes);
    tc_commands_free(o->commands);
    uv_run(&o->loop, UV_RUN_NOWAIT);
    uv_walk(&o->loop, close_handle, NULL);
    uv_run(&o->loop, UV_RUN_DEFAULT);
    uv_loop_close(&o->loop);
}

static enum tc_status begin(struct online *o)
{
    const struct tc_online_config *config = o->config;
    enum tc_status status = tc_check_take_dir(&o->check, o->err);

    if (status == TC_OK && config->state)
        status = tc_state_open(config->state, trace_of(o), &o->state, o->err);
    if (status != TC_OK)
        return status;
    begin_commands(o);
    tc_teller_init(&o->teller, &o->check, o->state, o->commands ? &o->causes : NULL, config);
    o->follow = tc_follow_new(&o->check, trace_of(o), 1000 * (uint64_t)config->lateness_s,
                              uv_now(&o->loop));
    if (o->watch && o->watch->hang_after_s)
        tc_follow_know_calls(o->follow);
    return TC_OK;
}

static void run_loop(struct online *o)
{
    o->reported_ms = o->deleted_ms = uv_now(&o->loop);
    look(o);
    if (!o->is_done && !tc_follow_n_files(o->follow))
        say_line(o, "waiting for a trace in %s", trace_of(o));
    uv_timer_start(&o->look, on_look, 0, LOOK_MS);
    if (!o->is_done)
        uv_run(&o->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&o->look);
    uv_timer_stop(&o->soon);
    uv_idle_stop(&o->read);
    unwatch(o);
}

/* Whatever ended the loop: what is on the disk is judged, told and reported. */
static enum tc_status finish(struct online *o)
{
    enum tc_status status = o->status, read;

    if (status != TC_OK && status != TC_E_INTERRUPTED)
        return status;
    o->is_done = false;
    read = tc_follow_finish(o->follow, o->is_whole, o->err);
    if (!tc_follow_n_files(o->follow) && status == TC_OK)
        return tc_error_set(o->err, TC_E_NOTFOUND, "%s: there was no trace", trace_of(o));
    tell_found(o);
    if (tc_follow_n_files(o->follow))
        report(o, 0);
    mark_found(o);
    delete_checked(o);
    if (o->freed)
        say_line(o, "%.1f MB of the trace were checked and deleted", (double)o->freed / 1e6);
    wait_for_commands(o);
    return status != TC_OK ? status : read != TC_OK ? read : o->is_done ? o->status : TC_OK;
}

enum tc_status tc_online_run_watched(const struct tc_online_config *config,
                                     const struct tc_online_watch *watch,
                                     struct tc_check_result *result, struct tc_notes *notes,
                                     struct tc_error *err)
{
    struct online o = {.config = config, .watch = watch, .err = err};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    enum tc_status status = tc_check_open(&o.check, &config->check, result, notes, err);

    if (status == TC_OK)
        status = init_loop(&o);
    if (status != TC_OK) {
        tc_check_close(&o.check);
        return status;
    }
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &before); /* a command need not read its stdin */
    status = begin(&o);
    if (status == TC_OK) {
        run_loop(&o);
        status = finish(&o);
    }
    close_loop(&o);
    sigaction(SIGPIPE, &before, NULL);
    tc_follow_free(o.follow);
    tc_state_close(o.state);
    tc_teller_release(&o.teller);
    tc_check_close(&o.check);
    return status;
}

enum tc_status tc_online_run(const struct tc_online_config *config, struct tc_check_result *result,
                             struct tc_notes *notes, struct tc_error *err)
{
    return tc_online_run_watched(config, NULL, result, notes, err);
}
