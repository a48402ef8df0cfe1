/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.c - names and sizes must agree before anything is evaluated
 *
 * Each result of a rank must be a result of the single device, with the same whole size, and so
 * must each initial tensor. Contents that both plans hold, as token ids and masks, must be
 * equal. An error names the rank's file and line.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/judge.h"

static const char *text_of(const struct judge *j, tc_sym name)
{
    return tc_strtab_text(j->single->names, name);
}

/* An error at a line of the parallel plan. */
TC_PRINTF(5, 6)
static enum tc_status fail_at(const struct judge *j, const struct tc_plan_rank *rank, uint64_t line,
                              struct tc_error *err, const char *fmt, ...)
{
    char text[400];
    va_list args;

    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        *text = '\0';
    va_end(args);
    return tc_error_set(err, TC_E_FORMAT, "%s/%s:%llu: %s", j->parallel->folder, rank->file,
                        (unsigned long long)line, text);
}

static bool same_global(const struct tc_plan_place *a, const struct tc_plan_place *b)
{
    return a->n_global == b->n_global &&
           !memcmp(a->global, b->global, a->n_global * sizeof(*a->global));
}

static enum tc_status check_results(const struct judge *j, const struct tc_plan_rank *rank,
                                    struct tc_error *err)
{
    for (size_t i = 0; i < rank->results.n; i++) {
        const struct tc_plan_result *r = &rank->results.items[i];
        const struct tc_plan_judged *judged = tc_judged_of(j->verdict, r->name);
        int64_t numel = 1;
        for (uint32_t d = 0; d < r->place.n_global; d++)
            numel *= r->place.global[d];
        if (!judged && tc_judge_is_of_optimizer_alone(j, r->name))
            continue;
        if (!judged)
            return fail_at(j, rank, r->line, err, "the reference (%s) has no result '%s'",
                           j->single->folder, text_of(j, r->name));
        if (numel != judged->n)
            return fail_at(
                j, rank, r->line, err,
                "'%s' has %lld elements in all, but %lld in the reference (%s); are both "
                "plans of one model?",
                text_of(j, r->name), (long long)numel, (long long)judged->n, j->single->folder);
    }
    return TC_OK;
}

static const struct tc_plan_init *init_named(const struct tc_plan_rank *rank,
                                             const struct tc_map *inits, tc_sym name)
{
    uint64_t i;

    return tc_map_get(inits, name, &i) ? &rank->inits.items[i] : NULL;
}

/* Contents that both plans name must be the same: token ids, masks. */
static int64_t first_difference(const struct tc_plan_init *a, const struct tc_plan_init *single)
{
    int64_t *places = tc_malloc(((size_t)a->tensor.numel + 1) * sizeof(*places)), at = -1;

    tc_plan_places(&a->tensor, &a->place, places);
    for (int64_t i = 0; i < a->tensor.numel && at < 0; i++)
        if (places[i] >= 0 && !tc_el_same(a->data[i], single->data[places[i]]))
            at = i;
    tc_free(places);
    return at;
}

static enum tc_status check_init(const struct judge *j, const struct tc_plan_rank *rank,
                                 const struct tc_plan_init *init, const struct tc_plan_init *single,
                                 struct tc_error *err)
{
    const char *name = text_of(j, init->name);

    if (!single && (init->kind == TC_PLAN_STATE || tc_judge_is_of_optimizer_alone(j, init->name)))
        return TC_OK; /* drawn: a step that is right does without it */
    if (!single)
        return fail_at(j, rank, init->line, err,
                       "%s: no place in the single-device job is known; give --plan-layout to "
                       "traincheck-collect",
                       name);
    if (!same_global(&init->place, &single->place))
        return fail_at(j, rank, init->line, err,
                       "%s: its single-device sizes ('global') are others than in the reference",
                       name);
    if (init->data && single->data && single->tensor.numel) {
        int64_t at = first_difference(init, single);
        if (at >= 0)
            return fail_at(j, rank, init->line, err,
                           "%s: element %lld is not what the reference has there; do both runs "
                           "read the same batch?",
                           name, (long long)at);
    }
    return TC_OK;
}

enum tc_status tc_judge_check_names(const struct judge *j, struct tc_error *err)
{
    const struct tc_plan_rank *single = &j->single->ranks[0];
    struct tc_map inits = TC_MAP_INIT;
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < single->inits.n; i++)
        tc_map_put(&inits, single->inits.items[i].name, i);
    for (uint32_t r = 0; r < j->parallel->world && !status; r++) {
        const struct tc_plan_rank *rank = &j->parallel->ranks[r];
        status = check_results(j, rank, err);
        for (size_t i = 0; i < rank->inits.n && !status; i++)
            status = check_init(j, rank, &rank->inits.items[i],
                                init_named(single, &inits, rank->inits.items[i].name), err);
    }
    tc_map_release(&inits);
    return status;
}
