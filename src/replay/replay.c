/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - each type of record applied to its process, and the events that follow
 *
 * One track a process: its open calls, window, variables. A table of notes says which codes change
 * what is judged. The record is used up when the function returns, unless a call is still open:
 * tc_spans_settle() then copies what it borrows. Events are given out in the order of records of
 * one process; nothing here compares two.
 */
#include "replay/replay.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "replay/lean.h"
#include "replay/rest.h"
#include "replay/setting.h"
#include "replay/span.h"
#include "replay/stage_end.h"
#include "replay/symbols.h"
#include "replay/training_look.h"
#include "replay/variable.h"
#include "replay/window.h"
#include "trace/batch.h"

/* One process and what is open in it. */
struct track {
    struct tc_process process;
    struct tc_spans spans;
    struct tc_lean lean;
    bool has_last_window; /* cut by the end of the process: judged once the process is known to have
                             ended well */
    bool is_foreign;      /* other tools do not write how a process ended */
    bool is_cut;          /* frames of it were deleted: first_id is that of the first call behind */
    int64_t first_id;
    uint64_t n_events;
};

struct tc_replay {
    struct tc_strtab *symbols;
    struct tc_notes *notes;
    tc_event_fn *on_event;
    void *context;
    TC_VEC(struct track *) tracks;
    struct tc_replay_counts counts;
    bool is_close; /* see tc_replay_look_closely */
    const struct tc_strtab *left_out;
};

struct tc_replay *tc_replay_new(struct tc_strtab *symbols, struct tc_notes *notes,
                                tc_event_fn *on_event, void *context)
{
    struct tc_replay *replay = tc_calloc(1, sizeof(*replay));

    replay->symbols = symbols;
    replay->notes = notes;
    replay->on_event = on_event;
    replay->context = context;
    return replay;
}

void tc_replay_free(struct tc_replay *replay)
{
    if (!replay)
        return;
    for (size_t i = 0; i < replay->tracks.n; i++) {
        struct track *track = replay->tracks.items[i];
        tc_spans_release(&track->spans);
        tc_process_free_variables(&track->process);
        tc_process_free_settings(&track->process);
        tc_look_release(&track->process);
        tc_map_release(&track->process.pauses);
        tc_window_release(&track->process.window);
        tc_strtab_free(track->process.missing);
        tc_strtab_free(track->process.left_out);
        tc_lean_release(&track->lean);
        tc_free(track);
    }
    tc_vec_release(&replay->tracks);
    tc_free(replay);
}

/* Until schema 5 it had no name. */
static uint64_t algorithm_of(const struct tc_value *process)
{
    struct tc_str name = tc_value_str(tc_value_get(process, "digest"));

    return name.text ? tc_hash64(name.text, name.size, 0) : 0;
}

void tc_replay_leave_out(struct tc_replay *replay, const struct tc_strtab *names)
{
    replay->left_out = names;
}

/* What the reader leaves out, and what the agent did; NULL: nothing is. */
static struct tc_strtab *left_out_of(const struct tc_replay *replay, const struct tc_value *process)
{
    struct tc_strtab *all;

    if (!replay->left_out && !tc_value_get(process, "left_out"))
        return NULL;
    all = tc_strtab_new();
    tc_lean_add_told(process, all);
    if (replay->left_out)
        tc_strtab_add_all(all, replay->left_out);
    return all;
}

