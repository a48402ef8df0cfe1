/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempts.c - changes of a wrong job that are tried, and what each gives
 *
 * First come reductions and factors that one device does not have: without them, or over other
 * ranks. Then come changes at the sites that findings name: a reduction more or less, a factor,
 * another exchange. Then come changes of what ranks exchange or multiply by anywhere else. Each
 * is evaluated as a patched job, with results judged apart from the verdict that is explained.
 */
#include "plan/repair_state.h"

#include <string.h>

#include "plan/collective.h"
#include "plan/fill.h"
#include "plan/rules.h"
#include "plan/verify.h"

/* ---- what is tried ------------------------------------------------------------------------- */

static void add(struct tc_repair *r, uint32_t site, struct tc_patch patch)
{
    struct tc_attempt a = {.site = site, .patch = patch, .n_left = UINT32_MAX};

    tc_vec_push(&r->attempts, a);
}

static bool is_among(const struct tc_plan_op *op, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(op->rule->name, *names))
            return true;
    return false;
}

static bool takes_maximum(const struct tc_plan_op *op)
{
    static const char *const names[] = {"aten.max", "aten.amax", "aten.maximum", NULL};

    return is_among(op, names);
}

/* What may be there once too often. */
static bool may_be_left_out(const struct tc_plan_op *op)
{
    static const char *const names[] = {"aten.add",
                                        "aten.sub",
                                        "aten.mul",
                                        "aten.div",
                                        "c10d.allreduce_",
                                        "_c10d_functional.all_reduce",
                                        "_c10d_functional_autograd.all_reduce",
                                        NULL};

    return is_among(op, names);
}

static void add_reductions(struct tc_repair *r, uint32_t site, const struct tc_plan_op *op,
                           uint32_t out)
{
    bool is_maximum = r->laws != TC_LAWS_NONE && takes_maximum(op);

    for (size_t a = 0; a < r->axes.n; a++) {
        tc_sym axis = r->axes.items[a];
        if (!tc_repair_varies(r, &r->sites.items[site], out, axis))
            continue;
        if (is_maximum)
            add(r, site, (struct tc_patch){TC_PATCH_MAX, axis, 1, 1, 0, out});
        add(r, site, (struct tc_patch){TC_PATCH_SUM, axis, 1, 1, 0, out});
    }
}

static uint32_t size_of(const struct tc_plan_set *set, tc_sym axis)
{
    for (uint32_t k = 0; k < set->world; k++)
        for (size_t a = 0; a < set->ranks[k].mesh.n; a++)
            if (set->ranks[k].mesh.items[a].name == axis)
                return set->groups.items[set->ranks[k].mesh.items[a].group].n;
    return 1;
}

/* Numbers of ranks, and a sign. */
static void add_factors(struct tc_repair *r, uint32_t site, uint32_t out)
{
    uint32_t tried[64];
    size_t n = 0;

    add(r, site, (struct tc_patch){TC_PATCH_SCALE, TC_NO_SYM, -1, 1, 0, out});
    for (size_t a = 0; a < r->axes.n && n < 64; a++) {
        uint32_t size = size_of(r->judge->parallel, r->axes.items[a]);
        size_t k = 0;
        while (k < n && tried[k] != size)
            k++;
        if (k < n || size < 2)
            continue;
        tried[n++] = size;
        add(r, site, (struct tc_patch){TC_PATCH_SCALE, TC_NO_SYM, 1, size, 0, out});
        add(r, site, (struct tc_patch){TC_PATCH_SCALE, TC_NO_SYM, size, 1, 0, out});
    }
}

/* What ranks exchange there. */
static void add_exchanges(struct tc_repair *r, uint32_t site, const struct tc_plan_op *op)
{
    bool is_collective = op->rule->kind == TC_RULE_COLLECTIVE;

    for (size_t a = 0; a < r->axes.n && is_collective; a++)
        add(r, site, (struct tc_patch){TC_PATCH_GROUP, r->axes.items[a], 1, 1, 0, 0});
    if (is_collective && may_be_left_out(op))
        add(r, site, (struct tc_patch){TC_PATCH_LEFT_OUT, TC_NO_SYM, 1, 1, 0, 0});
    for (uint32_t k = 0; k < op->n_outs && k < TC_REPAIR_OUTS; k++)
        if (op->outs[k])
            add_reductions(r, site, op, k);
}

static void add_others(struct tc_repair *r, uint32_t site, const struct tc_plan_op *op)
{
    for (uint32_t k = 0; k < op->n_outs && k < TC_REPAIR_OUTS; k++)
        if (op->outs[k])
            add_factors(r, site, k);
    if (op->rule->kind != TC_RULE_COLLECTIVE && may_be_left_out(op))
        for (uint32_t k = 0; k < op->n_reads && k < 2; k++)
            add(r, site, (struct tc_patch){TC_PATCH_LEFT_OUT, TC_NO_SYM, 1, 1, k, 0});
    add(r, site, (struct tc_patch){TC_PATCH_REVERSED, TC_NO_SYM, 1, 1, 0, 0});
}

