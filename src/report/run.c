/*
 * run.c - the whole of a check: invariants, traces, verdicts, reports
 */
#include "report/run.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/fs.h"
#include "replay/symbols.h"

static const struct tc_report *const reports[] = {
    &tc_report_violations,    &tc_report_failed,    &tc_report_passed,
    &tc_report_not_triggered, &tc_report_unchecked, &tc_report_summary,
};

/* Codes of notes after which something of a trace stayed unread. */
static const char *const damage[] = {"bad-frame", "bad-json", "bad-record", "not-a-trace"};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool on_progress(void *context, uint64_t json_bytes)
{
    const struct tc_check *check = context;
    const struct tc_check_config *c = check->config;

    return c->progress(c->context, check->trace, c->n_traces, json_bytes);
}

void tc_check_count_trace(struct tc_check *check, struct tc_replay_counts counts,
                          const struct tc_trace_folder *folder)
{
    struct tc_check_result *result = check->result;

    result->n_records += counts.n_records;
    result->n_calls += counts.n_calls;
    result->n_windows += counts.n_step_windows;
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++)
        result->json_bytes += tc_trace_file_json_bytes(tc_trace_folder_file(folder, i));
}

enum tc_status tc_check_make_dir(struct tc_check *check, struct tc_error *err)
{
    check->made_dir |= !tc_fs_exists(check->config->output_dir);
    return tc_fs_mkdirs(check->config->output_dir, err);
}

static enum tc_status check_trace(struct tc_check *check, const char *path, struct tc_error *err)
{
    struct tc_trace_folder *folder = NULL;
    enum tc_status status = tc_trace_folder_open(path, check->notes, &folder, err);

    /* Only now: a check of nothing leaves no folder behind. */
    if (!status)
        status = tc_check_make_dir(check, err);
    if (status) {
        tc_trace_folder_close(folder);
        return status;
    }
    tc_engine_begin(check->engine, path);
    struct tc_replay *replay =
        tc_replay_new(check->symbols, check->notes, tc_engine_judge, check->engine);
    status =
        tc_replay_folder(replay, folder, check->config->progress ? on_progress : NULL, check, err);
    tc_check_count_trace(check, tc_replay_counts(replay), folder);
    tc_replay_free(replay);
    tc_trace_folder_close(folder);
    return status;
}

static void count_verdicts(const struct tc_engine *engine, struct tc_check_result *result)
{
    result->n_invariants = tc_engine_count(engine);
    result->n_failed = result->n_passed = result->n_not_triggered = result->n_unchecked = 0;
    result->n_multi_failed = 0;
    for (size_t i = 0; i < result->n_invariants; i++) {
        const struct tc_judgement *j = tc_engine_judgement(engine, i);
        switch (tc_engine_verdict(j)) {
        case TC_VERDICT_FAILED:
            result->n_failed++;
            result->n_multi_failed += j->invariant->pipelines > 1;
            break;
        case TC_VERDICT_PASSED:
            result->n_passed++;
            break;
        case TC_VERDICT_NOT_TRIGGERED:
            result->n_not_triggered++;
            break;
        case TC_VERDICT_UNCHECKED:
            result->n_unchecked++;
            break;
        }
    }
}

static bool is_damaged(const struct tc_notes *notes)
{
    for (size_t i = 0; i < tc_notes_count(notes); i++)
        for (size_t j = 0; j < sizeof(damage) / sizeof(*damage); j++)
            if (!strcmp(tc_notes_get(notes, i)->code, damage[j]))
                return true;
    return false;
}

static enum tc_status write_files(const struct tc_report_input *input, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports) && !status; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        char *path = tc_fs_join(input->config->output_dir, reports[i]->file);
        reports[i]->print(input, &text);
        status = tc_fs_write(path, text.text ? text.text : "", text.size, err);
        tc_strbuf_release(&text);
        tc_free(path);
    }
    return status;
}

static void write_out(const struct tc_report_input *input)
{
    const struct tc_check_config *config = input->config;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!config->write)
        return;
    if (config->json)
        tc_report_violations.print(input, &text);
    else
        tc_report_text(input, &text);
    if (text.size)
        config->write(config->context, text.text, text.size);
    tc_strbuf_release(&text);
}

enum tc_status tc_check_report(struct tc_check *check, bool to_stdout, struct tc_error *err)
{
    struct tc_report_input input = {.config = check->config,
                                    .result = check->result,
                                    .engine = check->engine,
                                    .symbols = check->symbols,
                                    .notes = check->notes};
    enum tc_status status;

    check->has_reported = true;
    count_verdicts(check->engine, check->result);
    check->result->damaged = is_damaged(check->notes);
    check->result->wall_ns = now_ns() - check->started_ns;
    const struct tc_violation **violations =
        tc_engine_violations(check->engine, &input.n_violations);
    input.violations = violations;
    if (to_stdout)
        write_out(&input);
    status = write_files(&input, err);
    tc_free(violations);
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
                               .notes = notes,
                               .symbols = tc_symbols_new(),
                               .started_ns = now_ns()};
    tc_invariant_set_init(&check->set, check->symbols);
    for (size_t i = 0; i < config->n_invariants && !status; i++)
        status = tc_invariant_set_read(&check->set, config->invariants[i], err);
    if (!status)
        check->engine = tc_engine_new(&check->set, check->symbols);
    return status;
}

void tc_check_close(struct tc_check *check)
{
    if (check->made_dir && !check->has_reported)
        rmdir(check->config->output_dir);
    tc_engine_free(check->engine);
    tc_invariant_set_release(&check->set);
    tc_strtab_free(check->symbols);
}

enum tc_status tc_check_run(const struct tc_check_config *config, struct tc_check_result *result,
                            struct tc_notes *notes, struct tc_error *err)
{
    struct tc_check check;
    enum tc_status status = tc_check_open(&check, config, result, notes, err), reported;

    for (; !status && check.trace < config->n_traces; check.trace++)
        status = check_trace(&check, config->traces[check.trace], err);
    if (check.engine && (!status || status == TC_E_INTERRUPTED)) {
        reported = tc_check_report(&check, true, status ? NULL : err);
        status = status ? status : reported;
    }
    tc_check_close(&check);
    return status;
}