void tc_replay_add_process(struct tc_replay *replay, const char *file,
                           const struct tc_record *record)
{
    struct track *track = tc_calloc(1, sizeof(*track));
    struct tc_process *process = &track->process;
    const struct tc_value *object = record->object;

    replay->counts.n_records += record->line != 0; /* of a foreign trace it is made up */
    process->file = file;
    process->packages = tc_value_get(object, "packages");
    process->host = tc_value_str(tc_value_get(object, "host"));
    process->restart = tc_value_int(tc_value_get(object, "restart"), -1);
    process->pid = tc_value_int(tc_value_get(object, "pid"), 0);
    process->parent_pid = tc_value_int(tc_value_get(object, "ppid"), 0);
    process->rank = tc_value_int(tc_value_get(object, "rank"), -1);
    process->world = tc_value_int(tc_value_get(object, "world_size"), 1);
    process->unix_ns = tc_value_int(tc_value_get(object, "unix_ns"), 0);
    process->is_worker = tc_str_is(record->role, "worker");
    process->is_sampled = tc_value_get(object, "sampling") != NULL;
    process->selection = tc_value_get(object, "selection");
    process->left_out = left_out_of(replay, object);
    track->lean.left_out = replay->left_out;
    process->has_content = tc_value_is(tc_value_get(object, "content"), "batches") ||
                           tc_value_is(tc_value_get(object, "content"), "full");
    process->has_full_content = tc_value_is(tc_value_get(object, "content"), "full");
    process->has_operators = tc_value_is_true(tc_value_get(object, "operators"));
    process->digest = algorithm_of(object);
    process->first_t = process->last_t = process->looked_t = TC_NONE;
    process->has_samples = tc_value_is(tc_value_get(object, "variables"), "sampled");
    process->window.grads = TC_SYM_NONE;
    tc_spans_init(&track->spans, replay->symbols);
    tc_vec_push(&replay->tracks, track);
}

void tc_replay_look_closely(struct tc_replay *replay)
{
    replay->is_close = true;
}

/* What only a close look sees has no number of its own: those of others do not depend on it. */
static void emit_closely(struct tc_replay *replay, struct track *track, struct tc_event event)
{
    if (!replay->is_close)
        return;
    track->process.own = tc_spans_own(&track->spans);
    event.process = &track->process;
    event.order = track->n_events;
    replay->on_event(replay->context, &event);
}

static void emit(struct tc_replay *replay, struct track *track, struct tc_event event)
{
    track->process.own = tc_spans_own(&track->spans);
    event.process = &track->process;
    event.order = track->n_events++;
    replay->on_event(replay->context, &event);
}

static bool is_in_windows(const struct track *track, const struct tc_call *call)
{
    return !track->process.is_worker && call->th == 0 && !call->is_partial;
}

static void on_call(struct tc_replay *replay, struct track *track, const struct tc_record *record)
{
    struct tc_call *call = tc_spans_enter(&track->spans, record);

    if (!call) {
        tc_notes_add(replay->notes, "duplicate-call", track->process.file, record->line,
                     "call %" PRId64 " is entered twice", record->id);
        return;
    }
    replay->counts.n_calls++;
    track->first_id = record->id < track->first_id ? record->id : track->first_id;
    call->window = track->process.window.number;
    call->is_partial = track->process.is_skipped;
    if (call->is_root)
        tc_rest_called(&track->process, tc_value_int(tc_value_get(call->self, "id"), TC_NONE));
    if (call->n_params)
        tc_variable_survey(&track->process, call);
    if (call->role == TC_ROLE_STEP && !record->params)
        track->process.hides_owners = true;
    if (call->role == TC_ROLE_STEP)
        tc_setting_use(&track->process);
    if (!track->process.is_worker && call->th == 0) {
        tc_stage_call_begins(&track->process, &track->spans, call);
        tc_look_begins(&track->process, call);
    }
    if (is_in_windows(track, call))
        tc_window_call_begins(&track->process, replay->symbols, call);
    if (!call->is_partial)
        emit_closely(replay, track, (struct tc_event){.kind = TC_EVENT_BEGIN, .call = call});
}

