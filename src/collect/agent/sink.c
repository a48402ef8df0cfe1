#include "collect/agent/sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "base/strbuf.h"
#include "collect/agent/held.h"
#include "collect/thread.h"
#include "trace/writer.h"

#define TICK_NS   50000000L         /* how often waiting lines are fetched */
#define WAKE_SIZE ((size_t)1 << 18) /* bytes that are fetched at once */

struct sink {
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the thread: lines, a request, the end */
    pthread_cond_t done; /* for the others: everything fetched was written */
    pthread_t thread;
    struct tc_sink_config config;
    struct tc_writer *writer;
    struct tc_strbuf lines; /* not yet fetched */
    struct tc_held held_lines;
    bool held, open, stopping, failed;
    bool running;    /* there is a thread, or one that is about to end */
    bool paused;     /* none may be started */
    bool idle;       /* the thread has nothing fetched and no open frame */
    bool busy;       /* the thread is writing what it fetched */
    unsigned wanted; /* flushes asked for */
    unsigned served;
    unsigned rounds; /* how often done was told */
    struct tc_sink_stats stats;
};

/* The one sink of the process. */
static struct sink sink;
static atomic_uint rescue_wanted;
static atomic_uint rescue_served;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* What went wrong ends the trace, never the training. */
static void fail(const struct tc_error *err)
{
    sink.failed = true;
    snprintf(sink.stats.failure, sizeof(sink.stats.failure), "%.190s", err->text);
}

static void write_lines(const struct tc_strbuf *lines, bool flush)
{
    struct tc_error err = {0};
    enum tc_status status = TC_OK;

    if (lines->size)
        status = tc_writer_add(sink.writer, lines->text, lines->size, now_ns(), &err);
    if (status == TC_OK)
        status = flush ? tc_writer_flush(sink.writer, &err)
                       : tc_writer_tick(sink.writer, now_ns(), &err);
    if (status != TC_OK)
        fail(&err);
}

/* Called with the lock held. */
static void tell_done(void)
{
    sink.rounds++;
    pthread_cond_broadcast(&sink.done);
}

/* One round: fetch, let go of the lock, write. Called and returns with the lock held. */
static void serve(struct tc_strbuf *mine)
{
    struct tc_strbuf fetched = sink.lines;
    unsigned wanted = sink.wanted;
    unsigned rescue = atomic_load(&rescue_wanted);

    sink.lines = *mine;
    *mine = fetched;
    sink.busy = true;
    pthread_mutex_unlock(&sink.lock);
    if (!sink.failed)
        write_lines(mine, sink.stopping || wanted != sink.served ||
                              rescue != atomic_load(&rescue_served));
    tc_strbuf_reset(mine);
    pthread_mutex_lock(&sink.lock);
    sink.busy = false;
    sink.served = wanted;
    atomic_store(&rescue_served, rescue);
    if (!sink.failed)
        sink.stats.file_bytes = tc_writer_file_bytes(sink.writer);
    if (sink.config.report)
        sink.config.report(&sink.stats);
    tell_done();
}

static bool has_request(void)
{
    return sink.stopping || sink.wanted != sink.served ||
           atomic_load(&rescue_wanted) != atomic_load(&rescue_served);
}

static void *run(void *unused)
{
    struct tc_strbuf mine = TC_STRBUF_INIT;

    (void)unused;
    pthread_mutex_lock(&sink.lock);
    while (!sink.stopping || sink.lines.size) {
        if (!has_request() && sink.lines.size < WAKE_SIZE)
            tc_thread_wait(&sink.work, &sink.lock, TICK_NS);
        serve(&mine);
    }
    pthread_mutex_unlock(&sink.lock);
    tc_strbuf_release(&mine);
    return NULL;
}

/* The thread is started when there is something for it to do. Called with the lock held. */
static void ensure_thread(void)
{
    struct tc_error err = {0};

    if (sink.running || sink.paused || sink.failed)
        return;
    sink.running = tc_thread_start(&sink.thread, run);
    if (!sink.running) {
        tc_error_set(&err, TC_E_IO, "cannot start the writing thread");
        fail(&err);
    }
}

/* Have the thread write everything and end. */
static void stop_thread(void)
{
    bool was_running;

    pthread_mutex_lock(&sink.lock);
    was_running = sink.running;
    sink.stopping = true;
    pthread_cond_signal(&sink.work);
    pthread_mutex_unlock(&sink.lock);
    if (was_running)
        pthread_join(sink.thread, NULL);
    pthread_mutex_lock(&sink.lock);
    sink.stopping = sink.running = false;
    tell_done(); /* who waits meanwhile starts another thread */
    pthread_mutex_unlock(&sink.lock);
}

enum tc_status tc_sink_open(const char *path, const struct tc_sink_config *config,
                            struct tc_error *err)
{
    enum tc_status status;

    memset(&sink, 0, sizeof(sink));
    pthread_mutex_init(&sink.lock, NULL);
    tc_thread_cond_init(&sink.work);
    tc_thread_cond_init(&sink.done);
    sink.config = *config;
    status = tc_writer_open(path, &sink.writer, err);
    if (status != TC_OK)
        return status;
    sink.open = true;
    return TC_OK;
}