/* What one device does not run, and may be there once too often, or over the wrong ranks. */
static void add_surplus(struct tc_repair *r, uint32_t site, const struct tc_plan_op *op)
{
    if (!may_be_left_out(op) || tc_repair_is_run_by_single(r, op))
        return;
    for (uint32_t k = 0; k < op->n_reads && k < 2; k++)
        if (!k || op->rule->kind != TC_RULE_COLLECTIVE)
            add(r, site, (struct tc_patch){TC_PATCH_LEFT_OUT, TC_NO_SYM, 1, 1, k, 0});
    for (size_t a = 0; a < r->axes.n && op->rule->kind == TC_RULE_COLLECTIVE; a++)
        add(r, site, (struct tc_patch){TC_PATCH_GROUP, r->axes.items[a], 1, 1, 0, 0});
}

static void list(struct tc_repair *r, uint32_t from, uint32_t to,
                 void (*add_of)(struct tc_repair *r, uint32_t site, const struct tc_plan_op *op))
{
    for (uint32_t i = from; i < to; i++) {
        const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[i]);
        if (op && op->rule->kind != TC_RULE_SKIP && op->rule->kind != TC_RULE_SEND)
            add_of(r, i, op);
    }
}

void tc_repair_list_attempts(struct tc_repair *r)
{
    uint32_t n = r->is_open ? (uint32_t)r->sites.n : r->n_named;

    list(r, 0, (uint32_t)r->sites.n, add_surplus);
    list(r, 0, r->n_named, add_exchanges);
    list(r, 0, r->n_named, add_others);
    list(r, r->n_named, n, add_exchanges);
    list(r, r->n_named, n, add_others);
}

/* ---- one of them --------------------------------------------------------------------------- */

static tc_el *copy_of(const tc_el *values, int64_t n)
{
    tc_el *copy = tc_malloc(((size_t)n + 1) * sizeof(*copy));

    memcpy(copy, values, (size_t)n * sizeof(*copy));
    return copy;
}

/* The results of the verdict, to be judged anew. */
static struct tc_plan_verdict blank(const struct tc_repair *r)
{
    const struct tc_plan_verdict *from = r->judge->verdict;
    struct tc_plan_verdict v = {.n_seeds = r->n_seeds};

    for (size_t i = 0; i < from->results.n; i++) {
        struct tc_plan_judged judged = {.name = from->results.items[i].name,
                                        .n = from->results.items[i].n};
        judged.values = tc_calloc(r->n_seeds, sizeof(*judged.values));
        if (r->laws == TC_LAWS_NONE) /* the reference is known */
            judged.values[0] = copy_of(from->results.items[i].values[0], judged.n);
        judged.covered = tc_calloc((size_t)judged.n + 1, 1);
        tc_map_put(&v.by_name, judged.name, v.results.n);
        tc_vec_push(&v.results, judged);
    }
    return v;
}

/* False if the job cannot be evaluated so. */
static bool evaluate(struct judge *j, unsigned seed, enum tc_laws_mode mode)
{
    struct tc_laws *laws = tc_laws_new(mode, tc_plan_seed(seed));
    struct trial t = {.judge = j, .seed = seed, .laws = laws};
    struct tc_world_watch watch = {.done = tc_trial_take_reference, .laws = laws, .context = &t};

    if (!j->verdict->results.items[0].values[seed])
        t.status = tc_world_run(j->single, tc_plan_seed(seed), 1, &watch, &t.fault, &t.err);
    watch.done = tc_trial_take_results;
    if (!t.status)
        t.status = tc_world_run(j->parallel, tc_plan_seed(seed), 1, &watch, &t.fault, &t.err);
    tc_trial_compare_sums(&t);
    tc_laws_free(laws);
    return !t.status;
}

static void count_mended(struct tc_attempt *a, const struct tc_plan_verdict *before,
                         const struct tc_plan_verdict *after)
{
    a->n_mended = a->n_left = a->n_broken = 0;
    for (size_t i = 0; i < before->results.n; i++) {
        const struct tc_plan_judged *was = &before->results.items[i],
                                    *is = &after->results.items[i];
        if (was->is_set_apart)
            continue;
        a->n_mended += was->is_wrong && !is->is_wrong;
        a->n_left += was->is_wrong && is->is_wrong;
        a->n_broken += !was->is_wrong && is->is_wrong;
    }
}

void tc_repair_try(struct tc_repair *r, struct tc_attempt *a)
{
    struct tc_plan_set *patched =
        tc_patched_new(r->judge->parallel, &r->sites.items[a->site], r->suspects, &a->patch);

    if (!patched)
        return;
    struct tc_plan_verdict v = blank(r);
    struct judge j = {
        .single = r->judge->single, .parallel = patched, .config = r->judge->config, .verdict = &v};
    bool goes_on = true;
    pthread_mutex_init(&j.lock, NULL);
    for (unsigned seed = 0; seed < r->n_seeds && goes_on; seed++) {
        bool is_done = evaluate(&j, seed, r->laws);
        if (is_done)
            count_mended(a, r->judge->verdict, &v);
        else
            a->n_mended = 0;
        goes_on = is_done && a->n_mended && !a->n_broken;
    }
    pthread_mutex_destroy(&j.lock);
    tc_plan_verdict_release(&v);
    tc_patched_free(patched);
}
