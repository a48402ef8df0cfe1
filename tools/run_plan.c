/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_plan.c - traincheck-check --plan: is the parallel job the same computation?
 */
#include "check.h"

#include <inttypes.h>
#include <string.h>

#include <traincheck/plan.h>

enum {
    EXIT_VERIFIED,
    EXIT_REFUTED,
    EXIT_UNJUDGED = 3
};

static bool has_report(const char *name)
{
    return !strcmp(name, "sarif") || !strcmp(name, "junit") || !strcmp(name, "github");
}

static enum tc_status validate(const struct check_options *options, struct tc_error *err)
{
    if (!options->plan)
        return tc_error_set(err, TC_E_USAGE, "--plan-reference without --plan");
    if (!options->plan_reference)
        return tc_error_set(err, TC_E_USAGE,
                            "--plan needs --plan-reference: the plan of the job on one device");
    if (options->invariants.n)
        return tc_error_set(err, TC_E_USAGE,
                            "--plan excludes -i: a plan is verified by its reference, not by "
                            "invariants");
    if (options->traces.n)
        return tc_error_set(err, TC_E_USAGE, "--plan excludes trace folders: '%s'",
                            options->traces.items[0]);
    if (options->explain.n || options->suppress || options->metrics)
        return tc_error_set(err, TC_E_USAGE, "--plan excludes --explain, --suppress and --metrics");
    for (size_t i = 0; i < options->formats.n; i++) {
        if (options->json && !strcmp(options->formats.items[i], "github"))
            return tc_error_set(err, TC_E_USAGE, "--json and --format github both write to stdout");
        if (!has_report(options->formats.items[i]))
            return tc_error_set(err, TC_E_USAGE,
                                "--format: no report on a plan is named '%s'; there are sarif, "
                                "junit, github",
                                options->formats.items[i]);
    }
    return TC_OK;
}

static bool on_progress(void *context, uint64_t done, uint64_t of)
{
    return tc_app_progress_share(context, "evaluated", done, of);
}

static void say_result(struct tc_app *app, const char *output_dir,
                       const struct tc_plan_check_result *r)
{
    tc_app_say(app, "evaluated %" PRIu64 " operators of %u rank%s in %.2f s", r->n_ops, r->world,
               r->world == 1 ? "" : "s", (double)r->wall_ns / 1e9);
    tc_app_say(app, "reports in %s", output_dir);
}

static int exit_status(const struct check_options *options, const struct tc_plan_check_result *r)
{
    if (r->answer == TC_PLAN_IS_REFUTED)
        return options->exit_zero ? EXIT_VERIFIED : EXIT_REFUTED;
    return r->answer == TC_PLAN_IS_UNJUDGED ? EXIT_UNJUDGED : EXIT_VERIFIED;
}

enum tc_status check_plan(struct tc_app *app, const struct check_options *options,
                          struct tc_error *err)
{
    struct tc_plan_check_result result;
    enum tc_status status = validate(options, err);

    if (status)
        return status;
    app->quiet = options->quiet;
    tc_app_begin_progress(app, options->progress);
    tc_app_catch_signals();
    struct tc_plan_check_config config = {
        .plan = options->plan,
        .reference = options->plan_reference,
        .formats = options->formats.items,
        .n_formats = options->formats.n,
        .output_dir = check_output_dir(app, options, options->plan),
        .jobs = options->jobs,
        .no_html_report = options->no_html_report,
        .color = tc_app_color(options->color),
        .quiet = options->quiet,
        .json = options->json,
        .write = tc_app_write,
        .progress = on_progress,
        .context = app,
    };
    status = tc_plan_check(&config, &result, err);
    if (status)
        return status;
    say_result(app, config.output_dir, &result);
    app->exit_status = exit_status(options, &result);
    return TC_OK;
}