bool tc_sink_is_open(void)
{
    return sink.open;
}

/* Wait on done without the interpreter's lock; the sink's own lock is held before and after. */
static void wait_done(void)
{
    const unsigned round = sink.rounds;
    void *state;

    ensure_thread();
    if (sink.failed || sink.paused)
        return;
    pthread_cond_signal(&sink.work);
    pthread_mutex_unlock(&sink.lock);
    state = sink.config.wait_begin ? sink.config.wait_begin() : NULL;
    pthread_mutex_lock(&sink.lock);
    while (round == sink.rounds)
        pthread_cond_wait(&sink.done, &sink.lock);
    pthread_mutex_unlock(&sink.lock);
    if (sink.config.wait_end)
        sink.config.wait_end(state);
    pthread_mutex_lock(&sink.lock);
}

/* Is there room for size more bytes? Lines that are held cannot be written, so they are let
 * through. */
static bool make_room(size_t size)
{
    while (!sink.held && !sink.paused && !sink.failed && sink.lines.size &&
           sink.lines.size + size > sink.config.limit) {
        if (sink.config.drop)
            return false;
        wait_done();
    }
    return true;
}

/* Called with the lock held. */
static void put(const char *line, size_t size, size_t step_at)
{
    if (sink.held)
        tc_held_add(&sink.held_lines, line, size, step_at);
    else
        tc_strbuf_add(&sink.lines, line, size);
    sink.stats.records++;
    ensure_thread();
    if (sink.lines.size >= WAKE_SIZE && !sink.busy)
        pthread_cond_signal(&sink.work);
}

void tc_sink_put(const char *line, size_t size, size_t step_at)
{
    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    if (sink.failed || !make_room(size))
        sink.stats.dropped++;
    else
        put(line, size, step_at);
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_put_last(const char *line, size_t size)
{
    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    if (!sink.failed)
        put(line, size, 0);
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_hold(void)
{
    sink.held = sink.open;
}

void tc_sink_relabel(int64_t step)
{
    tc_held_relabel(&sink.held_lines, step);
}

void tc_sink_drop_calls(void)
{
    sink.stats.records -= tc_held_drop_calls(&sink.held_lines);
}

static uint64_t count_lines(const char *lines, size_t size)
{
    uint64_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += lines[i] == '\n';
    return n;
}

void tc_sink_release(const char *lines, size_t size)
{
    if (!sink.held)
        return;
    pthread_mutex_lock(&sink.lock);
    if (size) {
        tc_strbuf_add(&sink.lines, lines, size);
        sink.stats.records += count_lines(lines, size);
    }
    tc_held_move(&sink.held_lines, &sink.lines);
    sink.held = false;
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_flush(void)
{
    unsigned ticket;

    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    ticket = ++sink.wanted;
    while (!sink.failed && !sink.paused && (int)(sink.served - ticket) < 0)
        wait_done();
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_pause(void)
{
    struct tc_error err = {0};
    void *state;

    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    sink.paused = true;
    pthread_mutex_unlock(&sink.lock);
    state = sink.config.wait_begin ? sink.config.wait_begin() : NULL;
    stop_thread();
    if (sink.config.wait_end)
        sink.config.wait_end(state);
    if (!sink.failed && tc_writer_flush(sink.writer, &err) != TC_OK)
        fail(&err);
}

void tc_sink_resume(void)
{
    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    sink.paused = false;
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_close(void)
{
    struct tc_error err = {0};

    if (!sink.open)
        return;
    tc_sink_release(NULL, 0);
    pthread_mutex_lock(&sink.lock);
    sink.paused = false;
    if (sink.lines.size)
        ensure_thread();
    pthread_mutex_unlock(&sink.lock);
    stop_thread();
    sink.open = false;
    if (!sink.failed && tc_writer_flush(sink.writer, &err) == TC_OK)
        sink.stats.file_bytes = tc_writer_file_bytes(sink.writer);
    if (tc_writer_close(sink.writer, &err) != TC_OK && !sink.failed)
        fail(&err);
    sink.writer = NULL;
    tc_strbuf_release(&sink.lines);
    tc_held_release(&sink.held_lines);
}

void tc_sink_abandon(void)
{
    if (sink.writer)
        tc_writer_abandon(sink.writer);
    tc_strbuf_release(&sink.lines);
    tc_held_release(&sink.held_lines);
    memset(&sink, 0, sizeof(sink));
}

/*
 * Only what a signal handler may call: the thread notices the request at its next tick. It may
 * never answer, when the signal came while a line was being put; hence the limit.
 */
void tc_sink_rescue(unsigned ms)
{
    struct timespec one_ms = {0, 1000000};
    unsigned ticket;

    if (!sink.open || !sink.running)
        return;
    ticket = atomic_fetch_add(&rescue_wanted, 1) + 1;
    while (ms-- && (int)(atomic_load(&rescue_served) - ticket) < 0)
        nanosleep(&one_ms, NULL);
}

void tc_sink_stats(struct tc_sink_stats *out)
{
    *out = sink.stats;
}