static void on_end_of_call(struct tc_replay *replay, struct track *track,
                           const struct tc_record *record)
{
    struct tc_call *call = tc_spans_find(&track->spans, record->id);

    if (!call && track->is_cut && record->id < track->first_id)
        return;
    if (!call) {
        tc_notes_add(replay->notes, "unmatched-return", track->process.file, record->line,
                     "call %" PRId64 " ends but is not open", record->id);
        return;
    }
    call->end_t = record->t;
    call->end = record;
    call->raised = record->type == TC_RECORD_RAISE;
    if (is_in_windows(track, call))
        tc_window_call_ends(&track->process, replay->symbols, call);
    if (call->role == TC_ROLE_STEP)
        tc_variable_settle(&track->process, call);
    if (!track->process.is_worker && call->th == 0)
        tc_stage_call_ends(&track->process, call);
    if (!track->process.is_worker && call->th == 0)
        tc_variable_write(&track->process, replay->symbols, call, tc_spans_own(&track->spans));
    if (!call->is_partial)
        emit(replay, track, (struct tc_event){.kind = TC_EVENT_CALL, .call = call});
    tc_window_remember(&track->process, call);
    tc_spans_leave(&track->spans, call);
}

static void close_window(struct tc_replay *replay, struct track *track, bool is_late)
{
    struct tc_process *process = &track->process;

    tc_window_close(process, is_late);
    replay->counts.n_windows++;
    replay->counts.n_step_windows += process->window.has_step;
    emit(replay, track, (struct tc_event){.kind = TC_EVENT_WINDOW, .window = &process->window});
    tc_window_next(process, is_late);
    track->has_last_window = false;
}

static void on_step(struct tc_replay *replay, struct track *track, const struct tc_record *record)
{
    struct tc_window *window = &track->process.window;

    window->step = record->step;
    window->t = record->t;
    window->stage = tc_symbols_str(replay->symbols, record->stage);
    /* Another tool's count of steps moved on: there was one, whether or not its call was traced. */
    window->has_step |= tc_str_is(record->why, "counted");
    if (tc_str_is(record->why, "end"))
        track->has_last_window = true;
    else
        close_window(replay, track,
                     tc_str_is(record->why, "zero_grad") || tc_str_is(record->why, "step"));
}

/* The window at the end of a process is whole only if the process was not cut off in the middle of
 * it. */
static void on_end(struct tc_replay *replay, struct track *track, const struct tc_record *record)
{
    int exit_status = (int)tc_value_int(tc_value_get(record->object, "exit"), 0);

    if (track->has_last_window && exit_status == 0)
        close_window(replay, track, false);
    track->has_last_window = false;
    track->process.exit_status = exit_status;
    track->process.has_failed = exit_status != 0;
    track->process.has_ended = true;
}

/* Where a change was seen between two looks, and neither at the end of a call: inside the optimizer
 * step that is open, if that owns the variable, as it looked when it began. A closure whose own
 * calls look is such a case. */
static struct tc_call *step_around(struct track *track, int64_t serial)
{
    struct tc_call *call = tc_spans_innermost(&track->spans);

    for (; call; call = call->parent)
        for (size_t i = 0; call->role == TC_ROLE_STEP && i < call->n_params; i++)
            if (call->params[i] == serial)
                return call;
    return NULL;
}

static void on_var(struct tc_replay *replay, struct track *track, const struct tc_record *record)
{
    struct tc_process *process = &track->process;
    struct tc_call *cause = tc_spans_find(&track->spans, record->cause);

    if (!cause && track->spans.open.n)
        cause = step_around(track, record->var);
    if (tc_setting_is(process, record)) {
        emit_closely(replay, track,
                     (struct tc_event){.kind = TC_EVENT_VARIABLE,
                                       .call = cause,
                                       .record = record,
                                       .is_new = record->kind.text != NULL});
        tc_setting_apply(process, replay->symbols, record, cause);
        return;
    }
    struct tc_applied applied = tc_variable_apply(process, replay->symbols, record, cause);
    replay->counts.n_variables += applied.is_new;
    emit_closely(replay, track,
                 (struct tc_event){.kind = TC_EVENT_VARIABLE,
                                   .call = cause,
                                   .record = record,
                                   .variable = applied.variable,
                                   .is_new = applied.is_new});
    if (!applied.has_other_data || process->is_worker)
        return;
    process->window.t = record->t;
    process->window.stage = tc_symbols_str(replay->symbols, record->stage);
    if (record->step != TC_NONE)
        process->window.step = record->step;
    emit(replay, track,
         (struct tc_event){.kind = TC_EVENT_CHANGE,
                           .call = cause ? cause : tc_spans_innermost(&track->spans),
                           .window = &process->window,
                           .variable = applied.variable});
}

