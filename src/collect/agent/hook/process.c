/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c - opens the trace, closes it at whatever end the process has, and brings it over a
 * fork
 *
 * A fatal signal only asks the sink's thread to write what waits, for RESCUE_MS, then goes to the
 * handler that was there. Where memory is out, a reserve of 4 MiB is given up and tracing ends,
 * the job goes on. Before a fork the writing thread ends; the child forgets what is its parent's.
 * The end goes in this order: windows, answers of devices, the end record, the file.
 */
#include "collect/agent/hook/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "collect/agent/hook/sampling.h"
#include "collect/agent/hook/steps.h"
#include "collect/agent/hook/variables.h"
#include "collect/agent/say/keep.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/settings.h"
#include "collect/agent/say/sink.h"
#include "collect/board.h"
#include "collect/progress.h"
#include "collect/recount.h"

/* How long a dying process waits for its last frames. */
#define RESCUE_MS 500
/* Bytes kept for the moment when memory is out: enough to write what waits and end tracing. */
#define RESERVE ((size_t)4 << 20)

static struct {
    struct tc_process_config config;
    pid_t pid;
    _Atomic bool was_open, has_torch;
    bool has_progress;
    _Atomic bool is_out_of_memory;
} process;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *release_gil(void)
{
    return PyEval_SaveThread();
}

static void take_gil(void *state)
{
    PyEval_RestoreThread(state);
}

static void put_process_record(const char *record)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_agent.anchor_ns = clock_ns(CLOCK_MONOTONIC);
    tc_strbuf_adds(&line, record);
    line.size--; /* the closing brace */
    tc_strbuf_addf(&line, ",\"monotonic_ns\":%lld,\"unix_ns\":%lld}\n",
                   (long long)tc_agent.anchor_ns, (long long)clock_ns(CLOCK_REALTIME));
    tc_sink_put(line.text, line.size, 0);
    tc_strbuf_release(&line);
}

/* Also by the sink's thread, which has no other lock: each counter is atomic, all together may be
 * an instant old. */
static void tell_board(const struct tc_sink_stats *stats)
{
    struct tc_board_totals mine = {
        .files = process.was_open,
        .file_id = stats->file_id,
        .steps = (uint64_t)tc_agent.step,
        .calls = (uint64_t)tc_agent.next_call,
        .records = stats->file_records,
        .dropped = stats->dropped,
        .has_lost_steps = stats->has_lost_steps,
        .first_lost = (uint64_t)stats->first_lost,
        .last_lost = (uint64_t)stats->last_lost,
        .errors = tc_agent.errors,
        .bytes = stats->file_bytes,
        .has_torch = process.has_torch,
    };
    struct tc_sampling_totals sampled;

    tc_sampling_total(tc_agent.step, &sampled);
    mine.budget_steps = sampled.n_steps;
    mine.budget_traced = sampled.n_traced;
    mine.budget_spent = sampled.spent;
    mine.budget_worked = sampled.worked;
    snprintf(mine.failure, sizeof(mine.failure), "%s",
             stats->failure[0] ? stats->failure : tc_agent.failure);
    tc_board_tell(&mine);
}

/* By the writing thread, before each round. */
static void serve(void)
{
    tc_queue_serve();
    tc_keep_serve();
}

bool tc_process_open(const char *path, const char *record)
{
    struct tc_sink_config config = {
        .limit = process.config.buffer_size,
        .drop = process.config.drop,
        .wait_begin = release_gil,
        .wait_end = take_gil,
        .serve = serve,
        .report = tell_board,
    };
    struct tc_sink_stats stats;
    struct tc_error err = {0};

    if (tc_sink_open(path, &config, &err) != TC_OK) {
        PyErr_SetString(PyExc_OSError, err.text);
        return false;
    }
    tc_keep_begin(path, process.config.keep);
    process.was_open = true;
    tc_sink_stats(&stats);
    tell_board(&stats); /* from now on the file is known, however the process ends */
    put_process_record(record);
    return true;
}

void tc_process_torch_met(void)
{
    process.has_torch = true;
}

/* ---- the end ---- */

static void put_end_record(int exit_status)
{
    struct tc_sink_stats stats;
    char line[160];
    int n;

    tc_sink_stats(&stats);
    n = snprintf(line, sizeof(line),
                 "{\"type\":\"end\",\"t\":%lld,\"events\":%llu,\"dropped\":%llu",
                 (long long)tc_agent_now(), (unsigned long long)stats.records,
                 (unsigned long long)stats.dropped);
    if (exit_status >= 0)
        n += snprintf(line + n, sizeof(line) - (size_t)n, ",\"exit\":%d", exit_status);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
    tc_sink_put_last(line, (size_t)n);
}

/* Where tracing ended before the process did, nobody knows what is missing: readers judge nothing
 * that was going on. */
static void put_failure(void)
{
    static const char line[] =
        "{\"type\":\"note\",\"code\":\"lost\",\"text\":\"tracing ended early: "
        "out of memory\"}\n";

    if (process.is_out_of_memory)
        tc_sink_put_last(line, sizeof(line) - 1);
}

