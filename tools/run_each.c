/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_each.c - traincheck-check --each: many runs, each judged by itself
 *
 * Jobs on a pool, one for each run; what is kept of a run is its line of JSON. Lines are reported
 * in the order of the runs, each as soon as those before it are known. runs.jsonl and the page are
 * written anew every few seconds, so that a check that is killed leaves what it knew.
 */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/pool.h"
#include "base/vec.h"
#include "each.h"
#include "report/fleet.h"
#include "script_of.h"
#include "verdict.h"

#define WRITE_NS UINT64_C(5000000000) /* between two versions of the page */

enum {
    EXIT_BROKE = 1,
    EXIT_UNKNOWN = 3
};

struct each {
    struct tc_app *app;
    const struct check_options *options;
    struct each_runs runs;
    pthread_t thread;     /* the caller's: it alone shows progress */
    pthread_mutex_t lock; /* of all below, and of stdout */
    size_t n_done, n_told;
    uint64_t json_bytes, written_ns;
    enum tc_status status; /* of the first write that failed */
    struct tc_error err;
};

/* ---- one run, on a thread of the pool ---------------------------------------------------------
 */

struct job {
    struct each *each;
    struct tc_json *first; /* its first finding */
};

/* Findings come before their violations: the first line is the first finding. */
static void on_json(void *context, const char *text, size_t size)
{
    struct job *job = context;
    const char *end = memchr(text, '\n', size);

    if (!job->first && end && tc_json_parse(text, (size_t)(end - text), &job->first, NULL) != TC_OK)
        job->first = NULL;
}

static bool on_progress(void *context, size_t i, size_t n, uint64_t bytes)
{
    struct each *each = ((struct job *)context)->each;

    (void)i;
    (void)n;
    if (tc_app_interrupted() || !pthread_equal(pthread_self(), each->thread))
        return !tc_app_interrupted();
    pthread_mutex_lock(&each->lock);
    const bool goes_on =
        tc_app_progress(each->app, each->n_done, each->runs.n, each->json_bytes + bytes);
    pthread_mutex_unlock(&each->lock);
    return goes_on;
}

static struct tc_json *check_one(struct each *each, struct each_run *run, uint64_t *json_bytes)
{
    struct job job = {.each = each};
    char *output_dir = tc_fs_join(each->options->output_dir, run->folder);
    struct tc_check_config config = check_config(each->app, each->options);
    struct tc_check_result result;
    struct tc_error err;
    struct tc_json *line = NULL;

    config.traces = &run->trace;
    config.n_traces = 1;
    config.jobs = 1;
    config.output_dir = output_dir;
    config.json = true;
    config.write = on_json;
    config.progress = on_progress;
    config.context = &job;
    const enum tc_status status = tc_check_run(&config, &result, NULL, &err);
    if (!status) {
        char *script = script_of_trace(run->trace, NULL);
        line = tc_fleet_run(run->trace, script, verdict_exit_status(each->options, &result),
                            &result, job.first, run->folder);
        tc_free(script);
        *json_bytes = result.json_bytes;
    } else if (status != TC_E_INTERRUPTED) {
        line = tc_fleet_unread(run->trace, TC_APP_FAILED, err.text);
    }
    if (line)
        tc_json_set_string(line, "stamp", run->stamp);
    tc_json_free(job.first);
    tc_free(output_dir);
    return line;
}

/* ---- what is printed of all ---------------------------------------------------------------------
 */

static void print_run(const struct each *each, const struct tc_json *line)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (each->options->json) {
        tc_json_print(line, &text);
        tc_strbuf_addc(&text, '\n');
    } else if (!each->options->quiet || tc_fleet_verdict(line) != TC_FLEET_PASSED) {
        tc_fleet_text(line, &text);
    }
    if (text.size)
        tc_app_write(each->app, text.text, text.size);
    tc_strbuf_release(&text);
}

static enum tc_status write_file(const struct each *each, const char *name,
                                 const struct tc_strbuf *text, struct tc_error *err)
{
    char *path = tc_fs_join(each->options->output_dir, name);
    enum tc_status status = tc_fs_write(path, text->text ? text->text : "", text->size, err);

    tc_free(path);
    return status;
}

static enum tc_status write_all(const struct each *each, struct tc_error *err)
{
    struct tc_strbuf lines = TC_STRBUF_INIT, page = TC_STRBUF_INIT;
    struct tc_json **runs = tc_calloc(each->runs.n + 1, sizeof(struct tc_json *));

    for (size_t i = 0; i < each->runs.n; i++) {
        runs[i] = each->runs.items[i].line;
        if (!runs[i])
            continue;
        tc_json_print(runs[i], &lines);
        tc_strbuf_addc(&lines, '\n');
    }
    enum tc_status status = write_file(each, "runs.jsonl", &lines, err);
    if (!status && !each->options->no_html_report) {
        tc_fleet_page(runs, each->runs.n, &page);
        status = write_file(each, "index.html", &page, err);
    }
    tc_strbuf_release(&lines);
    tc_strbuf_release(&page);
    tc_free(runs);
    return status;
}

