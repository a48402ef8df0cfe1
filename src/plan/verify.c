/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - the verdict: every result of every rank is its part of the single-device result
 *
 * First names and sizes, then evaluations with random elements until the bound on a wrong
 * "equal" is met. If results differ, the same again by laws of exp and log, each of which is
 * sound. If they do not differ in float64 the job is unjudged. Only a refuted job is explained.
 * References run side by side; the job runs with all threads, one evaluation at a time, as
 * thousands of ranks fill the memory once.
 */
#include "plan/verify.h"

#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "plan/explanation.h"
#include "plan/fill.h"
#include "plan/judge.h"
#include "plan/repair.h"
#include "plan/sizes.h"

/* ---- the reference ------------------------------------------------------------------------- */

static enum tc_status prepare(struct judge *j, struct tc_error *err)
{
    const struct tc_plan_rank *rank = &j->single->ranks[0];
    struct tc_plan_verdict *v = j->verdict;

    for (size_t i = 0; i < rank->results.n; i++) {
        const struct tc_plan_result *r = &rank->results.items[i];
        struct tc_plan_judged result = {.name = r->name, .n = r->tensor.numel};
        for (uint32_t d = 0; d < r->place.n_global; d++)
            if (r->place.n_global != r->tensor.n_dims || r->place.global[d] != r->tensor.sizes[d])
                return tc_error_set(err, TC_E_FORMAT,
                                    "%s:%llu: the reference is the plan of one device, but its "
                                    "result '%s' is a part",
                                    rank->file, (unsigned long long)r->line,
                                    tc_strtab_text(j->single->names, r->name));
        if (tc_judged_of(v, r->name))
            continue;
        result.values = tc_calloc(j->config->most_seeds, sizeof(*result.values));
        result.covered = tc_calloc((size_t)result.n + 1, 1);
        tc_map_put(&v->by_name, r->name, v->results.n);
        tc_vec_push(&v->results, result);
    }
    if (!v->results.n)
        return tc_error_set(err, TC_E_FORMAT, "%s: the plan names no results to compare",
                            j->single->folder);
    return TC_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool tick(void *context)
{
    struct trial *t = context;
    const struct tc_verify_config *c = t->judge->config;
    uint64_t of =
        (t->judge->parallel->n_ops + t->judge->single->n_ops) * t->judge->verdict->n_seeds;

    return t->seed != 0 || !c->progress ||
           c->progress(c->context, atomic_load(&t->judge->done), of);
}

static void run_reference(void *context, size_t seed)
{
    struct trial *t = (struct trial *)context + seed;
    struct judge *j = t->judge;
    struct tc_world_watch watch = {.done = tc_trial_take_reference,
                                   .tick = tick,
                                   .ledger = t->degrees[0],
                                   .laws = t->laws,
                                   .context = t};

    t->in_single = true;
    t->status = tc_world_run(j->single, tc_plan_seed(t->seed), 1, &watch, &t->fault, &t->err);
}

static void run_job(struct trial *t)
{
    struct judge *j = t->judge;
    struct tc_world_watch watch = {.done = tc_trial_take_results,
                                   .misread = tc_trial_take_misread,
                                   .tick = tick,
                                   .ledger = t->degrees[1],
                                   .laws = t->laws,
                                   .context = t};

    t->in_single = false;
    t->status = tc_world_run(j->parallel, tc_plan_seed(t->seed), j->config->threads, &watch,
                             &t->fault, &t->err);
    tc_trial_compare_sums(t);
}

/* Is a result wrong that is to be right after the step? */
static bool has_wrong(const struct judge *j)
{
    for (size_t i = 0; i < j->verdict->results.n; i++)
        if (j->verdict->results.items[i].is_wrong &&
            !tc_judge_is_reduced_in_step(j, &j->verdict->results.items[i]))
            return true;
    return false;
}

/* What the values of an evaluation carry goes with its laws: thousands of ranks make millions. */
static void forget_laws(struct trial *t)
{
    const struct tc_plan_verdict *v = t->judge->verdict;

    for (size_t i = 0; t->laws && i < v->results.n; i++) {
        tc_el *values = v->results.items[i].values[t->seed];
        for (int64_t k = 0; values && k < v->results.items[i].n; k++)
            values[k] = tc_el_plain(values[k]);
    }
    tc_laws_free(t->laws);
    t->laws = NULL;
}

/*
 * Trials [from, to); the first that fails decides. References have one rank: as many as there are
 * threads run side by side. The job runs with all threads, one evaluation after the other:
 * thousands of ranks that wait for each other fill the memory once. If other laws are tried after
 * these, one wrong evaluation is enough.
 */
static enum tc_status run_trials(struct judge *j, struct trial *trials, unsigned from, unsigned to,
                                 struct tc_error *err)
{
    unsigned threads = j->config->threads ? j->config->threads : 1;

