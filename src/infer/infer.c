#include <traincheck/infer.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "base/banned.h"
#include "base/fs.h"
#include "base/pool.h"
#include "infer/learn.h"
#include "infer/mine.h"
#include "relation/evidence_io.h"
#include <traincheck/version.h>

#define DEFAULT_MIN_SUPPORT 3
#define MAX_RELATIONS       32

/* One trace folder, learned on a thread of the pool. */
struct job {
    struct inference *inference;
    uint64_t json_bytes; /* as last reported */
    char *path;          /* without slashes at its end */
    char *real;          /* what it leads to: tells whether two paths are the same trace */
    struct tc_evidence evidence;
    struct tc_learned learned;
    struct tc_notes *notes;
    struct tc_error err;
    enum tc_status status;
};

struct inference {
    const struct tc_infer_config *config;
    struct job *jobs;
    size_t n_jobs;
    bool enabled[MAX_RELATIONS];   /* by place in tc_relations */
    bool observed[TC_MAX_SOURCES]; /* does an enabled form ask for the source? */
    struct tc_evidence evidence;
    uint64_t started_ns;
    thrd_t thread; /* the caller's */
    atomic_bool is_interrupted;
    atomic_size_t n_done;
    _Atomic uint64_t json_bytes;
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

const char *tc_infer_relation_name(size_t i)
{
    return tc_relations[i] ? tc_relations[i]->name : NULL;
}

const char *tc_infer_relation_summary(size_t i)
{
    return tc_relations[i]->summary;
}

/* ---- options ------------------------------------------------------------------------------- */

/* "EventContain" names a family, "EventContain/some" a form. */
static bool is_named(const struct tc_relation *relation, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(relation->name, name, n) &&
           (relation->name[n] == '\0' || relation->name[n] == '/');
}

static bool is_any_named(const struct tc_relation *relation, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(relation, names[i]))
            return true;
    return false;
}

static enum tc_status check_names(const char *const *names, size_t n, struct tc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t j = 0; tc_relations[j]; j++)
            found |= is_named(tc_relations[j], names[i]);
        if (!found)
            return tc_error_set(err, TC_E_USAGE,
                                "no relation is called \"%s\" (see --list-relations)", names[i]);
    }
    return TC_OK;
}

static enum tc_status select_relations(struct inference *inference, struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    enum tc_status status = check_names(c->enable, c->n_enable, err);

    if (!status)
        status = check_names(c->disable, c->n_disable, err);
    for (size_t i = 0; tc_relations[i] && i < MAX_RELATIONS; i++) {
        inference->enabled[i] =
            (!c->n_enable || is_any_named(tc_relations[i], c->enable, c->n_enable)) &&
            !is_any_named(tc_relations[i], c->disable, c->n_disable);
        if (inference->enabled[i])
            inference->observed[tc_source_number(tc_relations[i]->source)] = true;
    }
    return status;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* Called on the thread of a job; the callback is for the caller's thread alone, the others see the
 * flag. */
static bool on_progress(void *context, uint64_t json_bytes)
{
    struct job *job = context;
    struct inference *inference = job->inference;
    const struct tc_infer_config *c = inference->config;

    inference->json_bytes += json_bytes - job->json_bytes;
    job->json_bytes = json_bytes;
    if (thrd_equal(thrd_current(), inference->thread) &&
        !c->progress(c->context, inference->n_done, c->n_traces, inference->json_bytes))
        inference->is_interrupted = true;
    return !inference->is_interrupted;
}

static bool is_evidence(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && !strcmp(path + n - 4, ".tce");
}

static enum tc_status read_evidence(struct job *job)
{
    uint64_t n_unknown = 0;
    enum tc_status status = tc_evidence_read(&job->evidence, job->path, &n_unknown, &job->err);

    if (n_unknown)
        tc_notes_add(job->notes, "unknown-source", tc_fs_base(job->path), 0,
                     "%llu rows are of sources that this version does not know",
                     (unsigned long long)n_unknown);
    return status;
}

static void learn_job(void *context, size_t i)
{
    struct inference *inference = context;
    struct job *job = &inference->jobs[i];
    struct tc_learn_options options = {.enabled = inference->observed, .context = job};

    job->inference = inference;
    if (inference->config->progress)
        options.progress = on_progress;
    tc_evidence_init(&job->evidence);
    job->notes = tc_notes_new();
    job->status = is_evidence(job->path) ? read_evidence(job)
                                         : tc_learn_folder(job->path, &options, &job->evidence,
                                                           &job->learned, job->notes, &job->err);
    inference->n_done++;
}

static void copy_notes(struct tc_notes *into, const struct tc_notes *from)
{
    for (size_t i = 0; i < tc_notes_count(from); i++) {
        const struct tc_note *note = tc_notes_get(from, i);
        for (uint64_t n = 0; n < note->count && n < 1; n++)
            tc_notes_add(into, note->code, note->file, note->line, "%s%s", note->text,
                         note->count > 1 ? " (and more of the kind)" : "");
    }
}

static int compare_jobs(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    int order = strcmp(x->real, y->real);

    return order ? order : strcmp(x->path, y->path);
}

static void count_job(const struct job *job, struct tc_infer_result *result)
{
    result->n_files += job->learned.n_files;
    result->n_records += job->learned.counts.n_records;
    result->n_calls += job->learned.counts.n_calls;
    result->n_windows += job->learned.counts.n_step_windows;
    result->json_bytes += job->learned.json_bytes;
    result->file_bytes += job->learned.file_bytes;
}

static enum tc_status gather(struct inference *inference, struct tc_infer_result *result,
                             struct tc_notes *notes, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < inference->n_jobs; i++) {
        struct job *job = &inference->jobs[i];
        copy_notes(notes, job->notes);
        if (job->status && !status) {
            status = job->status;
            tc_error_set(err, status, "%s", job->err.text);
        }
        if (!status) {
            tc_evidence_merge(&inference->evidence, &job->evidence);
            count_job(job, result);
        }
        tc_notes_free(job->notes);
        tc_evidence_release(&job->evidence);
    }
    result->n_pipelines = inference->evidence.pipelines.n;
    result->n_rows = inference->evidence.rows.n;
    return status;
}