static void print_closing_line(int exit_status)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    struct tc_board_totals totals;

    tc_board_sum(&totals);
    tc_recount(process.config.output_dir, &totals);
    tc_strbuf_adds(&line, "traincheck-collect: ");
    tc_board_describe(&line, &totals);
    tc_strbuf_addf(&line, " in %s", process.config.output_dir);
    if (process.config.is_injected)
        tc_strbuf_adds(&line, " (injected: this Python has no shared library)");
    tc_board_describe_losses(&line, &totals);
    tc_strbuf_addc(&line, '\n');
    const char *next = tc_board_next(&totals, exit_status);
    if (next)
        tc_strbuf_addf(&line, "traincheck-collect: next: %s\n", next);
    signal(SIGPIPE, SIG_IGN); /* who reads it may have left */
    tc_fs_write_all(STDERR_FILENO, line.text, line.size);
    tc_strbuf_release(&line);
}

void tc_process_finish_windows(void)
{
    struct tc_thread *thread = tc_thread_current();

    if (!tc_agent.enabled)
        return;
    thread->guard++;
    if (tc_sink_is_open() && thread->number == 0)
        tc_steps_finish(thread);
    tc_queue_drain();
    if (tc_queue_n_waits())
        tc_agent_note("waited", "records waited for an accelerator: their queue was full",
                      (int64_t)tc_queue_n_waits());
    thread->guard--;
    if (PyErr_Occurred())
        PyErr_Clear();
}

void tc_process_finish(int exit_status)
{
    struct tc_sink_stats stats;

    if (getpid() != process.pid)
        return; /* a child of a fork that we were not told of */
    tc_agent.enabled = false;
    tc_queue_finish();
    if (tc_sink_is_open()) {
        put_failure();
        put_end_record(exit_status);
        tc_sink_close();
    }
    tc_sink_stats(&stats);
    tell_board(&stats);
    tc_progress_stop();
    if (process.config.closing_line)
        print_closing_line(exit_status);
    process.config.closing_line = false;
}

#ifdef __GLIBC__
static void at_exit(int status, void *unused)
{
    (void)unused;
    tc_process_finish(status);
}
#else
static void at_exit(void)
{
    tc_process_finish(-1);
}
#endif

/* ---- fatal signals: what is written so far must be in the file, then what was to happen ---- */

static struct sigaction replaced[NSIG];

static void on_fatal(int number)
{
    if (getpid() == process.pid)
        tc_sink_rescue(RESCUE_MS);
    sigaction(number, &replaced[number], NULL);
    raise(number);
}

/* Of a crash a handler that is there already, as faulthandler's, is called afterwards. */
static void catch_fatal(int number, bool is_crash)
{
    struct sigaction *old = &replaced[number], ours = {0};

    if (sigaction(number, NULL, old) != 0 || old->sa_handler == SIG_IGN ||
        (!is_crash && old->sa_handler != SIG_DFL))
        return;
    ours.sa_handler = on_fatal;
    ours.sa_flags = (int)(SA_NODEFER | SA_ONSTACK);
    sigaction(number, &ours, NULL);
}

static void catch_all_fatal(void)
{
    static const int ends[] = {SIGTERM, SIGHUP, SIGQUIT};
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        catch_fatal(ends[i], false);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        catch_fatal(crashes[i], true);
}

/* The job goes on alone with what tracing held in reserve. */
static void on_low_memory(void)
{
    tc_agent.enabled = false;
    process.is_out_of_memory = true;
    memcpy(tc_agent.failure, "out of memory", sizeof("out of memory"));
}

void tc_process_reserve_memory(void)
{
    tc_memory_reserve(RESERVE, on_low_memory);
}

void tc_process_start(const struct tc_process_config *config)
{
    process.config = *config;
    process.pid = getpid();
    tc_agent.generation = 1;
    tc_agent.anchor_ns = clock_ns(CLOCK_MONOTONIC);
    catch_all_fatal();
#ifdef __GLIBC__
    on_exit(at_exit, NULL);
#else
    atexit(at_exit);
#endif
}

void tc_process_join(const char *path, bool has_progress)
{
    if (path)
        tc_board_open(path);
    tc_board_join();
    process.has_progress = has_progress;
    if (has_progress)
        tc_progress_start();
}

void tc_process_before_fork(void)
{
    tc_queue_drain();
    tc_sink_pause();
    tc_progress_stop();
}

void tc_process_after_fork(void)
{
    tc_sink_resume();
    if (process.has_progress)
        tc_progress_start();
}

void tc_process_forked(void)
{
    tc_queue_abandon();
    tc_sink_abandon();
    process.pid = getpid();
    process.config.closing_line = process.has_progress = false;
    process.was_open = false;
    tc_board_forked();
    tc_agent.errors = 0;
    tc_agent.opening = false; /* by a thread that the child has not */
    tc_agent.generation++;
    tc_agent.next_call = 0;
    tc_settings_reset();
    tc_variables_reset();
    tc_steps_reset();
}