/*
 * Sampling: what stands in the steps that are left out is not judged, nor are the calls around
 * them, and the window that was open there is none.
 */
static void on_sampling(struct track *track, bool is_skipped)
{
    struct tc_process *process = &track->process;
    struct tc_call *call;

    process->n_gaps += is_skipped && !process->is_skipped;
    process->is_skipped = is_skipped;
    for (size_t pos = 0; (call = tc_map_next(&track->spans.open, &pos));)
        call->is_partial = true;
    tc_window_next(process, false);
    process->window.early.n = 0;
}

/* Names with spaces between them. */
static void on_missing(struct track *track, struct tc_str names)
{
    struct tc_process *process = &track->process;

    if (!process->missing)
        process->missing = tc_strtab_new();
    for (size_t i = 0, n; i < names.size; i += n + 1) {
        const char *space = memchr(names.text + i, ' ', names.size - i);
        n = space ? (size_t)(space - names.text) - i : names.size - i;
        tc_strtab_intern(process->missing, names.text + i, n);
    }
}

static void on_sampling_off(struct track *track, struct tc_str text)
{
    (void)text;
    on_sampling(track, true);
}

static void on_sampling_on(struct track *track, struct tc_str text)
{
    (void)text;
    on_sampling(track, false);
}

/* As a gap of sampling that no step fills. */
static void on_lost(struct track *track, struct tc_str text)
{
    on_sampling_off(track, text);
    on_sampling_on(track, text);
}

/* Frames were deleted to keep the trace short: of calls that began in them only the end is here. */
static void on_trimmed(struct track *track, struct tc_str text)
{
    on_lost(track, text);
    track->process.is_sampled = true;
    track->is_cut = true;
    track->first_id = INT64_MAX;
}

/* The note is the last that was fed. */
static void on_looked(struct track *track, struct tc_str text)
{
    (void)text;
    track->process.looked_t = track->process.last_t;
}

/* "rank/world_size", known only after the file was opened. */
static void on_rank(struct track *track, struct tc_str text)
{
    int64_t numbers[2] = {0, 0};
    unsigned which = 0;

    for (uint32_t i = 0; i < text.size; i++) {
        char c = text.text[i];
        if (c == '/' && which == 0)
            which = 1;
        else if (c >= '0' && c <= '9' && numbers[which] < 1000000)
            numbers[which] = numbers[which] * 10 + (c - '0');
        else
            return;
    }
    track->process.rank = numbers[0];
    track->process.world = which ? numbers[1] : 1;
}

/* Notes that say more than a person is reported. */
static const struct note {
    const char *code;
    void (*apply)(struct track *track, struct tc_str text); /* NULL: nothing follows from it */
    const char *told_as;                                    /* NULL: to nobody */
} notes[] = {
    {"sampling-off", on_sampling_off, NULL       },
    {"sampling-on",  on_sampling_on,  NULL       },
    {"rank",         on_rank,         NULL       },
    {"missing",      on_missing,      "collector"},
    {"budget",       NULL,            NULL       },
    {"lost",         on_lost,         "lost"     },
    {"trimmed",      on_trimmed,      "trimmed"  },
    {"looked",       on_looked,       NULL       },
    {"loop",         NULL,            NULL       }, /* as it is in all runs of the script */
};