static void free_job(struct job *job)
{
    tc_free(job->path);
    tc_free(job->real);
}

/* In an order of their own, each once: a trace given twice is no second witness. */
static void list_jobs(struct inference *inference)
{
    const struct tc_infer_config *c = inference->config;
    struct job *jobs = tc_calloc(c->n_traces, sizeof(*jobs));
    size_t n = 0;

    for (size_t i = 0; i < c->n_traces; i++) {
        char *path = tc_strdup(c->traces[i]);
        for (size_t size = strlen(path); size > 1 && path[size - 1] == '/';)
            path[--size] = '\0';
        jobs[i].path = path;
        jobs[i].real = realpath(path, NULL);
        if (!jobs[i].real)
            jobs[i].real = tc_strdup(path);
    }
    qsort(jobs, c->n_traces, sizeof(*jobs), compare_jobs);
    for (size_t i = 0; i < c->n_traces; i++) {
        if (n && !strcmp(jobs[n - 1].real, jobs[i].real))
            free_job(&jobs[i]);
        else
            jobs[n++] = jobs[i];
    }
    inference->jobs = jobs;
    inference->n_jobs = n;
}

static enum tc_status learn_all(struct inference *inference, struct tc_infer_result *result,
                                struct tc_notes *notes, struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    unsigned threads = c->jobs ? c->jobs : tc_pool_cores();

    list_jobs(inference);
    tc_pool_run(inference->n_jobs, threads, learn_job, inference);
    enum tc_status status = gather(inference, result, notes, err);
    for (size_t i = 0; i < inference->n_jobs; i++)
        free_job(&inference->jobs[i]);
    tc_free(inference->jobs);
    return status;
}

/* ---- output -------------------------------------------------------------------------------- */

static uint64_t n_examples(const struct tc_evidence *evidence)
{
    uint64_t n = 0;

    for (size_t i = 0; i < evidence->rows.n; i++)
        n += evidence->rows.items[i].count;
    return n;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The last parts of the paths, in the order of the paths: that of merging must not show. */
static struct tc_json *pipeline_names(const struct tc_evidence *evidence)
{
    size_t n = evidence->pipelines.n;
    const char **names = tc_calloc(n + 1, sizeof(*names));
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++)
        names[i] = tc_strtab_text(evidence->symbols, evidence->pipelines.items[i]);
    qsort(names, n, sizeof(*names), compare_names);
    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(tc_fs_base(names[i])));
    tc_free(names);
    return array;
}

