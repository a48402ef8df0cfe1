/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_check.c - traincheck-check from its options to its exit status; the ends of it serve
 * onlinecheck too
 *
 * Options are validated before a trace is opened. check_begin() and check_end() stand around the
 * work of both tools, so that they refuse, report and exit alike.
 */
#include "check.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <traincheck/check.h>
#include <traincheck/sets.h>

#include "base/fs.h"
#include "base/vec.h"
#include "hang_told.h"
#include "notes.h"
#include "overwrite.h"
#include "track.h"
#include "verdict.h"

bool check_is_invariants(const char *argument)
{
    if (argument[0] == '@')
        return true;
    size_t size = strlen(argument);
    bool is_trace = size > 4 && strcmp(argument + size - 4, ".zst") == 0;
    return argument[0] != '-' && !is_trace && tc_fs_exists(argument) && !tc_fs_is_dir(argument);
}

bool check_is_trace(const char *argument)
{
    return argument[0] != '-';
}

/* traincheck_check_<trace>_<date-time> */
const char *check_output_dir(struct tc_app *app, const struct check_options *options,
                             const char *trace)
{
    if (options->output_dir)
        return options->output_dir;

    char stamp[32];
    struct tm tm;
    time_t now = time(NULL);
    struct tc_strbuf path = TC_STRBUF_INIT;
    size_t size;
    const char *base = tc_fs_name(trace, &size);

    strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H-%M-%S", localtime_r(&now, &tm));
    tc_strbuf_addf(&path, "traincheck_check_%.*s_%s", (int)size, base, stamp);
    const char *copy = tc_arena_text(&app->arena, path.text, path.size);
    tc_strbuf_release(&path);
    return copy;
}

static bool is_format(const char *name)
{
    const char *known;

    for (size_t i = 0; (known = tc_check_format(i)); i++)
        if (!strcmp(known, name))
            return true;
    return false;
}

static bool writes_to_stdout(const struct check_options *options)
{
    for (size_t i = 0; i < options->formats.n; i++)
        if (!strcmp(options->formats.items[i], "github"))
            return true;
    return false;
}

static enum tc_status validate_formats(const struct check_options *options, struct tc_error *err)
{
    struct tc_strbuf known = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;
    const char *name;

    for (size_t i = 0; (name = tc_check_format(i)); i++)
        tc_strbuf_addf(&known, "%s%s", i ? ", " : "", name);
    for (size_t i = 0; i < options->formats.n && !status; i++)
        if (!is_format(options->formats.items[i]))
            status =
                tc_error_set(err, TC_E_USAGE, "--format: no report is named '%s'; there are %s",
                             options->formats.items[i], known.text);
    tc_strbuf_release(&known);
    return status;
}

static enum tc_status validate_accept(const struct check_options *options, struct tc_error *err)
{
    if (options->note && !options->accept)
        return tc_error_set(err, TC_E_USAGE, "--note without --accept");
    if (!options->accept)
        return TC_OK;
    if (options->explain.n)
        return tc_error_set(err, TC_E_USAGE, "--accept and --explain: nothing is checked");
    if (options->invariants.n != 1 || options->invariants.items[0][0] == '@')
        return tc_error_set(err, TC_E_USAGE,
                            "--accept writes into one file of invariants: give it alone with -i");
    return TC_OK;
}

static enum tc_status validate(const struct check_options *options, struct tc_error *err)
{
    if (options->traces.n == 0 && options->explain.n == 0)
        return tc_error_set(err, TC_E_USAGE, "no trace folder given");
    if (options->max_traces && options->traces.n > options->max_traces)
        return tc_error_set(err, TC_E_USAGE, "more than one trace folder given: '%s'",
                            options->traces.items[1]);
    if (options->invariants.n == 0)
        return tc_error_set(err, TC_E_USAGE,
                            "no invariants given: -i FILE, or -i @all for the shipped ones");
    if (options->json && writes_to_stdout(options))
        return tc_error_set(err, TC_E_USAGE, "--json and --format github both write to stdout");
    if (validate_formats(options, err) != TC_OK)
        return TC_E_USAGE;
    if (validate_accept(options, err) != TC_OK)
        return TC_E_USAGE;
    return track_validate(options, err);
}

static void say_sets(struct tc_app *app, const struct tc_check_result *r)
{
    for (size_t i = 0; i < r->n_sets; i++)
        tc_app_say(app, "@all %s %s: %s", r->sets[i].is_chosen ? "takes" : "leaves out",
                   r->sets[i].name, r->sets[i].why);
}