    for (unsigned i = from; i < to; i++) {
        if ((i - from) % threads == 0)
            tc_pool_run(to - i < threads ? to - i : threads, threads, run_reference, trials + i);
        if (!trials[i].status)
            run_job(&trials[i]);
        if (trials[i].status && trials[i].status != TC_E_FORMAT)
            return tc_error_set(err, trials[i].status, "%s", trials[i].err.text);
        if (trials[i].status) {
            tc_judge_add_fault(j, &trials[i]);
            j->has_fault = true;
            return TC_OK;
        }
        forget_laws(&trials[i]);
        if (j->verdict->laws < j->last_laws && has_wrong(j))
            return TC_OK;
    }
    return TC_OK;
}

/* How many evaluations the bound that is wanted takes, once the first has counted; least at least.
 */
static unsigned evaluations(const struct judge *j, double bits, unsigned least)
{
    const struct tc_verify_config *c = j->config;
    double n = bits > 0 ? ceil(c->error_bits / bits) : least;

    if (has_wrong(j))
        return least;
    return n > c->most_seeds ? c->most_seeds : n > least ? (unsigned)n : least;
}

static struct trial *new_trials(struct judge *j)
{
    enum tc_laws_mode laws = j->verdict->laws;
    struct trial *trials = tc_calloc(j->config->most_seeds, sizeof(*trials));

    for (unsigned i = 0; i < j->config->most_seeds; i++)
        trials[i] =
            (struct trial){.judge = j, .seed = i, .laws = tc_laws_new(laws, tc_plan_seed(i))};
    trials[0].degrees[0] = tc_ledger_new(j->single, laws);
    trials[0].degrees[1] = tc_ledger_new(j->parallel, laws);
    return trials;
}

static void drop_trials(struct judge *j, struct trial *trials)
{
    for (unsigned i = 0; i < j->config->most_seeds; i++)
        forget_laws(&trials[i]);
    tc_ledger_free(trials[0].degrees[0]);
    tc_ledger_free(trials[0].degrees[1]);
    tc_free(trials);
}

static enum tc_status evaluate(struct judge *j, struct tc_error *err)
{
    struct trial *trials = new_trials(j);
    struct tc_plan_verdict *v = j->verdict;
    enum tc_status status;

    status = run_trials(j, trials, 0, v->n_seeds, err);
    if (!status && !j->has_fault) {
        double bits = tc_ledger_bits(trials[0].degrees[0], trials[0].degrees[1]);
        unsigned first = v->n_seeds;
        v->n_seeds = evaluations(j, bits, first);
        if (v->n_seeds > first)
            status = run_trials(j, trials, first, v->n_seeds, err);
        v->error_bits = (unsigned)(bits * v->n_seeds);
    }
    if (!status && !j->has_fault)
        tc_judge_conclude(j);
    if (!status && !j->has_fault && v->outcome == TC_PLAN_VERIFIED)
        tc_judge_warn_choices(j, trials[0].degrees[1]);
    drop_trials(j, trials);
    return status;
}

/* ---- laws of exp and log ------------------------------------------------------------------- */

#define ORDERED_SEEDS 4 /* where each evaluation verifies the maxima that it chose */

static void forget(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;

    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        for (unsigned s = 0; s < v->n_seeds; s++) {
            tc_free(r->values[s]);
            r->values[s] = NULL;
        }
        memset(r->covered, 0, (size_t)r->n);
        r->ranks.n = 0;
        r->is_wrong = r->is_missing = r->is_set_apart = r->is_undefined = false;
    }
    v->findings.n = v->warnings.n = 0;
    v->n_wrong = v->n_verified = 0;
    j->has_fault = false;
}

/* From the start, by other laws. */
static enum tc_status evaluate_by(struct judge *j, enum tc_laws_mode laws, struct tc_error *err)
{
    const struct tc_verify_config *c = j->config;
    unsigned ordered = c->most_seeds < ORDERED_SEEDS ? c->most_seeds : ORDERED_SEEDS;

    forget(j);
    j->verdict->laws = laws;
    j->verdict->n_seeds = laws == TC_LAWS_ORDERED && ordered > c->seeds ? ordered : c->seeds;
    return evaluate(j, err);
}

/*
 * The job is not the single-device computation if exp and log are functions of which nothing is
 * known. By their laws it may be. A job that is verified by one of them is: each is sound. If none
 * does, the one stays by which the fewest results differ. Where all differ by all of them, it is
 * the first one with laws: what is right in a ring is known as such by these alone.
 */
