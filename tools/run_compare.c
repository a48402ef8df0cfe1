/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_compare.c - traincheck-check --against: why do two runs differ?
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <traincheck/compare.h>

#include "notes.h"

enum {
    EXIT_EQUAL,
    EXIT_DIFFERENT
};

static enum tc_status validate_formats(const struct check_options *options, struct tc_error *err)
{
    for (size_t i = 0; i < options->formats.n; i++) {
        const char *format = options->formats.items[i];
        if (strcmp(format, "sarif") != 0 && strcmp(format, "github") != 0)
            return tc_error_set(err, TC_E_USAGE,
                                "--format: no report on a comparison is named '%s'; there are "
                                "sarif, github",
                                format);
        if (options->json && !strcmp(format, "github"))
            return tc_error_set(err, TC_E_USAGE, "--json and --format github both write to stdout");
    }
    return TC_OK;
}

static enum tc_status validate(const struct check_options *options, struct tc_error *err)
{
    if (!options->against.n)
        return tc_error_set(err, TC_E_USAGE, "%s without --against",
                            options->resumed ? "--resumed" : "--from-step");
    if (options->from_step && !options->resumed)
        return tc_error_set(err, TC_E_USAGE, "--from-step without --resumed");
    if (options->invariants.n)
        return tc_error_set(err, TC_E_USAGE,
                            "--against excludes -i: a run is compared with healthy runs, not "
                            "judged by invariants");
    if (options->traces.n == 0)
        return tc_error_set(err, TC_E_USAGE, "no run given: put it first, as in RUN --against %s",
                            options->against.items[0]);
    if (options->traces.n > 1)
        return tc_error_set(err, TC_E_USAGE, "--against compares one run: '%s' is a second one",
                            options->traces.items[1]);
    if (options->explain.n || options->suppress || options->metrics || options->track.n ||
        options->hang_after_s)
        return tc_error_set(
            err, TC_E_USAGE,
            "--against excludes --explain, --suppress, --metrics, --track and --hang-after");
    return validate_formats(options, err);
}

static enum tc_status step_of(const char *text, int64_t *step, struct tc_error *err)
{
    char *end;

    *step = TC_NONE;
    if (!text)
        return TC_OK;
    errno = 0;
    *step = strtoll(text, &end, 10);
    if (end == text || *end || errno || *step < 0)
        return tc_error_set(err, TC_E_USAGE, "--from-step: '%s' is no step; steps count from 0",
                            text);
    return TC_OK;
}

static bool on_progress(void *context, uint64_t bytes)
{
    return tc_app_progress(context, 0, 1, bytes);
}

static void say_result(struct tc_app *app, const char *output_dir,
                       const struct tc_compare_result *r)
{
    tc_app_say(app, "compared %" PRIu64 " calls in %" PRIu64 " windows in %.2f s", r->n_calls,
               r->n_windows, (double)r->wall_ns / 1e9);
    tc_app_say(app, "%" PRIu64 " difference%s, %" PRIu64 " set aside", r->n_differences,
               r->n_differences == 1 ? "" : "s", r->n_set_aside);
    tc_app_say(app, "reports in %s", output_dir);
}

enum tc_status check_compare(struct tc_app *app, struct check_options *options,
                             struct tc_error *err)
{
    struct tc_compare_config config = {
        .against = options->against.items,
        .n_against = options->against.n,
        .resumed = options->resumed,
        .formats = options->formats.items,
        .n_formats = options->formats.n,
        .command_line = app->command_line,
        .no_html_report = options->no_html_report,
        .color = tc_app_color(options->color),
        .quiet = options->quiet,
        .json = options->json,
        .verbose = options->verbose > 0,
        .write = tc_app_write,
        .progress = on_progress,
        .context = app,
    };
    struct tc_compare_result result;
    enum tc_status status = validate(options, err);

    if (!status)
        status = step_of(options->from_step, &config.from_step, err);
    if (status)
        return status;
    config.run = options->traces.items[0];
    config.output_dir = check_output_dir(app, options, config.run);
    app->quiet = options->quiet;
    tc_app_begin_progress(app, options->progress);
    tc_app_catch_signals();
    struct tc_notes *notes = tc_notes_new();
    status = tc_compare_run(&config, &result, notes, err);
    notes_say(app, notes, options->verbose > 0);
    tc_notes_free(notes);
    if (status)
        return status;
    say_result(app, config.output_dir, &result);
    app->exit_status = result.n_differences && !options->exit_zero ? EXIT_DIFFERENT : EXIT_EQUAL;
    return TC_OK;
}
