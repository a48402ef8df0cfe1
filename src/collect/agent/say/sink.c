/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.c - the buffer, the thread that empties it, and what happens when either fails
 *
 * One lock guards all. The thread fetches all waiting lines at each tick, or when WAKE_SIZE bytes
 * wait, lets go of the lock and writes. A write that fails is tried again, ever later, while lines
 * wait in the bounded buffer; then callers wait or records are dropped and counted, as configured.
 * The steps whose records are safe in the file are known at any time. tc_sink_rescue() alone may
 * be called in a signal handler.
 */
#include "collect/agent/say/sink.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "collect/agent/say/held.h"
#include "collect/agent/say/lost.h"
#include "collect/agent/say/reached.h"
#include "collect/agent/say/write_out.h"
#include "collect/thread.h"
#include "trace/writer.h"

#define TICK_NS   50000000L         /* how often waiting lines are fetched */
#define WAKE_SIZE ((size_t)1 << 18) /* bytes that are fetched at once */
/* Of the buffers: growing, they are copied by whoever trains. */
#define FIRST_SIZE   (2 * WAKE_SIZE)
#define RETRY_NS     UINT64_C(100000000)  /* after a failed write; doubled with each further one */
#define MAX_RETRY_NS UINT64_C(5000000000) /* up to this */
#define LAST_TRIES   20                   /* at the end of the process, RETRY_NS apart */

struct sink {
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the thread: lines, a request, the end */
    pthread_cond_t done; /* for the others: everything fetched was written */
    pthread_t thread;
    struct tc_sink_config config;
    struct tc_writer *writer;
    struct tc_strbuf lines; /* not yet fetched */
    size_t room;            /* bytes that may be added to them without a further look */
    struct tc_held held_lines;
    bool held, open, stopping, failed;
    uint64_t retry_ns, retry_at_ns; /* 0: the last write succeeded; lines wait meanwhile */
    char trouble[sizeof(((struct tc_sink_stats *)0)->failure)]; /* why the last one failed */
    struct tc_lost lost;                                        /* since the last note of that */
    struct tc_reached reached;
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

/* Whoever has the lock may change what makes room. */
static void lock(void)
{
    pthread_mutex_lock(&sink.lock);
    sink.room = 0;
}

/* What went wrong ends the trace, never the training; and a passing trouble not even that. */
static void fail(const struct tc_error *err)
{
    snprintf(sink.trouble, sizeof(sink.trouble), "%.190s", err->text);
    sink.failed = !sink.writer || !tc_writer_may_recover(sink.writer);
    if (sink.failed) {
        memcpy(sink.stats.failure, sink.trouble, sizeof(sink.trouble));
        return;
    }
    sink.retry_ns = sink.retry_ns ? sink.retry_ns * 2 : RETRY_NS;
    if (sink.retry_ns > MAX_RETRY_NS)
        sink.retry_ns = MAX_RETRY_NS;
    sink.retry_at_ns = tc_clock_ns() + sink.retry_ns;
}

static void settle(enum tc_status status, const struct tc_error *err)
{
    if (status != TC_OK)
        fail(err);
    else
        sink.retry_ns = 0;
}

/* Called when the writer has written or failed, and nothing of what was fetched is elsewhere. */
static void count_written(void)
{
    sink.stats.file_bytes = tc_writer_file_bytes(sink.writer);
    sink.stats.file_records = tc_writer_file_lines(sink.writer);
    tc_reached_written(&sink.reached, sink.stats.file_records);
}

/* Called with the lock held. */
static void tell_done(void)
{
    sink.rounds++;
    pthread_cond_broadcast(&sink.done);
}

/* While writing fails, lines stay in the buffer, which is bounded; the writer has one fetch. */
static void fetch(struct tc_strbuf *mine)
{
    struct tc_strbuf fetched = sink.lines;

    if (sink.retry_ns)
        return;
    sink.lines = *mine;
    *mine = fetched;
    tc_reached_fetched(&sink.reached, mine, sink.stats.records);
}

/* A process may be killed at any time: its file says who it is as soon as there is a line. */
static bool is_first(void)
{
    return sink.lines.size && !sink.stats.file_bytes && !sink.failed && !sink.retry_ns;
}

static bool is_waiting_to_retry(void)
{
    return sink.retry_ns && !sink.stopping && tc_clock_ns() < sink.retry_at_ns;
}

/* One round: fetch, let go of the lock, write. Called and returns with the lock held. */
static void serve(struct tc_strbuf *mine)
{
    unsigned wanted = sink.wanted;
    unsigned rescue = atomic_load(&rescue_wanted);
    bool may_write = !sink.failed && !is_waiting_to_retry();
    bool flush = sink.stopping || wanted != sink.served || rescue != atomic_load(&rescue_served) ||
                 is_first();
    enum tc_status status = TC_OK;
    struct tc_error err = {0};

    fetch(mine);
    sink.busy = true;
    pthread_mutex_unlock(&sink.lock);
    if (may_write)
        status = tc_write_out(sink.writer, mine, flush, &err);
    tc_strbuf_reset(mine);
    lock();
    if (may_write)
        settle(status, &err);
    sink.busy = false;
    sink.served = wanted;
    atomic_store(&rescue_served, rescue);
    count_written();
    if (sink.config.report)
        sink.config.report(&sink.stats);
    tell_done();
}

static bool has_request(void)
{
    return sink.stopping || sink.wanted != sink.served || is_first() ||
           atomic_load(&rescue_wanted) != atomic_load(&rescue_served);
}

/* Called and returns with the lock held. */
static void fetch_late(void)
{
    if (!sink.config.serve)
        return;
    pthread_mutex_unlock(&sink.lock);
    sink.config.serve();
    lock();
}

static void *run(void *unused)
{
    struct tc_strbuf mine = TC_STRBUF_INIT;

    (void)unused;
    tc_strbuf_reserve(&mine, FIRST_SIZE);
    lock();
    while (!sink.stopping || (sink.lines.size && !sink.retry_ns)) {
        if (!has_request() && sink.lines.size < WAKE_SIZE)
            tc_thread_wait(&sink.work, &sink.lock, TICK_NS);
        fetch_late();
        serve(&mine);
    }
    pthread_mutex_unlock(&sink.lock);
    tc_strbuf_release(&mine);
    return NULL;
}

static void start_thread(void)
{
    struct tc_error err = {0};

    sink.running = tc_thread_start(&sink.thread, run);
    if (!sink.running) {
        tc_error_set(&err, TC_E_IO, "cannot start the writing thread");
        fail(&err);
    }
}

/* The thread is started when there is something for it to do. Called with the lock held. */
static void ensure_thread(void)
{
    if (!sink.running && !sink.paused && !sink.failed)
        start_thread();
}

/* Have the thread write everything and end. */
static void stop_thread(void)
{
    bool was_running;

    lock();
    was_running = sink.running;
    sink.stopping = true;
    pthread_cond_signal(&sink.work);
    pthread_mutex_unlock(&sink.lock);
    if (was_running)
        pthread_join(sink.thread, NULL);
    lock();
    sink.stopping = sink.running = false;
    tell_done(); /* who waits meanwhile starts another thread */
    pthread_mutex_unlock(&sink.lock);
}

enum tc_status tc_sink_open(const char *path, const struct tc_sink_config *config,
                            struct tc_error *err)
{
    enum tc_status status;

