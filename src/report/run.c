/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the whole of a check: invariants, traces, verdicts, reports
 *
 * tc_check_open() reads invariants, tc_check_judge() takes each event, tc_check_report() writes;
 * the live check calls the same functions repeatedly. The output folder is made and locked once
 * a trace could be opened, so a check of nothing leaves none. After an interrupt, what was found
 * is reported.
 */
#include "report/run.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/pool.h"
#include "replay/symbols.h"
#include "trace/reader_notes.h"

/* Codes of notes after which something of a trace stayed unread. */
static const char *const damage[] = {"bad-frame",  "hole",        "bad-json",
                                     "bad-record", "not-a-trace", "lost"};

static bool on_progress(void *context, uint64_t json_bytes)
{
    const struct tc_check *check = context;
    const struct tc_check_config *c = check->config;

    return c->progress(c->context, check->trace, c->n_traces, json_bytes);
}

/* A run that is followed is counted again and again. */
static void sum_runs(struct tc_check *check)
{
    struct tc_check_result *result = check->result;

    result->n_runs = result->n_runs_failed = 0;
    result->exit_status = 0;
    for (size_t i = 0; i < check->config->n_traces; i++) {
        const struct tc_report_run *run = &check->runs[i];
        result->n_runs += run->trace != NULL;
        result->n_runs_failed += run->exit_status != 0;
        if (!result->exit_status)
            result->exit_status = run->exit_status;
    }
}

/* That of its main process of the lowest rank. */
static struct tc_json *identity_of(const struct tc_trace_folder *folder)
{
    const struct tc_record *first = NULL;
    int64_t lowest = INT64_MAX;

    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_record *process = tc_trace_file_process(tc_trace_folder_file(folder, i));
        if (!process || tc_str_is(process->role, "worker"))
            continue;
        const int64_t rank = tc_value_int(tc_value_get(process->object, "rank"), 0);
        if (rank < lowest) {
            lowest = rank;
            first = process;
        }
    }
    return first ? tc_run_identity(first->object) : NULL;
}

void tc_check_judge(void *context, const struct tc_event *event)
{
    struct tc_check *check = context;

    tc_engine_judge(check->engine, event);
    tc_run_courses_note(&check->courses, check->config->traces[check->trace], check->symbols,
                        event);
}

void tc_check_count_trace(struct tc_check *check, const struct tc_replay *replay,
                          const struct tc_trace_folder *folder)
{
    struct tc_check_result *result = check->result;
    const struct tc_replay_counts counts = tc_replay_counts(replay);

    struct tc_report_run *run = &check->runs[check->trace];

    tc_json_free(run->identity);
    *run = (struct tc_report_run){.trace = check->config->traces[check->trace],
                                  .n_records = counts.n_records,
                                  .n_calls = counts.n_calls,
                                  .n_windows = counts.n_step_windows};
    result->n_records += counts.n_records;
    result->n_calls += counts.n_calls;
    result->n_windows += counts.n_step_windows;
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_process *process = tc_replay_process(replay, i);
        result->json_bytes += tc_trace_file_json_bytes(tc_trace_folder_file(folder, i));
        if (!run->exit_status && !process->is_worker)
            run->exit_status = process->exit_status;
        tc_choice_meet(&check->choice, process, check->notes);
    }
    run->identity = identity_of(folder);
    sum_runs(check);
}

enum tc_status tc_check_take_dir(struct tc_check *check, struct tc_error *err)
{
    const char *dir = check->config->output_dir;
    enum tc_status status;

    if (check->lock >= 0 || !dir)
        return TC_OK;
    check->made_dir = !tc_fs_exists(dir);
    status = tc_fs_mkdirs(dir, err);
    if (!status)
        status = tc_fs_may_fill(dir, err);
    return status ? status : tc_fs_lock(dir, &check->lock, err);
}

/* The replay has notes of its own while another thread reads the folder. */
static enum tc_status judge_folder(struct tc_check *check, struct tc_trace_folder *folder,
                                   struct tc_error *err)
{
    unsigned jobs = check->config->jobs ? check->config->jobs : tc_pool_cores();
    struct tc_notes *replayed = tc_notes_new();
    struct tc_replay *replay = tc_replay_new(check->symbols, replayed, tc_check_judge, check);
    tc_replay_leave_out(replay, check->left_out);
    if (tc_engine_looks_closely(check->engine))
        tc_replay_look_closely(replay);
    enum tc_status status = tc_replay_folder(
        replay, folder, jobs > 1, check->config->progress ? on_progress : NULL, check, err);

    tc_notes_take(check->notes, replayed);
    tc_check_count_trace(check, replay, folder);
    tc_replay_free(replay);
    tc_notes_free(replayed);
    return status;
}

static enum tc_status check_trace(struct tc_check *check, const char *path, struct tc_error *err)
{
    struct tc_trace_folder *folder = NULL;
    enum tc_status status = tc_trace_folder_open(path, check->notes, &folder, err);

    /* Only now: a check of nothing leaves no folder behind. */
    if (!status && !check->config->n_explain)
        status = tc_check_take_dir(check, err);
    if (status) {
        tc_trace_folder_close(folder);
        return status;
    }
    tc_engine_begin(check->engine, path);
    status = judge_folder(check, folder, err);
    tc_trace_folder_close(folder);
    return status;
}

