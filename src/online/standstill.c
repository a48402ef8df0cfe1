/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standstill.c - gaps between the records of all processes, and how the ranks stood in them
 *
 * The first reading gathers when each process told something: stretches without a gap that is long
 * enough. What no stretch of any process covers is a standstill. The second reading replays each
 * process up to the beginning of each standstill, as a live check had read it by then.
 */
#include "online/standstill.h"

#include <stdlib.h>

#include "base/vec.h"
#include "online/flight.h"
#include "online/hang.h"
#include "report/run.h"

#define SECOND_NS INT64_C(1000000000)
#define ASK_EVERY 4096 /* records between two questions whether to go on */

/* From one wall-clock time to another, in ns since 1970. */
struct stretch {
    int64_t from, until;
};

struct standstill {
    int64_t from, until;
    struct tc_hang *hang; /* how the ranks stood then */
};

struct life {
    struct stretch told;  /* the last stretch in which it told something */
    int64_t began, ended; /* ended: INT64_MAX where it did not say that it has */
};

struct search {
    const struct tc_standstill_config *config;
    struct tc_notes *notes;
    struct tc_strtab *symbols;
    struct tc_trace_folder *folder;
    struct tc_replay *replay; /* knows whose rank a process is */
    int64_t after_ns;
    TC_VEC(struct life) lives;   /* of each file */
    TC_VEC(struct stretch) told; /* of all files */
    TC_VEC(struct standstill) stood;
    struct tc_error *err;
};

/* ---- both readings ----------------------------------------------------------------------------
 */

typedef void take_fn(struct search *s, size_t file, const struct tc_record *record);

static enum tc_status read_all(struct search *s, struct tc_trace_folder *folder, take_fn *take)
{
    const struct tc_record *record;
    enum tc_status status;
    size_t file, n = 0;

    while (!(status = tc_trace_folder_next(folder, &file, &record, s->err))) {
        take(s, file, record);
        if (++n % ASK_EVERY == 0 && s->config->go_on && !s->config->go_on(s->config->context))
            return tc_error_set(s->err, TC_E_INTERRUPTED, "interrupted");
    }
    return status == TC_END ? TC_OK : status;
}

/* 0 where it is unknown. */
static int64_t time_of(const struct search *s, size_t file, const struct tc_record *record)
{
    return record->t == TC_NONE
               ? 0
               : tc_process_wall_time(tc_replay_process(s->replay, file), record->t);
}

/* ---- the first: when something was told --------------------------------------------------------
 */

static void ignore_event(void *context, const struct tc_event *event)
{
    (void)context;
    (void)event;
}

static void begin(struct search *s)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(s->folder); i++) {
        const struct tc_trace_file *file = tc_trace_folder_file(s->folder, i);
        tc_replay_add_process(s->replay, tc_trace_file_name(file), tc_trace_file_process(file));
        const int64_t began = tc_replay_process(s->replay, i)->unix_ns;
        tc_vec_push(&s->lives, ((struct life){
                                   {began, began},
                                   began, INT64_MAX
        }));
    }
}

