/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - results of ranks beside those of the reference
 *
 * A result is compared with its block of the reference, up to the first difference. Partial
 * results are added up over ranks before that. Ranks report from several threads, under the
 * judge's lock.
 */
#include <string.h>

#include "base/hash.h"
#include "plan/eval.h"
#include "plan/fill.h"
#include "plan/judge.h"

/* Values that are summed over ranks before they are compared. */
struct sum {
    tc_sym name;
    uint32_t rank; /* the first that was seen */
    int64_t n, *places;
    tc_el *values;
};

struct tc_plan_judged *tc_judged_of(const struct tc_plan_verdict *v, tc_sym name)
{
    uint64_t i;

    return tc_map_get(&v->by_name, name, &i) ? &v->results.items[i] : NULL;
}

void tc_trial_take_reference(void *context, const struct tc_run *run)
{
    struct trial *t = context;

    for (size_t i = 0; i < run->plan->results.n; i++) {
        const struct tc_plan_result *r = &run->plan->results.items[i];
        struct tc_plan_judged *judged = tc_judged_of(t->judge->verdict, r->name);
        if (judged->values[t->seed])
            continue;
        tc_el *values = tc_malloc(((size_t)r->tensor.numel + 1) * sizeof(*values));
        tc_view_gather(run->slots[r->tensor.storage], &r->tensor, values);
        judged->values[t->seed] = values;
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

/* The rank and its copies. */
static void add_rank(struct tc_plan_judged *judged, uint32_t rank, const uint32_t *next)
{
    for (size_t i = 0; i < judged->ranks.n; i++)
        if (judged->ranks.items[i] == rank)
            return;
    for (; rank != TC_PLAN_NO_RANK; rank = next[rank])
        tc_vec_push(&judged->ranks, rank);
}

/* The first difference is enough. */
static void compare(struct trial *t, struct tc_plan_judged *judged, uint32_t rank,
                    const tc_el *values, const int64_t *places, int64_t n)
{
    const tc_el *reference = judged->values[t->seed];
    bool differs = false, undefined = false;

    for (int64_t i = 0; i < n && !differs; i++)
        if (places[i] >= 0 && !tc_el_agree(values[i], reference[places[i]])) {
            differs = true;
            undefined = tc_el_is_undefined(values[i]) && !tc_el_is_undefined(reference[places[i]]);
        }
    for (int64_t i = 0; i < n && !differs && !undefined; i++)
        undefined = places[i] >= 0 && tc_el_is_undefined(values[i]);
    pthread_mutex_lock(&t->judge->lock);
    if (differs || undefined) {
        judged->is_wrong = true;
        judged->is_undefined = judged->is_undefined || undefined;
        add_rank(judged, rank, t->judge->parallel->copies.next);
    }
    for (int64_t i = 0; i < n && t->seed == 0; i++)
        if (places[i] >= 0)
            judged->covered[places[i]] = 1;
    pthread_mutex_unlock(&t->judge->lock);
}

/* Equal for ranks that differ in partial axes only. */
static uint64_t sum_key(const struct tc_plan_set *set, const struct tc_plan_rank *rank,
                        const struct tc_plan_result *r)
{
    uint64_t key = tc_hash_mix(1, r->name, r->n_partial);

    for (size_t i = 0; i < rank->mesh.n; i++) {
        const struct tc_plan_axis *axis = &rank->mesh.items[i];
        bool is_partial = axis->is_joined;
        for (uint32_t k = 0; k < r->n_partial; k++)
            is_partial = is_partial || r->partial[k] == axis->name;
        if (!is_partial)
            key = tc_hash_mix(
                key, axis->name,
                (uint64_t)tc_plan_group_index(&set->groups.items[axis->group], rank->rank));
    }
    return key;
}

static void add_to_sum(struct trial *t, const struct tc_plan_rank *rank,
                       const struct tc_plan_result *r, const tc_el *values, const int64_t *places)
{
    size_t n = (size_t)r->tensor.numel;
    struct sum *sum = tc_map_struct(&t->sums, sum_key(t->judge->parallel, rank, r), sizeof(*sum));

    if (!sum->values) {
        *sum =
            (struct sum){r->name, rank->rank, r->tensor.numel, tc_malloc((n + 1) * sizeof(*places)),
                         tc_malloc((n + 1) * sizeof(*values))};
        memcpy(sum->values, values, n * sizeof(*values));
        memcpy(sum->places, places, n * sizeof(*places));
        return;
    }
    for (int64_t i = 0; i < sum->n && i < r->tensor.numel; i++)
        sum->values[i] = tc_el_add(sum->values[i], values[i]);
}

/* Copies of a rank add what it adds. */
static void add_to_sums(struct trial *t, const struct tc_plan_rank *rank,
                        const struct tc_plan_result *r, const tc_el *values, const int64_t *places)
{
    const struct tc_plan_set *set = t->judge->parallel;

    pthread_mutex_lock(&t->judge->lock);
    for (uint32_t x = rank->rank; x != TC_PLAN_NO_RANK; x = set->copies.next[x])
        add_to_sum(t, &set->ranks[x], r, values, places);
    pthread_mutex_unlock(&t->judge->lock);
}

static void count_done(struct trial *t, const struct tc_plan_set *set,
                       const struct tc_plan_rank *rank)
{
    for (uint32_t x = rank->rank; x != TC_PLAN_NO_RANK; x = set->copies.next[x])
        atomic_fetch_add(&t->judge->done, rank->program->ops.n);
}

void tc_trial_take_results(void *context, const struct tc_run *run)
{
    struct trial *t = context;

    for (size_t i = 0; i < run->plan->results.n; i++) {
        const struct tc_plan_result *r = &run->plan->results.items[i];
        struct tc_plan_judged *judged = tc_judged_of(t->judge->verdict, r->name);
        size_t n = (size_t)r->tensor.numel;
        if (!judged)
            continue; /* told apart from the values */
        tc_el *values = tc_malloc((n + 1) * sizeof(*values));
        int64_t *places = tc_malloc((n + 1) * sizeof(*places));
        tc_view_gather(run->slots[r->tensor.storage], &r->tensor, values);
        tc_plan_places(&r->tensor, &r->place, places);
        if (r->n_partial)
            add_to_sums(t, run->plan, r, values, places);
        else
            compare(t, judged, run->plan->rank, values, places, (int64_t)n);
        tc_free(values);
        tc_free(places);
    }
    count_done(t, t->judge->parallel, run->plan);
}

void tc_trial_compare_sums(struct trial *t)
{
    struct sum *sum;

    for (size_t pos = 0; (sum = tc_map_next(&t->sums, &pos));) {
        if (!t->status)
            compare(t, tc_judged_of(t->judge->verdict, sum->name), sum->rank, sum->values,
                    sum->places, sum->n);
        tc_free(sum->values);
        tc_free(sum->places);
        tc_free(sum);
    }
    tc_map_release(&t->sums);
}
