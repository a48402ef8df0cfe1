/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_infer.c - traincheck-infer from its options to the lines that sum up what was learned
 *
 * An output that nobody named does not replace one that is there. Lines for people count
 * relations, -v counts forms.
 */
#include "infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <traincheck/infer.h>
#include <traincheck/sets.h>

#include "notes.h"
#include "overwrite.h"

#include "base/fs.h"

static enum tc_status list_relations(struct tc_app *app)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    for (size_t i = 0; tc_infer_relation_name(i); i++)
        tc_strbuf_addf(&out, "%-24s %s\n", tc_infer_relation_name(i), tc_infer_relation_summary(i));
    tc_app_write(app, out.text, out.size);
    tc_strbuf_release(&out);
    return TC_OK;
}

static void say_counts(struct tc_app *app, const char *head, const struct tc_infer_count *counts,
                       size_t n)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    const char *before = ":";
    tc_strbuf_adds(&line, head);
    for (size_t i = 0; i < n; i++) {
        if (!counts[i].n)
            continue;
        tc_strbuf_addf(&line, "%s %" PRIu64 " %s", before, counts[i].n, counts[i].name);
        before = ",";
    }
    tc_app_say(app, "%s", line.text);
    tc_strbuf_release(&line);
}

/* A line for a person: forms of one relation, "EventContain/some" and "EventContain/none", are one
 * count there. sums: as large as per_form. Returns the number of relations. */
static size_t sum_relations(const struct tc_infer_result *r, struct tc_infer_count *sums)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_forms; i++) {
        int size = (int)strcspn(r->per_form[i].name, "/");
        size_t at = 0;
        struct tc_infer_count sum = {.n = r->per_form[i].n};
        snprintf(sum.name, sizeof(sum.name), "%.*s", size, r->per_form[i].name);
        while (at < n && strcmp(sums[at].name, sum.name))
            at++;
        if (at == n)
            sums[n++] = sum;
        else
            sums[at].n += sum.n;
    }
    return n;
}

static void say_invariants(struct tc_app *app, const struct infer_options *options,
                           const struct tc_infer_result *r)
{
    struct tc_infer_count sums[sizeof(r->per_form) / sizeof(*r->per_form)];
    char head[512];
    snprintf(head, sizeof(head), "%" PRIu64 " invariant%s in %s", r->n_invariants,
             r->n_invariants == 1 ? "" : "s", options->output);
    if (options->verbose)
        say_counts(app, head, r->per_form, r->n_forms);
    else
        say_counts(app, head, sums, sum_relations(r, sums));
}

static void say_read(struct tc_app *app, const struct tc_infer_result *r)
{
    double seconds = (double)r->wall_ns / 1e9, mb = (double)r->json_bytes / 1e6;
    tc_app_say(app,
               "read %" PRIu64 " records (%" PRIu64 " calls, %" PRIu64 " steps) of %" PRIu64
               " pipeline%s in %.2f s: %.1f MB, %.0f MB/s",
               r->n_records, r->n_calls, r->n_windows, r->n_pipelines,
               r->n_pipelines == 1 ? "" : "s", seconds, mb, seconds > 0 ? mb / seconds : 0);
}

static void say_held_out(struct tc_app *app, const struct tc_infer_result *r)
{
    char untold[64] = "";

    if (r->n_untold)
        snprintf(untold, sizeof(untold), ", %" PRIu64 " unchecked: not traced there", r->n_untold);
    tc_app_say(app,
               "%" PRIu64 " of them held on %" PRIu64 " held-out trace%s, %" PRIu64
               " had no occasion to%s",
               r->n_confirmed, r->n_held_out, r->n_held_out == 1 ? "" : "s",
               r->n_invariants - r->n_confirmed - r->n_untold, untold);
}

static void say_result(struct tc_app *app, const struct infer_options *options,
                       const struct tc_infer_result *r)
{
    char head[512];
    say_read(app, r);
    if (options->evidence) {
        tc_app_say(app, "%" PRIu64 " rows of evidence in %s", r->n_rows, options->evidence);
        return;
    }
    uint64_t dropped = 0;
    for (size_t i = 0; i < r->n_dropped; i++)
        dropped += r->dropped[i].n;
    if (r->n_facts)
        tc_app_say(app, "%" PRIu64 " facts of the script held in %s%s", r->n_facts,
                   r->n_pipelines == 1 ? "its one run" : "all its runs",
                   r->n_pipelines == 1
                       ? "; a second healthy run, with another seed, tells which are chance"
                       : "");
    say_invariants(app, options, r);
    if (r->n_excerpts)
        tc_app_say(app, "%.1f kB of it: what %s called, and the script's sources",
                   (double)r->excerpt_bytes / 1e3,
                   r->n_excerpts == 1 ? "the healthy run" : "two healthy runs");
    if (r->evidence_bytes)
        tc_app_say(app, "%.1f kB of it: evidence, so that --add can add a run later",
                   (double)r->evidence_bytes / 1e3);
    if (r->n_held_out)
        say_held_out(app, r);
    snprintf(head, sizeof(head), "%" PRIu64 " hypotheses dropped", dropped);
    if (dropped)
        say_counts(app, head, r->dropped, r->n_dropped);
}