    memset(&sink, 0, sizeof(sink));
    sink.reached.fetched_step = -1;
    pthread_mutex_init(&sink.lock, NULL);
    tc_thread_cond_init(&sink.work);
    tc_thread_cond_init(&sink.done);
    sink.config = *config;
    tc_strbuf_reserve(&sink.lines, FIRST_SIZE);
    status = tc_writer_open(path, &sink.writer, err);
    if (status != TC_OK)
        return status;
    sink.stats.file_id = tc_writer_file_id(sink.writer);
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
    lock();
    while (round == sink.rounds)
        pthread_cond_wait(&sink.done, &sink.lock);
    pthread_mutex_unlock(&sink.lock);
    if (sink.config.wait_end)
        sink.config.wait_end(state);
    lock();
}

/* Lines that are held cannot be written, so they are let through. */
static bool is_full(size_t size)
{
    return !sink.held && !sink.paused && !sink.failed && sink.lines.size &&
           sink.lines.size + size > sink.config.limit;
}

static bool drops(void)
{
    return sink.config.drop || sink.retry_ns;
}

/* Is there room for size more bytes? */
static bool make_room(size_t size)
{
    while (is_full(size)) {
        if (drops())
            return false;
        wait_done();
    }
    return true;
}

static void add_lost_steps(int64_t first, int64_t last)
{
    if (!sink.stats.has_lost_steps || first < sink.stats.first_lost)
        sink.stats.first_lost = first;
    if (!sink.stats.has_lost_steps || last > sink.stats.last_lost)
        sink.stats.last_lost = last;
    sink.stats.has_lost_steps = true;
}

static void count_lost(const char *line, size_t step_at)
{
    int64_t step = step_at ? strtoll(line + step_at, NULL, 10) : -1;

    sink.stats.dropped++;
    tc_lost_count(&sink.lost, step);
    if (step >= 0)
        add_lost_steps(step, step);
}

/* Where the records would stand: readers judge nothing across it. */
static void add_lost(void)
{
    if (!sink.lost.n || sink.held)
        return;
    tc_lost_note(&sink.lost, &sink.lines);
    sink.stats.records++;
}

/* Called with the lock held. */
static void put_line(const char *line, size_t size, size_t step_at)
{
    add_lost();
    if (sink.held)
        tc_held_add(&sink.held_lines, line, size, step_at);
    else
        tc_strbuf_add(&sink.lines, line, size);
    sink.stats.records++;
    ensure_thread();
    if (sink.lines.size >= WAKE_SIZE && !sink.busy)
        pthread_cond_signal(&sink.work);
}

/* Where nothing but waiting lines is to be seen to, up to the next waking. */
static size_t room_left(void)
{
    const size_t most = sink.config.limit < WAKE_SIZE ? sink.config.limit : WAKE_SIZE;
    const bool is_plain = sink.running && !sink.held && !sink.paused && !sink.failed &&
                          !sink.retry_ns && !sink.lost.n;

    return is_plain && sink.lines.size < most ? most - sink.lines.size : 0;
}

/* Called with the lock held. */
static void put(const char *line, size_t size, size_t step_at)
{
    sink.room = 0;
    if (sink.failed || !make_room(size))
        count_lost(line, step_at);
    else
        put_line(line, size, step_at);
    sink.room = room_left();
}

void tc_sink_put(const char *line, size_t size, size_t step_at)
{
    if (!sink.open)
        return;
    pthread_mutex_lock(&sink.lock);
    if (size < sink.room) {
        tc_strbuf_add(&sink.lines, line, size);
        sink.room -= size;
        sink.stats.records++;
    } else {
        put(line, size, step_at);
    }
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_put_last(const char *line, size_t size)
{
    if (!sink.open)
        return;
    lock();
    if (!sink.failed)
        put_line(line, size, 0);
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_put_late(const char *line, size_t size, size_t step_at)
{
    if (!sink.open)
        return;
    lock();
    if (sink.failed || (is_full(size) && drops()))
        count_lost(line, step_at);
    else
        put_line(line, size, step_at);
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_wait_for_room(void)
{
    if (!sink.open)
        return;
    lock();
    make_room(0);
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_hold(void)
{
    if (!sink.open)
        return;
    lock();
    sink.held = true;
    pthread_mutex_unlock(&sink.lock);
}

void tc_sink_relabel(int64_t step)
{
    tc_held_relabel(&sink.held_lines, step);
}

void tc_sink_drop_calls(void)
{
    if (!sink.open)
        return;
    lock();
    sink.stats.records -= tc_held_drop_calls(&sink.held_lines);
    pthread_mutex_unlock(&sink.lock);
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
    lock();
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
    lock();
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
    lock();
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
    lock();
    sink.paused = false;
    pthread_mutex_unlock(&sink.lock);
}

/* The thread has ended. A disk that is full now gets a little time. */
static void drain(void)
{
    struct timespec pause = {0, RETRY_NS};
    struct tc_error err = {0};

    tc_reached_fetched(&sink.reached, &sink.lines, sink.stats.records);
    for (unsigned i = 0; !sink.failed && i < LAST_TRIES; i++) {
        settle(tc_write_out(sink.writer, &sink.lines, true, &err), &err);
        tc_strbuf_reset(&sink.lines); /* the writer has them */
        if (!sink.retry_ns)
            break;
        nanosleep(&pause, NULL);
    }
    if (sink.retry_ns)
        memcpy(sink.stats.failure, sink.trouble, sizeof(sink.trouble));
}

static void close_writer(void)
{
    struct tc_error err = {0};
    enum tc_status status = tc_writer_close(sink.writer, &err);

    sink.writer = NULL;
    if (status != TC_OK && !sink.stats.failure[0])
        snprintf(sink.stats.failure, sizeof(sink.stats.failure), "%.190s", err.text);
    if (status != TC_E_NOTFOUND)
        return;
    sink.stats.file_bytes = sink.stats.file_records = 0; /* the file was removed */
    sink.reached.step = 0;
}

/* What was put and is not in the file; the first of it may be of the last step that is. */
static void count_missing(void)
{
    if (sink.stats.records <= sink.stats.file_records)
        return;
    sink.stats.dropped += sink.stats.records - sink.stats.file_records;
    if (sink.reached.fetched_step >= 0)
        add_lost_steps(sink.reached.step, sink.reached.fetched_step);
}

void tc_sink_close(void)
{
    if (!sink.open)
        return;
    tc_sink_release(NULL, 0);
    lock();
    sink.paused = false;
    if (!sink.failed)
        add_lost();
    if (sink.lines.size)
        ensure_thread();
    pthread_mutex_unlock(&sink.lock);
    stop_thread();
    sink.open = false;
    drain();
    count_written();
    close_writer();
    count_missing();
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
    bool is_shared = sink.open; /* else there is no thread, and perhaps no lock yet */

    if (is_shared)
        lock();
    *out = sink.stats;
    out->records += is_shared && sink.lost.n && !sink.held; /* the note of that comes first */
    if (is_shared)
        pthread_mutex_unlock(&sink.lock);
}