/* Its last steps are missing, and nobody should read "passed" as the verdict on all of them. */
static void say_failed_runs(struct tc_app *app, const struct tc_check_result *r)
{
    if (r->n_runs_failed && r->n_runs == 1)
        tc_app_say(app, "the run itself failed: exit status %d; it was judged up to its end",
                   r->exit_status);
    else if (r->n_runs_failed)
        tc_app_say(app,
                   "%" PRIu64 " of %" PRIu64 " runs failed themselves, the first with exit status "
                   "%d; they were judged up to their end",
                   r->n_runs_failed, r->n_runs, r->exit_status);
}

static void say_result(struct tc_app *app, const char *output_dir, const struct tc_check_result *r)
{
    double seconds = (double)r->wall_ns / 1e9, mb = (double)r->json_bytes / 1e6;
    tc_app_say(app,
               "read %" PRIu64 " records (%" PRIu64 " calls, %" PRIu64
               " steps) in %.2f s: %.1f MB, %.0f MB/s",
               r->n_records, r->n_calls, r->n_windows, seconds, mb, seconds > 0 ? mb / seconds : 0);
    say_sets(app, r);
    struct tc_strbuf counts = TC_STRBUF_INIT;
    if (r->n_runs > 1)
        tc_strbuf_addf(&counts, "%" PRIu64 " runs together, ", r->n_runs);
    tc_strbuf_addf(&counts, "%" PRIu64 " invariant%s: %" PRIu64 " failed", r->n_invariants,
                   r->n_invariants == 1 ? "" : "s", r->n_failed);
    if (r->n_failed > 1)
        tc_strbuf_addf(&counts, " (%" PRIu64 " finding%s)", r->n_findings,
                       r->n_findings == 1 ? "" : "s");
    if (r->n_settings)
        tc_strbuf_addf(&counts, ", of them %" PRIu64 " changed setting%s", r->n_settings,
                       r->n_settings == 1 ? "" : "s");
    if (r->n_remarks)
        tc_strbuf_addf(&counts, ", of them %" PRIu64 " in remarks", r->n_remarks);
    tc_strbuf_addf(&counts,
                   ", %" PRIu64 " passed, %" PRIu64 " not triggered, %" PRIu64 " unchecked",
                   r->n_passed, r->n_not_triggered, r->n_unchecked);
    if (r->n_suppressed)
        tc_strbuf_addf(&counts, ", %" PRIu64 " suppressed", r->n_suppressed);
    tc_app_say(app, "%s", counts.text);
    tc_strbuf_release(&counts);
    say_failed_runs(app, r);
    tc_app_say(app, "reports in %s", output_dir);
    if (r->n_failed && !tc_app_interrupted())
        tc_app_next(app, "open %s/report.html", output_dir);
}

struct tc_check_config check_config(struct tc_app *app, const struct check_options *options)
{
    return (struct tc_check_config){
        .traces = options->traces.items,
        .n_traces = options->traces.n,
        .invariants = options->invariants.items,
        .n_invariants = options->invariants.n,
        .suppress = options->suppress,
        .formats = options->formats.items,
        .n_formats = options->formats.n,
        .explain = options->explain.items,
        .n_explain = options->explain.n,
        .metrics = options->metrics,
        .jobs = options->jobs,
        .no_html_report = options->no_html_report,
        .output_dir = options->output_dir,
        .command_line = app->command_line,
        .color = tc_app_color(options->color),
        .quiet = options->quiet,
        .json = options->json,
        .verbose = options->verbose > 0,
        .write = tc_app_write,
        .progress = tc_app_progress,
        .context = app,
    };
}

enum tc_status check_begin(struct tc_app *app, struct check_options *options, struct tc_error *err)
{
    enum tc_status status = validate(options, err);

    if (status != TC_OK)
        return status;
    if (options->traces.n)
        options->output_dir = check_output_dir(app, options, options->traces.items[0]);
    if (options->traces.n && !options->explain.n && !options->overwrite)
        status = overwrite_folder(options->output_dir, err);
    if (status != TC_OK)
        return status;
    app->quiet = options->quiet;
    tc_app_begin_progress(app, options->progress);
    tc_app_catch_signals();
    return TC_OK;
}

void check_end(struct tc_app *app, const struct check_options *options, enum tc_status status,
               const struct tc_check_result *result, const struct tc_notes *notes)
{
    notes_say(app, notes, options->verbose > 0);
    if (options->explain.n)
        return;
    if (status == TC_E_INTERRUPTED && result->n_records == 0)
        tc_app_say(app, "nothing was read yet: nothing was judged, and no report is written");
    else if (status == TC_OK || status == TC_E_INTERRUPTED)
        say_result(app, options->output_dir, result);
    if (status != TC_OK)
        return;
    app->exit_status = verdict_exit_status(options, result);
    verdict_say(app, options, result);
}

/* ---- what broke is meant -----------------------------------------------------------------------
 */