static bool is_damaged(const struct tc_notes *notes)
{
    for (size_t i = 0; i < tc_notes_count(notes); i++)
        for (size_t j = 0; j < sizeof(damage) / sizeof(*damage); j++)
            if (!strcmp(tc_notes_get(notes, i)->code, damage[j]))
                return true;
    return false;
}

void tc_check_findings(const struct tc_check *check, struct tc_findings *findings)
{
    size_t n_all, n = 0;
    struct tc_violation **violations = tc_engine_violations(check->engine, &n_all);

    for (size_t i = 0; i < n_all; i++)
        if (!tc_suppressions_reason(&check->suppressions, violations[i]->invariant->id))
            violations[n++] = violations[i];
    tc_findings_make(findings, violations, n, check->symbols, check->departures, check->notes);
    tc_free(violations);
}

static void write_out(const struct tc_check_config *config, struct tc_strbuf *text)
{
    if (config->write && text->size)
        config->write(config->context, text->text, text->size);
    tc_strbuf_release(text);
}

static void make_input(struct tc_check *check, struct tc_report_input *input)
{
    check->result->damaged = is_damaged(check->notes);
    check->result->wall_ns = tc_clock_ns() - check->started_ns;
    tc_choice_apply(&check->choice, check->engine, check->result);
    tc_report_input_make(input, check->config, check->engine, check->symbols, &check->suppressions,
                         check->departures, check->notes, check->result);
    input->runs = check->runs;
    input->courses = &check->courses;
    input->refresh_s = check->refresh_s;
    input->lag_s = check->lag_s;
}

enum tc_status tc_check_report(struct tc_check *check, bool to_stdout, struct tc_error *err)
{
    struct tc_report_input input;
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status;

    check->has_reported = true;
    make_input(check, &input);
    if (to_stdout)
        tc_report_print(&input, &text);
    if (!check->refresh_s)
        tc_report_print_added(&input, &text);
    write_out(check->config, &text);
    status = tc_report_write(&input, err);
    tc_report_input_release(&input);
    return status;
}

static enum tc_status explain(struct tc_check *check, struct tc_error *err)
{
    const struct tc_check_config *config = check->config;
    struct tc_report_input input;
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    make_input(check, &input);
    for (size_t i = 0; i < config->n_explain && !status; i++)
        if (!tc_report_explain(&input, config->explain[i], &text))
            status = tc_error_set(err, TC_E_NOTFOUND, "no invariant has the id '%s'",
                                  config->explain[i]);
    write_out(config, &text);
    tc_report_input_release(&input);
    return status;
}

enum tc_status tc_check_open(struct tc_check *check, const struct tc_check_config *config,
                             struct tc_check_result *result, struct tc_notes *notes,
                             struct tc_error *err)
{
    enum tc_status status = TC_OK;

    *result = (struct tc_check_result){0};
    *check = (struct tc_check){.config = config,
                               .result = result,
                               .own_notes = notes ? NULL : tc_notes_new(),
                               .symbols = tc_symbols_new(),
                               .runs = tc_calloc(config->n_traces + 1, sizeof(*check->runs)),
                               .lock = -1,
                               .started_ns = tc_clock_ns()};
    check->notes = notes ? notes : check->own_notes;
    tc_invariant_set_init(&check->set, check->symbols);
    for (size_t i = 0; i < config->n_invariants && !status; i++)
        status = tc_invariant_set_read(&check->set, config->invariants[i], err);
    if (!status)
        status = tc_invariant_set_left_out(&check->set, &check->left_out, err);
    if (!status && config->suppress)
        status = tc_suppressions_read(&check->suppressions, config->suppress, err);
    if (status)
        return status;
    check->engine = tc_engine_new(&check->set, check->symbols);
    tc_choice_init(&check->choice, &check->set);
    check->departures = tc_departures_new(config->traces, config->n_traces, config->invariants,
                                          config->n_invariants);
    if (config->suppress)
        tc_suppressions_note_unused(&check->suppressions, config->suppress, check->engine,
                                    check->notes);
    return TC_OK;
}

void tc_check_close(struct tc_check *check)
{
    if (check->made_dir && !check->has_reported)
        rmdir(check->config->output_dir);
    tc_choice_release(&check->choice);
    tc_departures_free(check->departures);
    tc_run_courses_release(&check->courses);
    for (size_t i = 0; check->runs && i < check->config->n_traces; i++)
        tc_json_free(check->runs[i].identity);
    tc_free(check->runs);
    if (check->lock >= 0)
        close(check->lock);
    tc_engine_free(check->engine);
    tc_suppressions_release(&check->suppressions);
    tc_invariant_set_release(&check->set);
    tc_strtab_free(check->symbols);
    tc_notes_free(check->own_notes);
}

enum tc_status tc_check_run(const struct tc_check_config *config, struct tc_check_result *result,
                            struct tc_notes *notes, struct tc_error *err)
{
    struct tc_check check;
    enum tc_status status = tc_check_open(&check, config, result, notes, err), reported;

    for (; !status && check.trace < config->n_traces; check.trace++)
        status = check_trace(&check, config->traces[check.trace], err);
    if (config->n_explain) {
        status = status ? status : explain(&check, err);
    } else if (check.engine && (!status || status == TC_E_INTERRUPTED)) {
        reported = tc_check_report(&check, true, status ? NULL : err);
        status = status ? status : reported;
    }
    tc_check_close(&check);
    return status;
}
