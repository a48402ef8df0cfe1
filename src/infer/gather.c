/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.c - jobs on a pool, one for each trace, merged in the order of their real paths
 *
 * Each job has its own evidence, words and notes, so threads share nothing but a few atomic
 * counters; the progress callback runs on the caller's thread alone, others see its answer as a
 * flag. A trace that is given twice, by whatever path, is one. The first failure in the order of
 * the jobs is the one that is reported.
 */
#include "infer/gather.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "base/fs.h"
#include "base/pool.h"
#include "infer/learn.h"
#include "relation/evidence_io.h"

/* One trace folder, learned on a thread of the pool. */
struct job {
    struct gathering *gathering;
    uint64_t json_bytes; /* as last reported */
    char *path;          /* without slashes at its end */
    char *real;          /* what it leads to: tells whether two paths are the same trace */
    struct tc_evidence evidence;
    struct tc_learned learned;
    struct tc_notes *notes;
    struct tc_error err;
    enum tc_status status;
};

struct gathering {
    const struct tc_infer_config *config;
    const struct tc_gather_how *how;
    struct job *jobs;
    size_t n_jobs;
    thrd_t thread; /* the caller's */
    atomic_bool is_interrupted;
    unsigned n_threads;
    atomic_size_t n_taken, n_done;
    _Atomic uint64_t json_bytes;
};

/* ---- one trace ----------------------------------------------------------------------------- */

/* Called on the thread of a job; the callback is for the caller's thread alone, the others see the
 * flag. */
static bool on_progress(void *context, uint64_t json_bytes)
{
    struct job *job = context;
    struct gathering *g = job->gathering;
    const struct tc_infer_config *c = g->config;

    g->json_bytes += json_bytes - job->json_bytes;
    job->json_bytes = json_bytes;
    if (c->progress && thrd_equal(thrd_current(), g->thread) &&
        !c->progress(c->context, g->n_done, g->n_jobs, g->json_bytes))
        g->is_interrupted = true;
    return !g->is_interrupted;
}

bool tc_is_evidence_file(const char *path)
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
    struct gathering *g = context;
    struct job *job = &g->jobs[i];
    /* Threads for which there is no trace of their own read ahead for others. */
    const struct tc_learn_options options = {.enabled = g->how->observed,
                                             .left_out = g->how->left_out,
                                             .ahead = g->n_jobs - g->n_taken++ < g->n_threads,
                                             .progress = on_progress,
                                             .context = job};

    job->gathering = g;
    tc_evidence_init(&job->evidence);
    job->notes = tc_notes_new();
    if (!on_progress(job, 0)) /* traces may be too short to ask in their middle */
        job->status = tc_error_set(&job->err, TC_E_INTERRUPTED, "interrupted");
    else if (tc_is_evidence_file(job->path))
        job->status = read_evidence(job);
    else
        job->status = tc_learn_folder(job->path, &options, &job->evidence, &job->learned,
                                      job->notes, &job->err);
    g->n_done++;
}