static void on_note(struct tc_replay *replay, struct track *track, const struct tc_record *record)
{
    const char *told_as = "collector";

    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
        if (!tc_str_is(record->code, notes[i].code))
            continue;
        if (notes[i].apply)
            notes[i].apply(track, record->text);
        told_as = notes[i].told_as;
    }
    if (told_as)
        tc_notes_add(replay->notes, told_as, track->process.file, record->line, "%.*s: %.*s",
                     (int)record->code.size, record->code.text ? record->code.text : "",
                     (int)record->text.size, record->text.text ? record->text.text : "");
}

static void note_time(struct tc_process *process, int64_t t)
{
    if (t == TC_NONE)
        return;
    if (process->first_t == TC_NONE || t < process->first_t)
        process->first_t = t;
    if (process->last_t == TC_NONE || t > process->last_t)
        process->last_t = t;
}

static void feed(struct tc_replay *replay, struct track *track, const struct tc_record *read)
{
    struct tc_record changed;
    const struct tc_record *record = tc_lean_take(&track->lean, &track->spans, read, &changed);

    replay->counts.n_records++;
    note_time(&track->process, read->t);
    if (!record)
        return;
    track->is_foreign |= record->foreign != NULL;
    if (record->foreign)
        emit(replay, track, (struct tc_event){.kind = TC_EVENT_FOREIGN, .record = record});
    switch (record->type) {
    case TC_RECORD_API:
        tc_spans_declare(&track->spans, record);
        break;
    case TC_RECORD_CALL:
        on_call(replay, track, record);
        break;
    case TC_RECORD_RETURN:
    case TC_RECORD_RAISE:
        on_end_of_call(replay, track, record);
        break;
    case TC_RECORD_VAR:
        on_var(replay, track, record);
        break;
    case TC_RECORD_STEP:
        on_step(replay, track, record);
        break;
    case TC_RECORD_NOTE:
        on_note(replay, track, record);
        break;
    case TC_RECORD_END:
        on_end(replay, track, record);
        break;
    case TC_RECORD_SOURCE:
        tc_spans_tell(&track->spans, record);
        break;
    case TC_RECORD_PROCESS:
    case TC_RECORD_UNKNOWN:
        break;
    }
}

void tc_replay_feed(struct tc_replay *replay, size_t index, const struct tc_record *record)
{
    struct track *track = replay->tracks.items[index];

    feed(replay, track, record);
    tc_spans_settle(&track->spans);
}

void tc_replay_feed_batch(struct tc_replay *replay, const struct tc_batch *batch)
{
    for (size_t i = 0; i < batch->items.n; i++)
        feed(replay, replay->tracks.items[batch->items.items[i].file],
             batch->items.items[i].record);
    for (size_t i = 0; i < batch->items.n; i++)
        tc_spans_settle(&replay->tracks.items[batch->items.items[i].file]->spans);
}

void tc_replay_pass(struct tc_replay *replay, int64_t step)
{
    const struct tc_event event = {.kind = TC_EVENT_PASS, .step = step};

    replay->on_event(replay->context, &event);
}

void tc_replay_finish(struct tc_replay *replay)
{
    const struct tc_event event = {.kind = TC_EVENT_FINISH, .step = INT64_MAX};

    for (size_t i = 0; i < replay->tracks.n; i++)
        tc_rest_end(&replay->tracks.items[i]->process);
    replay->on_event(replay->context, &event);
    for (size_t i = 0; i < replay->tracks.n; i++) {
        struct track *track = replay->tracks.items[i];
        if (!track->process.has_ended && !track->process.is_worker && !track->is_foreign)
            tc_notes_add(
                replay->notes, "no-end", track->process.file, 0,
                "no end in this trace: the process was killed, could not write more, or still "
                "runs");
        if (track->spans.open.n)
            tc_notes_add(replay->notes, "running-at-end", track->process.file, 0,
                         "%zu calls were running when the trace ended", track->spans.open.n);
    }
}

const struct tc_process *tc_replay_process(const struct tc_replay *replay, size_t i)
{
    return &replay->tracks.items[i]->process;
}

struct tc_replay_counts tc_replay_counts(const struct tc_replay *replay)
{
    return replay->counts;
}
