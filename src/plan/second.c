/* SPDX-License-Identifier: Apache-2.0 */
/*
 * second.c - a second opinion on a job that is refuted: both sides in float64
 *
 * In the field functions are hashes but for the laws that are known, so a job that is right by
 * another law is refuted. Doubles know all laws, and prove nothing: what goes wrong in a rare case
 * alone looks right. The commonest is a norm that is not clipped: what is clamped is bent. So a job
 * that is refuted, and whose results are those of one device on each input that is drawn here, is
 * unjudged. It is never verified.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/judge.h"
#include "plan/verify.h"

/* How far from 0 what the step starts from may lie: norms below and above what they are clipped to,
 * exponentials that are alike and that are not. */
static const double spreads[] = {0.5, 0.05, 3};

enum opinion {
    DEPARTS,
    AGREES,
    HAS_NONE, /* some value is no number: too large, the root of a negative one */
};

/* The results of the verdict, to be judged anew. */
static struct tc_plan_verdict blank(const struct tc_plan_verdict *from)
{
    struct tc_plan_verdict v = {.n_seeds = 1};

    for (size_t i = 0; i < from->results.n; i++) {
        struct tc_plan_judged judged = {.name = from->results.items[i].name,
                                        .n = from->results.items[i].n};
        judged.values = tc_calloc(1, sizeof(*judged.values));
        judged.covered = tc_calloc((size_t)judged.n + 1, 1);
        tc_map_put(&v.by_name, judged.name, v.results.n);
        tc_vec_push(&v.results, judged);
    }
    return v;
}

static bool evaluate(struct judge *j, double spread)
{
    struct tc_laws *laws = tc_laws_new_doubles(TC_LAWS_BENT, spread);
    struct trial t = {.judge = j, .laws = laws};
    struct tc_world_watch watch = {.done = tc_trial_take_reference, .laws = laws, .context = &t};

    t.status = tc_world_run(j->single, tc_plan_seed(0), 1, &watch, &t.fault, &t.err);
    watch.done = tc_trial_take_results;
    if (!t.status)
        t.status = tc_world_run(j->parallel, tc_plan_seed(0), j->config->threads, &watch, &t.fault,
                                &t.err);
    tc_trial_compare_sums(&t);
    tc_laws_free(laws);
    return !t.status;
}

static enum opinion opinion_of(const struct tc_plan_verdict *asked,
                               const struct tc_plan_verdict *before)
{
    enum opinion found = AGREES;

    for (size_t i = 0; i < asked->results.n; i++) {
        const struct tc_plan_judged *r = &asked->results.items[i];
        if (!r->is_wrong || before->results.items[i].is_set_apart)
            continue;
        if (!r->is_undefined)
            return DEPARTS;
        found = HAS_NONE;
    }
    return found;
}

static enum opinion ask(const struct judge *judge, double spread)
{
    struct tc_plan_verdict v = blank(judge->verdict);
    struct judge j = {.single = judge->single,
                      .parallel = judge->parallel,
                      .config = judge->config,
                      .verdict = &v};
    enum opinion found;

    pthread_mutex_init(&j.lock, NULL);
    found = evaluate(&j, spread) ? opinion_of(&v, judge->verdict) : DEPARTS;
    pthread_mutex_destroy(&j.lock);
    tc_plan_verdict_release(&v);
    return found;
}

bool tc_judge_agrees_in_doubles(const struct judge *j)
{
    const struct tc_plan_verdict *v = j->verdict;
    bool agrees = false;

    for (size_t i = 0; i < v->results.n; i++)
        if (v->results.items[i].is_missing)
            return false;
    for (size_t i = 0; i < sizeof(spreads) / sizeof(*spreads); i++) {
        enum opinion found = ask(j, spreads[i]);
        if (found == DEPARTS)
            return false;
        agrees = agrees || found == AGREES;
    }
    return agrees;
}

void tc_judge_conclude_doubles(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;
    struct tc_plan_finding first = {.text = "results differ"};
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (v->findings.n)
        first = v->findings.items[0];
    tc_strbuf_addf(
        &text,
        "%s. But in float64 all results are those of one device, on %zu inputs that were "
        "drawn: a law of functions that is not known here, or a rare case",
        first.text, sizeof(spreads) / sizeof(*spreads));
    first.kind = "agrees-in-float64";
    first.text = tc_plan_keep(v, &text);
    v->outcome = TC_PLAN_UNJUDGED;
    v->findings.n = 0;
    tc_vec_push(&v->findings, first);
}
