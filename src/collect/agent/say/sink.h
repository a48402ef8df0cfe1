/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - from rendered lines to the trace file
 *
 * Lines go into a bounded buffer; a thread of ours, which never holds the
 * interpreter's lock, compresses and writes them. The process has one sink.
 * Calls come from threads that hold the interpreter's lock unless said otherwise.
 */
#ifndef TC_COLLECT_SINK_H
#define TC_COLLECT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>

struct tc_sink_stats {
    uint64_t records;                  /* put, or to be put before the next one */
    uint64_t file_bytes, file_records; /* what reached the file */
    uint64_t file_id;                  /* as tc_writer_file_id gives it */
    uint64_t dropped;                  /* neither will */
    int64_t first_lost, last_lost;     /* steps of those, if has_lost_steps */
    bool has_lost_steps;
    char failure[200]; /* why writing ended before its time, or empty */
};

struct tc_sink_config {
    uint64_t limit; /* bytes of the buffer */
    bool drop;      /* when it is full: drop and count instead of waiting */
    /* Called around waiting for the disk, to let go of the interpreter's lock and take it again. */
    void *(*wait_begin)(void);
    void (*wait_end)(void *state);
    /* Called from the writing thread before each round, to put late what waits elsewhere; or NULL.
     */
    void (*serve)(void);
    /* Called from the writing thread after each round; or NULL. */
    void (*report)(const struct tc_sink_stats *stats);
};

enum tc_status tc_sink_open(const char *path, const struct tc_sink_config *config,
                            struct tc_error *err);
bool tc_sink_is_open(void);

/* One line with its '\n'. step_at is the offset of the digits of its step number, 0 if it has none.
 */
void tc_sink_put(const char *line, size_t size, size_t step_at);
/* The same whether there is room or not, and without waiting: the interpreter may be gone. */
void tc_sink_put_last(const char *line, size_t size);
/* The same without waiting, by any thread: who has the interpreter's lock waits afterwards. */
void tc_sink_put_late(const char *line, size_t size, size_t step_at);
void tc_sink_wait_for_room(void);

/*
 * While held, lines are kept apart until it is known what stands before them: release puts lines
 * (if any) first; relabel replaces the step number that the kept lines carry.
 */
void tc_sink_hold(void);
/* Of what is held, drop the calls and their ends. */
void tc_sink_drop_calls(void);
void tc_sink_relabel(int64_t step);
void tc_sink_release(const char *lines, size_t size);

/*
 * Before a fork: everything is written and the thread ends, as Python from 3.12 on warns of forks
 * in processes with threads. Lines wait until the sink is resumed; the next one starts the thread
 * again.
 */
void tc_sink_pause(void);
void tc_sink_resume(void);
/* Returns when everything put so far is in the file. */
void tc_sink_flush(void);
/* Flush, close the file, end the thread. No lock of the interpreter needed. */
void tc_sink_close(void);
/* In a forked child: forget the parent's file, lines and thread. */
void tc_sink_abandon(void);
/* From a handler of a fatal signal: have everything written, waiting for at most ms milliseconds.
 */
void tc_sink_rescue(unsigned ms);

void tc_sink_stats(struct tc_sink_stats *out);

#endif /* TC_COLLECT_SINK_H */
