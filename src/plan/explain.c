/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - where a parallel job departs from the single-device job, and how
 *
 * From a result that is wrong, back through the operators that made it: to those whose value
 * relates to no single-device value while all their operands do. There the job departs.
 */
#include "plan/explain_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/eval.h"

#include "base/banned.h"

#define MAX_FINDINGS 5
#define MAX_TRIES    64

static bool is_told(struct tc_story *s, uint32_t op)
{
    for (size_t i = 0; i < s->n_told; i++)
        if (s->told[i] == op)
            return true;
    s->told[s->n_told++] = op;
    return false;
}

/* A parameter is wrong after the step because its gradient is. */
static bool follows_from_gradient(const struct tc_story *s, const struct tc_plan_judged *judged)
{
    const char *name = tc_strtab_text(s->single->names, judged->name);
    struct tc_strbuf grad = TC_STRBUF_INIT;
    uint64_t number = 0;

    tc_strbuf_addf(&grad, "%s.grad", name);
    tc_sym sym = tc_strtab_find(s->single->names, grad.text, grad.size);
    tc_strbuf_release(&grad);
    return sym != TC_NO_SYM && tc_map_get(&s->verdict->by_name, sym, &number) &&
           s->verdict->results.items[number].is_wrong;
}

/* A factor that comes from the same operators is told once. */
static void add_new(struct tc_story *s, struct tc_plan_finding f)
{
    for (size_t i = 0; i < s->verdict->findings.n; i++)
        if (!strcmp(f.kind, "factor") && *f.details &&
            !strcmp(s->verdict->findings.items[i].details, f.details))
            return;
    tc_vec_push(&s->verdict->findings, f);
}

static void tell(struct tc_story *s, size_t i, uint32_t writer)
{
    const struct tc_plan_result *result = &s->rank->results.items[i];
    const struct tc_plan_judged *judged = NULL;
    uint32_t partial = TC_NO_OP;
    uint64_t number;

    if (tc_map_get(&s->verdict->by_name, result->name, &number))
        judged = &s->verdict->results.items[number];
    if (!judged || follows_from_gradient(s, judged) || !tc_story_has_all(s, s->results[i]))
        return;
    struct tc_related r = tc_relate(&s->index, &s->grid, s->results[i], NULL);
    if (r.is_found && !r.is_zero && !tc_story_is_reversed(s, &r)) {
        struct tc_plan_finding f = tc_story_tell_related(s, judged, &r, writer);
        uint32_t key = (uint32_t)tc_hash64(f.src, strlen(f.src), r.num + 64 * r.den) | 1u << 31;
        if (!is_told(s, key))
            tc_vec_push(&s->verdict->findings, f);
        return;
    }
    if (writer == TC_NO_OP)
        return;
    uint32_t op = tc_story_departure(s, writer, &partial);
    if (op == TC_NO_OP)
        return;
    if (s->program->ops.items[op].rule->kind == TC_RULE_RECEIVE && !s->is_last)
        s->sender = tc_plan_peer(s->parallel, s->rank, &s->program->ops.items[op]);
    else if (!is_told(s, op))
        add_new(s, tc_story_tell_departure(s, judged, op, partial));
}

struct wrong {
    size_t result;
    uint32_t writer;
};

static int by_writer(const void *a_, const void *b_)
{
    const struct wrong *a = a_, *b = b_;

    return (a->writer > b->writer) - (a->writer < b->writer);
}

static size_t find_wrong(struct tc_story *s, struct wrong *list)
{
    size_t n = 0;
    uint64_t number;

    for (size_t i = 0; i < s->rank->results.n; i++) {
        const struct tc_plan_result *r = &s->rank->results.items[i];
        if (tc_map_get(&s->verdict->by_name, r->name, &number) &&
            s->verdict->results.items[number].is_wrong)
            list[n++] = (struct wrong){i, tc_story_writer(s, r)};
    }
    qsort(list, n, sizeof(*list), by_writer);
    return n;
}

/* The lowest rank on which something is wrong. */
static const struct tc_plan_rank *first_rank(const struct tc_story *s)
{
    uint32_t first = TC_NO_OP;

    for (size_t i = 0; i < s->verdict->results.n; i++) {
        const struct tc_plan_judged *r = &s->verdict->results.items[i];
        if (r->is_wrong && r->ranks.n && r->ranks.items[0] < first)
            first = r->ranks.items[0];
    }
    return first == TC_NO_OP ? NULL : &s->parallel->ranks[first];
}

static void warn(struct tc_story *s, const char *text)
{
    tc_vec_push(&s->verdict->warnings, text);
}

/* All findings about the family of one rank. */
static enum tc_status explain_family(struct tc_story *s, const struct tc_verify_config *config,
                                     struct tc_error *err)
{
    enum tc_status status = TC_OK;

    s->program = s->rank->program;
    if (!tc_story_find_family(s)) {
        warn(s,
             "the ranks run different programs on one tensor: where they depart is not searched");
        return TC_OK;
    }
    tc_story_find_deps(s);
    struct wrong *list = tc_arena_alloc(&s->arena, (s->rank->results.n + 1) * sizeof(*list));
    size_t n = find_wrong(s, list), shown = n < MAX_TRIES ? n : MAX_TRIES;
    s->told = tc_arena_alloc(&s->arena, (shown + 1) * sizeof(*s->told));
    s->results = tc_arena_zalloc(&s->arena, (s->rank->results.n + 1) * sizeof(*s->results));
    for (size_t i = 0; i < shown; i++) {
        s->results[list[i].result] = tc_calloc(s->grid.n, sizeof(**s->results));
        if (list[i].writer != TC_NO_OP)
            tc_story_want(s, list[i].writer);
    }
    if (!tc_story_make_room(s))
        warn(s, "too large to search where it departs: verify a smaller layout with the same bug");
    else
        status = tc_story_record(s, config, err);
    for (size_t i = 0; i < shown && !status && s->verdict->findings.n < MAX_FINDINGS; i++)
        tell(s, list[i].result, list[i].writer);
    return status;
}

/* Along a pipeline: if all that is wrong came with a message, to the rank that sent it. */
enum tc_status tc_plan_explain(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                               const struct tc_verify_config *config,
                               struct tc_plan_verdict *verdict, struct tc_error *err)
{
    struct tc_story first = {
        .single = single, .parallel = parallel, .verdict = verdict, .sender = -1};
    struct tc_map seen = TC_MAP_INIT;
    enum tc_status status = TC_OK;
    uint64_t known;

    first.rank = first_rank(&first);
    for (const struct tc_plan_rank *at = first.rank; at && !status;) {
        struct tc_story s = first;
        s.rank = at;
        s.is_last = tc_map_get(&seen, at->rank, &known);
        tc_map_put(&seen, at->rank, 1);
        status = explain_family(&s, config, err);
        tc_story_release(&s);
        bool goes_on = !verdict->findings.n && s.sender >= 0 && !s.is_last;
        at = goes_on ? &parallel->ranks[parallel->copies.of[s.sender]] : NULL;
    }
    tc_map_release(&seen);
    return status;
}