static void copy_notes(struct tc_notes *into, const struct tc_notes *from)
{
    for (size_t i = 0; i < tc_notes_count(from); i++) {
        const struct tc_note *note = tc_notes_get(from, i);
        if (note->count)
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
    result->n_selective += job->learned.selections.items.n;
}

/* What holds under one version may have another name, or another default, under another. */
static void note_versions(const struct gathering *g, struct tc_notes *notes)
{
    const struct job *known = NULL;

    for (size_t i = 0; i < g->n_jobs; i++) {
        const struct job *job = &g->jobs[i];
        if (!*job->learned.torch)
            continue;
        if (known && strcmp(known->learned.torch, job->learned.torch) != 0)
            tc_notes_add(notes, "torch-versions", tc_fs_base(job->path), 0,
                         "of torch %s, %s of %s: what differs between them is not learned",
                         job->learned.torch, tc_fs_base(known->path), known->learned.torch);
        known = known ? known : job;
    }
}

/* A trace tells of what it was asked to tell. */
static void note_no_operators(const struct gathering *g, struct tc_notes *notes)
{
    for (size_t i = 0; i < g->n_jobs; i++)
        if (g->jobs[i].learned.has_operators || !g->jobs[i].learned.counts.n_calls)
            return;
    if (g->n_jobs && g->config->specific && !g->config->evidence)
        tc_notes_add(notes, "no-operators", "", 0,
                     "what the script's own lines compute is in no trace: traced without "
                     "--no-operators, all runs alike, more is found");
}

/* Of one script more can be learned than of several. */
static void note_one_script(const struct gathering *g, struct tc_notes *notes)
{
    const char *script = g->n_jobs > 1 ? g->jobs[0].learned.script : "";

    for (size_t i = 0; i < g->n_jobs; i++)
        if (!*script || strcmp(script, g->jobs[i].learned.script) != 0)
            return;
    if (*script && !g->config->specific && !g->config->evidence)
        tc_notes_add(notes, "one-script", "", 0,
                     "all traces are runs of %s: --specific learns what is a fact of this script, "
                     "too, and takes several runs of it as one witness",
                     tc_fs_base(script));
}

/* Such a run is no good example: it is learned from all the same, as far as it went. */
static void note_failed(const struct gathering *g, struct tc_notes *notes)
{
    for (size_t i = 0; i < g->n_jobs; i++)
        if (g->jobs[i].learned.exit_status)
            tc_notes_add(notes, "failed-run", tc_fs_base(g->jobs[i].path), 0,
                         "the run itself failed: exit status %d; what it did until then is taken "
                         "for healthy",
                         g->jobs[i].learned.exit_status);
}

/* Runs that are equal in all that chance decides are one witness. */
static void note_same_seed(const struct gathering *g, struct tc_notes *notes)
{
    if (g->n_jobs < 2 || !g->config->specific || g->config->evidence)
        return;
    for (size_t i = 1; i < g->n_jobs; i++)
        if (!tc_draws_are_equal(&g->jobs[0].learned.draws, &g->jobs[i].learned.draws))
            return;
    tc_notes_add(notes, "same-seed", "", 0,
                 "%s runs have the same seed: what chance decides is learned as if it were a law; "
                 "use another seed",
                 g->n_jobs == 2 ? "both" : "all");
}

static void find_seeds(const struct gathering *g, struct tc_gathered *gathered)
{
    for (size_t i = 1; i < g->n_jobs && !gathered->has_seeds; i++)
        gathered->has_seeds =
            tc_draws_seeds(&g->jobs[0].learned.draws, &g->jobs[i].learned.draws, gathered->seeds);
}

/* What it lacks would be taken for absent; evidence does not tell what was asked for. */
static enum tc_status refuse_selective(const struct gathering *g, struct tc_error *err)
{
    for (size_t i = 0; i < g->n_jobs; i++)
        if (g->jobs[i].learned.selections.items.n)
            return tc_error_set(
                err, TC_E_USAGE,
                "%s was traced by collect -i, for the invariants given there: what "
                "it lacks would be learned as absent; trace a healthy run without -i",
                g->jobs[i].path);
    return TC_OK;
}

static enum tc_status refuse_lean(const struct gathering *g, struct tc_error *err)
{
    for (size_t i = 0; i < g->n_jobs; i++)
        if (g->jobs[i].learned.is_lean)
            return tc_error_set(err, TC_E_USAGE,
                                "%s was traced by collect -i with a lean set: what that leaves out "
                                "would be learned as absent; trace a run without -i",
                                g->jobs[i].path);
    return TC_OK;
}

static void note_selective(const struct gathering *g, struct tc_notes *notes)
{
    for (size_t i = 0; i < g->n_jobs; i++)
        if (g->jobs[i].learned.selections.items.n)
            tc_notes_add(notes, "selective", tc_fs_base(g->jobs[i].path), 0,
                         "traced by collect -i, for the invariants given there: nothing is learned "
                         "of what it was not asked for");
}

/* Of traces to learn from: what they were not asked for. */
static enum tc_status judge_selections(const struct gathering *g, struct tc_notes *notes,
                                       struct tc_error *err)
{
    if ((g->config->specific || g->config->evidence) && !g->config->selective)
        return refuse_selective(g, err);
    if (!g->config->specific)
        note_selective(g, notes);
    return TC_OK;
}

/* Merge in the order of the jobs, which is that of the paths. */
static enum tc_status merge_all(struct gathering *g, struct tc_evidence *evidence,
                                struct tc_infer_result *result, struct tc_selections *held,
                                struct tc_notes *notes, struct tc_error *err)
{
    enum tc_status status = refuse_lean(g, err);

    if (!status && !held)
        status = judge_selections(g, notes, err);

    for (size_t i = 0; i < g->n_jobs; i++) {
        struct job *job = &g->jobs[i];
        copy_notes(notes, job->notes);
        if (job->status && !status) {
            status = job->status;
            tc_error_set(err, status, "%s", job->err.text);
        }
        if (!status) {
            tc_evidence_merge(evidence, &job->evidence);
            count_job(job, result);
        }
        if (held && !status)
            tc_selections_move(held, &job->learned.selections);
        tc_selections_release(&job->learned.selections);
        tc_notes_free(job->notes);
        tc_evidence_release(&job->evidence);
    }
    return status;
}

static void free_job(struct job *job)
{
    tc_free(job->path);
    tc_free(job->real);
}

static struct job job_of(const char *given)
{
    char *path = tc_strdup(given);
    struct job job = {.path = path, .real = realpath(path, NULL)};

    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/';)
        path[--size] = '\0';
    if (!job.real)
        job.real = tc_strdup(path);
    return job;
}

/* In an order of their own, each once: a trace given twice is no second witness. */
static void list_jobs(struct gathering *g, const char *const *paths, size_t n)
{
    struct job *jobs = tc_calloc(n, sizeof(*jobs));

    for (size_t i = 0; i < n; i++)
        jobs[i] = job_of(paths[i]);
    qsort(jobs, n, sizeof(*jobs), compare_jobs);
    for (size_t i = 0; i < n; i++) {
        if (g->n_jobs && !strcmp(jobs[g->n_jobs - 1].real, jobs[i].real))
            free_job(&jobs[i]);
        else
            jobs[g->n_jobs++] = jobs[i];
    }
    g->jobs = jobs;
}

enum tc_status tc_gather(const struct tc_infer_config *config, const char *const *paths,
                         size_t n_paths, const struct tc_gather_how *how,
                         struct tc_evidence *evidence, struct tc_infer_result *result,
                         struct tc_gathered *gathered, struct tc_selections *held,
                         struct tc_notes *notes, struct tc_error *err)
{
    struct gathering g = {.config = config, .how = how, .thread = thrd_current()};

    list_jobs(&g, paths, n_paths);
    g.n_threads = config->jobs ? config->jobs : tc_pool_cores();
    tc_pool_run(g.n_jobs, g.n_threads, learn_job, &g);
    note_versions(&g, notes);
    note_no_operators(&g, notes);
    note_one_script(&g, notes);
    note_failed(&g, notes);
    if (gathered) {
        note_same_seed(&g, notes);
        find_seeds(&g, gathered);
    }
    enum tc_status status = merge_all(&g, evidence, result, held, notes, err);
    for (size_t i = 0; i < g.n_jobs; i++)
        free_job(&g.jobs[i]);
    tc_free(g.jobs);
    return status;
}