/* Under the lock. */
static void take(struct each *each, struct each_run *run, struct tc_json *line, uint64_t json_bytes)
{
    run->line = line;
    each->n_done++;
    each->json_bytes += json_bytes;
    for (; each->n_told < each->runs.n && each->runs.items[each->n_told].line; each->n_told++)
        print_run(each, each->runs.items[each->n_told].line);
    if (!each->status && tc_clock_ns() - each->written_ns > WRITE_NS) {
        each->status = write_all(each, &each->err);
        each->written_ns = tc_clock_ns();
    }
}

static void check_job(void *context, size_t i)
{
    struct each *each = context;
    struct each_run *run = &each->runs.items[i];
    struct tc_json *line = run->line;
    uint64_t json_bytes = 0;

    if (!line && !tc_app_interrupted())
        line = check_one(each, run, &json_bytes);
    pthread_mutex_lock(&each->lock);
    if (line)
        take(each, run, line, json_bytes);
    pthread_mutex_unlock(&each->lock);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum tc_status validate(const struct check_options *o, struct tc_error *err)
{
    if (!o->each)
        return tc_error_set(err, TC_E_USAGE, "--skip-checked without --each");
    if (o->skip_checked && !o->output_dir)
        return tc_error_set(err, TC_E_USAGE,
                            "--skip-checked needs -o: the output folder of the earlier check");
    if (o->explain.n || o->accept || o->metrics || o->track.n || o->hang_after_s)
        return tc_error_set(
            err, TC_E_USAGE,
            "--each excludes --explain, --accept, --metrics, --track and --hang-after");
    for (size_t i = 0; i < o->formats.n; i++)
        if (!strcmp(o->formats.items[i], "github"))
            return tc_error_set(err, TC_E_USAGE, "--each excludes --format github");
    return TC_OK;
}

/* Violations count more than a run that could not be read, and that more than one not judged. */
static int worst_status(const struct each *each)
{
    static const int order[] = {EXIT_BROKE, TC_APP_FAILED, EXIT_UNKNOWN};
    size_t worst = sizeof(order) / sizeof(*order);
    const size_t n = worst;

    for (size_t i = 0; i < each->runs.n; i++) {
        const struct tc_json *line = each->runs.items[i].line;
        const double status = tc_json_to_number(tc_json_get(line, "status"), 0);
        for (size_t j = 0; j < worst; j++)
            if (status == order[j])
                worst = j;
    }
    return worst < n ? order[worst] : 0;
}

static void say_end(struct each *each)
{
    size_t counts[TC_FLEET_N_VERDICTS] = {0}, n_skipped = 0;
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < each->runs.n; i++) {
        if (each->runs.items[i].line)
            counts[tc_fleet_verdict(each->runs.items[i].line)]++;
        n_skipped += each->runs.items[i].is_skipped;
    }
    for (unsigned v = 0; v < TC_FLEET_N_VERDICTS; v++)
        tc_strbuf_addf(&text, "%s%zu %s", v ? ", " : "", counts[v],
                       tc_fleet_verdict_name((enum tc_fleet_verdict)v));
    if (n_skipped)
        tc_strbuf_addf(&text, "; %zu had been checked before", n_skipped);
    tc_app_say(each->app, "%zu run%s: %s", each->runs.n, each->runs.n == 1 ? "" : "s", text.text);
    tc_app_say(each->app, "reports in %s", each->options->output_dir);
    tc_strbuf_release(&text);
    if (counts[TC_FLEET_FAILED] && !each->options->no_html_report && !tc_app_interrupted())
        tc_app_next(each->app, "open %s/index.html", each->options->output_dir);
}

static enum tc_status run_jobs(struct each *each, struct tc_error *err)
{
    const unsigned jobs = each->options->jobs;
    int lock = -1;
    enum tc_status status = tc_fs_mkdirs(each->options->output_dir, err);

    if (!status)
        status = tc_fs_may_fill(each->options->output_dir, err);
    if (!status)
        status = tc_fs_lock(each->options->output_dir, &lock, err);
    if (status)
        return status;
    pthread_mutex_init(&each->lock, NULL);
    each->written_ns = tc_clock_ns();
    tc_pool_run(each->runs.n, jobs ? jobs : tc_pool_cores(), check_job, each);
    pthread_mutex_destroy(&each->lock);
    status = write_all(each, err);
    close(lock);
    return status;
}

enum tc_status check_each(struct tc_app *app, struct check_options *options, struct tc_error *err)
{
    struct each each = {.app = app, .options = options, .thread = pthread_self()};
    enum tc_status status = validate(options, err);

    if (!status)
        status = check_begin(app, options, err);
    if (!status)
        status = each_runs_list(&each.runs, options, err);
    if (!status)
        status = run_jobs(&each, err);
    if (!status) {
        say_end(&each);
        app->exit_status = worst_status(&each);
        if (tc_app_interrupted())
            status = tc_error_set(err, TC_E_INTERRUPTED, "interrupted");
    }
    each_runs_release(&each.runs);
    return status;
}