static void note_time(struct search *s, size_t file, const struct tc_record *record)
{
    struct life *life = &s->lives.items[file];
    const int64_t time = time_of(s, file, record);

    tc_replay_feed(s->replay, file, record);
    if (!time || !life->began)
        return;
    if (time - life->told.until >= s->after_ns) {
        tc_vec_push(&s->told, life->told);
        life->told.from = time;
    }
    life->told.until = time > life->told.until ? time : life->told.until;
    if (record->type == TC_RECORD_END)
        life->ended = time;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/* ---- standstills ------------------------------------------------------------------------------
 */

/* Does a process go on that began before, in the place of this one or as its launcher that has
 * ended since? */
static bool is_given_up(const struct search *s, size_t file)
{
    const struct tc_process *process = tc_replay_process(s->replay, file);

    for (size_t i = 0; i < s->lives.n; i++) {
        const struct tc_process *other = tc_replay_process(s->replay, i);
        if (other->is_worker || i == file)
            continue;
        if (other->rank == process->rank && other->unix_ns > process->unix_ns)
            return true;
        if (other->rank < 0 && process->rank >= 0 && s->lives.items[i].ended != INT64_MAX)
            return true;
    }
    return false;
}

/* Is there a process, at that time, that has begun and not ended? */
static bool is_on(const struct search *s, int64_t time)
{
    for (size_t i = 0; i < s->lives.n; i++) {
        const struct life *life = &s->lives.items[i];
        if (life->began && life->began <= time && life->ended > time &&
            !tc_replay_process(s->replay, i)->is_worker)
            return true;
    }
    return false;
}

/* At the end of the trace: one that nobody has given up has not ended. */
static bool is_unfinished(const struct search *s)
{
    for (size_t i = 0; i < s->lives.n; i++)
        if (s->lives.items[i].began && s->lives.items[i].ended == INT64_MAX &&
            !tc_replay_process(s->replay, i)->is_worker && !is_given_up(s, i))
            return true;
    return false;
}

static void add_standstill(struct search *s, int64_t from, int64_t until)
{
    if (until - from < s->after_ns || !is_on(s, from))
        return;
    if (s->stood.n < TC_STANDSTILLS_MAX)
        tc_vec_push(&s->stood, ((struct standstill){.from = from, .until = until}));
    else
        tc_notes_add(s->notes, "more-standstills", NULL, 0,
                     "the run stood still more often: the first %d times are reported",
                     TC_STANDSTILLS_MAX);
}

static void find_gaps(struct search *s)
{
    int64_t until = 0;

    for (size_t i = 0; i < s->lives.n; i++)
        if (s->lives.items[i].began)
            tc_vec_push(&s->told, s->lives.items[i].told);
    if (!s->told.n)
        return;
    qsort(s->told.items, s->told.n, sizeof(*s->told.items), compare_stretches);
    for (size_t i = 0; i < s->told.n; i++) {
        if (until)
            add_standstill(s, until, s->told.items[i].from);
        until = s->told.items[i].until > until ? s->told.items[i].until : until;
    }
    if (is_unfinished(s))
        add_standstill(s, until, s->config->now_ns);
}

/* ---- the second: how the ranks stood ----------------------------------------------------------
 */

static void feed(struct search *s, size_t file, const struct tc_record *record)
{
    const int64_t time = time_of(s, file, record);

    for (size_t i = 0; i < s->stood.n && s->lives.items[file].began; i++)
        if (time <= s->stood.items[i].from)
            tc_hang_feed(s->stood.items[i].hang, file, record);
}

/* A standstill, and the search that found it. */
struct asked {
    const struct search *search;
    int64_t time;
};

static const struct tc_process *process_at(void *context, size_t i)
{
    const struct asked *asked = context;
    const int64_t began = asked->search->lives.items[i].began;

    return began && began <= asked->time ? tc_replay_process(asked->search->replay, i) : NULL;
}

static void tell_standstill(const struct search *s, const struct standstill *stood, bool is_last)
{
    const uint64_t seconds =
        (uint64_t)(stood->until - stood->from + SECOND_NS / 2) / (uint64_t)SECOND_NS;
    struct asked asked = {s, stood->from};
    struct tc_json *finding =
        tc_hang_finding(stood->hang, s->lives.n, process_at, &asked, seconds, s->config->trace);
    struct tc_strbuf when = TC_STRBUF_INIT;

    if (stood->until < s->config->now_ns) {
        tc_strbuf_addf(&when, "nothing came for %llu s", (unsigned long long)seconds);
        tc_json_set_string(finding, "when", when.text);
    }
    if (is_last) /* dumps are of the end */
        tc_flight_add(finding, s->config->trace, s->notes);
    s->config->found(s->config->context, finding);
    tc_json_free(finding);
    tc_strbuf_release(&when);
}

static enum tc_status tell_all(struct search *s)
{
    struct tc_trace_folder *again = NULL;
    enum tc_status status = tc_trace_folder_open(s->config->trace, NULL, &again, s->err);

    for (size_t i = 0; i < s->stood.n; i++)
        s->stood.items[i].hang = tc_hang_new();
    if (!status)
        status = read_all(s, again, feed);
    tc_trace_folder_close(again);
    for (size_t i = 0; i < s->stood.n && !status; i++)
        tell_standstill(s, &s->stood.items[i], i + 1 == s->stood.n);
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

static void release(struct search *s)
{
    for (size_t i = 0; i < s->stood.n; i++)
        tc_hang_free(s->stood.items[i].hang);
    tc_vec_release(&s->lives);
    tc_vec_release(&s->told);
    tc_vec_release(&s->stood);
    tc_replay_free(s->replay);
    tc_trace_folder_close(s->folder);
    tc_strtab_free(s->symbols);
}

enum tc_status tc_standstill_find(const struct tc_standstill_config *config, struct tc_notes *notes,
                                  struct tc_error *err)
{
    struct search s = {.config = config,
                       .notes = notes,
                       .symbols = tc_symbols_new(),
                       .after_ns = (int64_t)config->after_s * SECOND_NS,
                       .err = err};
    enum tc_status status = tc_trace_folder_open(config->trace, NULL, &s.folder, err);

    s.replay = tc_replay_new(s.symbols, NULL, ignore_event, NULL);
    if (!status) {
        begin(&s);
        status = read_all(&s, s.folder, note_time);
    }
    if (!status)
        find_gaps(&s);
    if (!status && s.stood.n)
        status = tell_all(&s);
    release(&s);
    return status;
}