struct accepting {
    struct tc_app *app;
    const struct tc_check_config *check; /* of the check that found it */
};

static bool on_progress(void *context, size_t i, size_t n, uint64_t bytes)
{
    return tc_app_progress(((struct accepting *)context)->app, i, n, bytes);
}

static void on_text(void *context, const char *text, size_t size)
{
    (void)context;
    (void)text;
    (void)size;
}

static void say_renamed(void *context, const char *from, const char *to)
{
    tc_app_say(((struct accepting *)context)->app, "%s is %s now: what was known of it is kept",
               from, to);
}

/* What breaks by a file in which names are others. */
static enum tc_status judge_renamed(void *context, const char *file, const char *output_dir,
                                    struct tc_error *err)
{
    const struct tc_check_config *check = ((struct accepting *)context)->check;
    struct tc_notes *notes = tc_notes_new(); /* were said */
    struct tc_check_result result;
    const struct tc_check_config config = {
        .traces = check->traces,
        .n_traces = check->n_traces,
        .invariants = &file,
        .n_invariants = 1,
        .suppress = check->suppress,
        .jobs = check->jobs,
        .no_html_report = true,
        .output_dir = output_dir,
        .quiet = true,
        .write = on_text,
        .progress = on_progress,
        .context = context,
    };
    enum tc_status status = tc_check_run(&config, &result, notes, err);

    tc_notes_free(notes);
    return status;
}

static void say_accepted(struct tc_app *app, const struct tc_accept_config *config,
                         const struct tc_accept_result *r)
{
    tc_app_say(app,
               "accepted in %s: %" PRIu64 " invariant%s what %s, %" PRIu64
               " that do%s not hold any more %s gone, %" PRIu64 " %s new",
               config->file, r->n_replaced, r->n_replaced == 1 ? " says" : "s say",
               config->n_traces == 1 ? "this run shows" : "these runs show", r->n_removed,
               r->n_removed == 1 ? "es" : "", r->n_removed == 1 ? "is" : "are", r->n_new,
               r->n_new == 1 ? "is" : "are");
}

static enum tc_status accept(struct tc_app *app, const struct check_options *options,
                             const struct tc_check_config *check, struct tc_notes *notes,
                             struct tc_error *err)
{
    struct accepting accepting = {app, check};
    struct tc_accept_result result;
    char *violations = tc_fs_join(check->output_dir, "violations.jsonl");
    char date[16];
    struct tm tm;
    const time_t now = time(NULL);

    strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
    const struct tc_accept_config config = {
        .file = options->invariants.items[0],
        .traces = check->traces,
        .n_traces = check->n_traces,
        .violations = violations,
        .note = options->note,
        .date = date,
        .jobs = check->jobs,
        .judge = judge_renamed,
        .renamed = say_renamed,
        .progress = on_progress,
        .context = &accepting,
    };
    enum tc_status status = tc_accept_run(&config, &result, notes, err);
    if (!status && !(result.n_replaced || result.n_removed || result.n_renamed || result.n_new))
        tc_app_say(app, "nothing broke, and nothing is new: there is nothing to accept");
    else if (!status)
        say_accepted(app, &config, &result);
    tc_free(violations);
    return status;
}

/* A run that failed shows what a failure looks like. */
static enum tc_status accept_if_asked(struct tc_app *app, const struct check_options *options,
                                      const struct tc_check_config *config,
                                      const struct tc_check_result *result, struct tc_notes *notes,
                                      struct tc_error *err)
{
    if (!options->accept)
        return TC_OK;
    if (result->n_runs_failed || result->damaged)
        return tc_error_set(err, TC_E_USAGE, "%s, so nothing of it is accepted",
                            result->n_runs_failed ? "the run itself failed"
                                                  : "a part of the trace could not be read");
    const enum tc_status status = accept(app, options, config, notes, err);
    if (!status)
        app->exit_status = 0;
    return status;
}

enum tc_status check_run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct check_options *options = options_;
    struct tc_check_result result = {0};
    enum tc_status status = check_begin(app, options, err);
    if (status != TC_OK)
        return status;

    struct tc_notes *notes = tc_notes_new();
    struct tc_check_config config = check_config(app, options);
    struct track track;
    size_t n_hangs = 0;
    status = tc_check_run(&config, &result, notes, err);
    if (status == TC_OK && !options->explain.n) {
        track_begin(&track, app, options);
        status = hang_look(app, options, &track, result.n_findings, &n_hangs, notes, err);
        track_end(&track, true);
    }
    check_end(app, options, status, &result, notes);
    if (n_hangs && !status)
        hang_end(app, options);
    if (status == TC_OK)
        status = accept_if_asked(app, options, &config, &result, notes, err);
    tc_notes_free(notes);
    return status;
}