static struct tc_json *header(const struct inference *inference)
{
    const struct tc_evidence *evidence = &inference->evidence;
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "traincheck", "invariants");
    tc_json_set_number(object, "schema", TC_INVARIANT_SCHEMA);
    tc_json_set_string(object, "made_by", "traincheck-infer " TC_VERSION);
    tc_json_set(object, "from", pipeline_names(evidence));
    tc_json_set_number(object, "examples", (double)n_examples(evidence));
    return object;
}

static enum tc_status deliver(const struct inference *inference, const struct tc_strbuf *text,
                              struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;

    if (!strcmp(c->output, "-")) {
        c->write(c->context, text->text, text->size);
        return TC_OK;
    }
    return tc_fs_write(c->output, text->text, text->size, err);
}

static void count_forms(const struct tc_invariant_set *set, struct tc_infer_result *result)
{
    for (size_t i = 0; tc_relations[i] && i < MAX_RELATIONS; i++) {
        struct tc_infer_count *count = &result->per_form[result->n_forms++];
        snprintf(count->name, sizeof(count->name), "%s", tc_relations[i]->name);
        for (size_t j = 0; j < set->items.n; j++)
            count->n += !strcmp(tc_strtab_text(set->symbols, set->items.items[j]->relation),
                                tc_relations[i]->name);
    }
    result->n_invariants = set->items.n;
}

static void count_dropped(const struct tc_mined *mined, struct tc_infer_result *result)
{
    for (unsigned i = 0; i < TC_DEDUCE_COUNT; i++) {
        if (i == TC_DEDUCE_ACCEPTED || !mined->dropped[i])
            continue;
        struct tc_infer_count *count = &result->dropped[result->n_dropped++];
        snprintf(count->name, sizeof(count->name), "%s", tc_deduction_text((enum tc_deduction)i));
        count->n = mined->dropped[i];
    }
    if (mined->n_implied)
        result->dropped[result->n_dropped++] =
            (struct tc_infer_count){"implied by others", mined->n_implied};
}

static enum tc_status mine_and_write(struct inference *inference, struct tc_infer_result *result,
                                     struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    const struct tc_mine_options options = {
        .deduce = {.min_support = c->min_support ? c->min_support : DEFAULT_MIN_SUPPORT,
                   .min_pipelines = c->min_pipelines},
        .keep_implied = c->keep_implied,
        .enabled = inference->enabled,
    };
    struct tc_strbuf text = TC_STRBUF_INIT, failed = TC_STRBUF_INIT;
    struct tc_failures failures = {0};
    struct tc_invariant_set set;
    struct tc_mined mined;
    enum tc_status status;

    tc_invariant_set_init(&set, inference->evidence.symbols);
    tc_mine(&inference->evidence, &options, &set, c->failed ? &failures : NULL, &mined);
    count_forms(&set, result);
    count_dropped(&mined, result);
    tc_invariant_set_print(&set, header(inference), &text);
    tc_failures_print(&failures, &failed);
    status = deliver(inference, &text, err);
    if (!status && c->failed)
        status = tc_fs_write(c->failed, failed.text ? failed.text : "", failed.size, err);
    tc_strbuf_release(&text);
    tc_strbuf_release(&failed);
    tc_failures_release(&failures);
    tc_invariant_set_release(&set);
    return status;
}

enum tc_status tc_infer_run(const struct tc_infer_config *config, struct tc_infer_result *result,
                            struct tc_notes *notes, struct tc_error *err)
{
    struct inference inference = {
        .config = config, .started_ns = now_ns(), .thread = thrd_current()};
    enum tc_status status;

    *result = (struct tc_infer_result){0};
    status = select_relations(&inference, err);
    if (status)
        return status;
    tc_evidence_init(&inference.evidence);
    status = learn_all(&inference, result, notes, err);
    if (!status && config->evidence)
        status = tc_evidence_write(&inference.evidence, config->evidence, err);
    else if (!status)
        status = mine_and_write(&inference, result, err);
    tc_evidence_release(&inference.evidence);
    result->wall_ns = now_ns() - inference.started_ns;
    return status;
}