static struct tc_infer_config make_config(struct tc_app *app, const struct infer_options *options,
                                          const char *date)
{
    const struct tc_opt_list *traces = options->add.n ? &options->add : &options->traces;

    return (struct tc_infer_config){
        .traces = traces->items,
        .n_traces = traces->n,
        .adds = options->add.n > 0,
        .date = date,
        .validate = options->validate.items,
        .n_validate = options->validate.n,
        .output = options->output,
        .evidence = options->evidence,
        .failed = options->failed,
        .profile = options->profile,
        .enable = options->enable.items,
        .n_enable = options->enable.n,
        .disable = options->disable.items,
        .n_disable = options->disable.n,
        .min_support = options->min_support,
        .min_pipelines = options->min_pipelines,
        .jobs = options->jobs,
        .specific = options->specific,
        .lean = options->lean,
        .keep_implied = options->keep_implied,
        .no_excerpts = options->no_excerpts,
        .no_evidence = options->no_evidence,
        .write = tc_app_write,
        .progress = tc_app_progress,
        .context = app,
    };
}

/* Before all else: who names what is not there wants to know that first. */
static enum tc_status find_traces(const struct tc_opt_list *traces, struct tc_error *err)
{
    for (size_t i = 0; i < traces->n; i++)
        if (!tc_fs_exists(traces->items[i]))
            return tc_error_set(err, TC_E_NOTFOUND, "%s: no such trace folder or file",
                                traces->items[i]);
    return TC_OK;
}

static enum tc_status check_add(const struct infer_options *options, struct tc_error *err)
{
    if (!options->add.n)
        return TC_OK;
    if (!options->specific || !options->output || options->evidence)
        return tc_error_set(err, TC_E_USAGE,
                            "--add adds to one script's file: give --specific and -o FILE%s",
                            options->evidence ? ", and no --evidence" : "");
    if (options->traces.n)
        return tc_error_set(err, TC_E_USAGE,
                            "%s beside --add: give each run that is added with --add",
                            options->traces.items[0]);
    if (!tc_fs_exists(options->output))
        return tc_error_set(err, TC_E_NOTFOUND, "%s: no such file to add to", options->output);
    return TC_OK;
}

static enum tc_status check_lean(const struct infer_options *options, struct tc_error *err)
{
    if (!options->lean)
        return TC_OK;
    if (!options->specific || options->evidence)
        return tc_error_set(err, TC_E_USAGE,
                            "--lean is for the invariants of one script: give --specific, and no "
                            "--evidence");
    if (options->add.n)
        return tc_error_set(err, TC_E_USAGE,
                            "--lean beside --add: the file says itself what it leaves out");
    return TC_OK;
}

#define DEFAULT_OUTPUT "invariants.jsonl"

/* What was learned with effort is not replaced by a command that does not name it. */
static enum tc_status choose_output(struct infer_options *options, struct tc_error *err)
{
    if (options->evidence)
        return TC_OK;
    if (options->output)
        return options->overwrite ? TC_OK : overwrite_file(options->output, err);
    options->output = DEFAULT_OUTPUT;
    if (tc_fs_exists(DEFAULT_OUTPUT) && !options->overwrite)
        return tc_error_set(err, TC_E_USAGE,
                            DEFAULT_OUTPUT " exists: name another file with -o, or replace it with "
                                           "--overwrite");
    return TC_OK;
}

/* As diff: 1 if they differ. */
static enum tc_status diff(struct tc_app *app, const struct infer_options *options,
                           struct tc_error *err)
{
    struct tc_sets_diff_result result;

    if (options->traces.n != 2)
        return tc_error_set(err, TC_E_USAGE, "--diff takes two invariant files, %zu %s given",
                            options->traces.n, options->traces.n == 1 ? "is" : "are");
    const struct tc_sets_diff_config config = {
        .before = options->traces.items[0],
        .after = options->traces.items[1],
        .json = options->json,
        .write = tc_app_write,
        .context = app,
    };
    enum tc_status status = tc_sets_diff(&config, &result, err);
    app->exit_status =
        !status && result.n_changed + result.n_new + result.n_gone + result.n_renamed;
    return status;
}

enum tc_status infer_run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct infer_options *options = options_;
    struct tc_infer_result result = {0};
    if (options->list_relations)
        return list_relations(app);
    if (options->diff)
        return diff(app, options, err);
    if (options->json)
        return tc_error_set(err, TC_E_USAGE, "--json without --diff");
    if (options->traces.n == 0 && options->add.n == 0)
        return tc_error_set(err, TC_E_USAGE, "no trace folder given");
    enum tc_status status = check_add(options, err);
    if (status == TC_OK)
        status = check_lean(options, err);
    if (status == TC_OK)
        status = find_traces(&options->traces, err);
    if (status == TC_OK)
        status = find_traces(&options->add, err);
    if (status == TC_OK)
        status = find_traces(&options->validate, err);
    if (status == TC_OK)
        status = choose_output(options, err);
    if (status != TC_OK)
        return status;
    app->quiet = options->quiet;
    tc_app_begin_progress(app, options->progress);
    tc_app_catch_signals();

    char date[16];
    struct tm tm;
    const time_t now = time(NULL);
    strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &tm));
    struct tc_notes *notes = tc_notes_new();
    struct tc_infer_config config = make_config(app, options, date);
    status = tc_infer_run(&config, &result, notes, err);
    notes_say(app, notes, options->verbose > 0);
    if (status == TC_OK)
        say_result(app, options, &result);
    if (status == TC_OK && !options->evidence && strcmp(options->output, "-") != 0)
        tc_app_next(app, "traincheck-check RUN -i %s", options->output);
    tc_notes_free(notes);
    return status;
}