static enum tc_status evaluate_by_laws(struct judge *j, struct tc_error *err)
{
    struct tc_plan_verdict *v = j->verdict;
    enum tc_laws_mode best = TC_LAWS_NONE, last = j->last_laws;
    uint64_t fewest = v->n_wrong;
    enum tc_status status = TC_OK;

    for (enum tc_laws_mode laws = TC_LAWS_FREE; laws <= last && !status; laws++) {
        status = evaluate_by(j, laws, err);
        if (!status && v->outcome == TC_PLAN_VERIFIED)
            return TC_OK;
        bool is_first = best == TC_LAWS_NONE && v->n_wrong == fewest;
        if (!j->has_fault && (v->n_wrong < fewest || is_first)) {
            best = laws;
            fewest = v->n_wrong;
        }
    }
    j->last_laws = best;
    return status || v->laws == best ? status : evaluate_by(j, best, err);
}

/* A result of no rank has no value to search by: what is found of others comes first. */
static void put_missing_last(struct tc_plan_verdict *v)
{
    struct tc_plan_finding *all = tc_malloc((v->findings.n + 1) * sizeof(*all));
    size_t n = 0;

    for (unsigned missing = 0; missing < 2; missing++)
        for (size_t i = 0; i < v->findings.n; i++)
            if ((strcmp(v->findings.items[i].kind, "missing-result") == 0) == (missing == 1))
                all[n++] = v->findings.items[i];
    for (size_t i = 0; i < n; i++)
        v->findings.items[i] = all[i];
    tc_free(all);
}

/* Where the job departs, and the change that would make it right. */
static enum tc_status explain(struct judge *j, struct tc_error *err)
{
    enum tc_status status = TC_OK;
    bool agrees = tc_judge_agrees_in_doubles(j);

    if (j->config->explain)
        status = tc_plan_explain(j->single, j->parallel, j->config, j->verdict, err);
    if (agrees)
        tc_judge_conclude_doubles(j);
    if (agrees || !j->config->explain)
        return status;
    if (!status)
        status = tc_plan_find_repair(j, tc_judge_last_laws(j), err);
    put_missing_last(j->verdict);
    if (!status)
        tc_judge_add_untrained(j);
    return status;
}

enum tc_status tc_plan_verify(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                              const struct tc_verify_config *config,
                              struct tc_plan_verdict *verdict, struct tc_error *err)
{
    struct judge j = {.single = single, .parallel = parallel, .config = config, .verdict = verdict};
    enum tc_status status;

    *verdict = (struct tc_plan_verdict){.n_seeds = config->seeds};
    if (single->world != 1)
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: the reference is the plan of one device, but its world has %u",
                            single->folder, single->world);
    pthread_mutex_init(&j.lock, NULL);
    status = prepare(&j, err);
    if (!status)
        status = tc_judge_check_names(&j, err);
    if (!status) {
        tc_judge_find_unknown(&j, false);
        j.last_laws = tc_judge_last_laws(&j);
        if (verdict->findings.n)
            verdict->outcome = TC_PLAN_UNJUDGED;
        else
            status = evaluate(&j, err);
    }
    if (!status && verdict->outcome == TC_PLAN_REFUTED && verdict->n_wrong)
        status = evaluate_by_laws(&j, err);
    if (!status && j.unknown && verdict->outcome != TC_PLAN_UNJUDGED)
        tc_judge_conclude_unknown(&j);
    if (!status && verdict->outcome == TC_PLAN_REFUTED && j.misread)
        tc_judge_add_misread(&j);
    if (!status && verdict->outcome == TC_PLAN_REFUTED && verdict->n_wrong)
        tc_judge_add_rounded(&j);
    if (!status && verdict->outcome == TC_PLAN_VERIFIED)
        tc_plan_warn_sizes(single, parallel, verdict);
    if (!status && verdict->outcome == TC_PLAN_REFUTED && verdict->n_wrong)
        status = explain(&j, err);
    pthread_mutex_destroy(&j.lock);
    return status;
}

void tc_plan_verdict_release(struct tc_plan_verdict *v)
{
    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        for (unsigned s = 0; s < v->n_seeds; s++)
            tc_free(r->values[s]);
        tc_free(r->values);
        tc_free(r->covered);
        tc_vec_release(&r->ranks);
    }
    tc_vec_release(&v->results);
    tc_vec_release(&v->findings);
    tc_vec_release(&v->warnings);
    tc_map_release(&v->by_name);
    tc_arena_release(&v->arena);
}
