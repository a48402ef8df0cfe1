/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - records written as lines of text, fed to a replay
 */
#ifndef TC_TESTS_FEED_H
#define TC_TESTS_FEED_H

#include "unit.h"

#include "replay/replay.h"
#include "replay/symbols.h"
#include "trace/scan.h"

struct feed {
    struct tc_strtab *symbols;
    struct tc_notes *notes;
    struct tc_replay *replay;
    struct tc_arena process_arena, arena;
    struct tc_record process;
};

static inline void feed_open(struct feed *feed, struct tc_strtab *symbols, const char *process,
                             tc_event_fn *on_event, void *context)
{
    *feed = (struct feed){.symbols = symbols, .notes = tc_notes_new()};
    assert_int_equal(
        tc_record_parse(process, strlen(process), &feed->process_arena, &feed->process, NULL),
        TC_OK);
    feed->replay = tc_replay_new(symbols, feed->notes, on_event, context);
    tc_replay_add_process(feed->replay, "trace_test.jsonl", &feed->process);
}

static inline void feed_line(struct feed *feed, const char *line)
{
    struct tc_record record;
    struct tc_error err;

    tc_arena_reset(&feed->arena);
    if (tc_record_parse(line, strlen(line), &feed->arena, &record, &err))
        fail_msg("%s: %s", line, err.text);
    tc_replay_feed(feed->replay, 0, &record);
}

static inline void feed_lines(struct feed *feed, const char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        feed_line(feed, lines[i]);
}

static inline void feed_close(struct feed *feed)
{
    tc_replay_free(feed->replay);
    tc_notes_free(feed->notes);
    tc_arena_release(&feed->process_arena);
    tc_arena_release(&feed->arena);
}

#define FEED_PROCESS \
    "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\",\"packages\":{\"torch\":\"2\"}}"

/* The APIs of a plain training loop. */
static inline void feed_apis(struct feed *feed)
{
    static const char *const apis[] = {
        "{\"type\":\"api\",\"fn\":\"forward\",\"role\":\"forward\"}",
        "{\"type\":\"api\",\"fn\":\"backward\",\"role\":\"backward\"}",
        "{\"type\":\"api\",\"fn\":\"step\",\"role\":\"step\"}",
        "{\"type\":\"api\",\"fn\":\"zero_grad\",\"role\":\"zero_grad\"}",
        "{\"type\":\"api\",\"fn\":\"scaler\",\"role\":\"scaler\"}",
        "{\"type\":\"api\",\"fn\":\"unscale\",\"role\":\"unscale\"}",
        "{\"type\":\"api\",\"fn\":\"scheduler\",\"role\":\"scheduler\"}",
        "{\"type\":\"api\",\"fn\":\"add\",\"role\":\"function\"}",
    };

    feed_lines(feed, apis, N_OF(apis));
}

/* A call of fn, open until feed_return. more: further fields, ",\"parent\":1". */
static inline void feed_call(struct feed *feed, int id, const char *fn, const char *more)
{
    char line[512];

    snprintf(line, sizeof(line),
             "{\"type\":\"call\",\"id\":%d,\"fn\":\"%s\",\"t\":%d,\"stage\":\"training\"%s}", id,
             fn, id * 10, more);
    feed_line(feed, line);
}

static inline void feed_return(struct feed *feed, int id)
{
    char line[64];

    snprintf(line, sizeof(line), "{\"type\":\"return\",\"id\":%d,\"t\":%d}", id, id * 10 + 5);
    feed_line(feed, line);
}

static inline void feed_cut(struct feed *feed, int step, const char *why)
{
    char line[128];

    snprintf(line, sizeof(line),
             "{\"type\":\"step\",\"step\":%d,\"t\":%d,\"stage\":\"training\",\"why\":\"%s\"}", step,
             step, why);
    feed_line(feed, line);
}

#endif /* TC_TESTS_FEED_H */
