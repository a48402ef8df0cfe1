/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explanation.c - where a parallel job departs from the single-device job, and how
 *
 * From a result that is wrong, back through the operators that made it: to those whose value
 * relates to no single-device value while all their operands do. There the job departs.
 */
#include "plan/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/explain_state.h"
#include "plan/rules.h"

#define MAX_FINDINGS 5
#define MAX_TRIES    64

static bool is_op_told(struct tc_story *s, uint32_t op)
{
    for (size_t i = 0; i < s->n_told; i++)
        if (s->told[i] == op)
            return true;
    s->told[s->n_told++] = op;
    return false;
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

/* A result that changes later is a copy. */
static uint32_t copied_from(const struct tc_story *s, uint32_t writer)
{
    bool is_copy = !strncmp(s->program->ops.items[writer].name, "aten.clone", 10);

    return is_copy && s->nodes[writer].n_deps ? s->nodes[writer].deps[0] : writer;
}

/* A gradient that is a sum over ranks until the optimizer's step sums it is no fault: the parameter
 * tells. */
static bool is_told_by_parameter(struct tc_story *s, const struct tc_plan_result *result,
                                 const struct tc_related *r, uint32_t writer)
{
    return tc_relate_is_partial(r, &s->grid) && writer != TC_NO_OP &&
           tc_story_is_reduced_later(s, result, copied_from(s, writer));
}

/* ---- along messages ------------------------------------------------------------------------ */

/* Messages that rank `from` sends to or receives from another one, before an operator. */
static uint32_t count_messages(const struct tc_story *s, enum tc_rule_kind kind, int64_t peer,
                               uint32_t op)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op; i++)
        n += s->program->ops.items[i].rule->kind == kind &&
             tc_plan_peer(s->parallel, s->rank, &s->program->ops.items[i]) == peer;
    return n;
}

/* What is wrong came with a message: the rank that sent it is looked at next. */
static bool came_with_message(struct tc_story *s, const struct tc_plan_judged *judged, uint32_t op)
{
    if (op == TC_NO_OP || s->is_last || s->program->ops.items[op].rule->kind != TC_RULE_RECEIVE)
        return false;
    s->sender = tc_plan_peer(s->parallel, s->rank, &s->program->ops.items[op]);
    s->message = count_messages(s, TC_RULE_RECEIVE, s->sender, op);
    s->wrong = judged;
    return true;
}

/* The operator that sends a message to another rank. */
static uint32_t find_sent(const struct tc_story *s, const struct tc_story *receiver)
{
    for (uint32_t i = 0; i < s->program->ops.n; i++)
        if (s->program->ops.items[i].rule->kind == TC_RULE_SEND &&
            tc_plan_peer(s->parallel, s->rank, &s->program->ops.items[i]) ==
                (int64_t)receiver->rank->rank &&
            count_messages(s, TC_RULE_SEND, receiver->rank->rank, i) == receiver->message)
            return i;
    return TC_NO_OP;
}

/* ---- one wrong value ----------------------------------------------------------------------- */

/* The operator is a part of a sum that lacks something, or does not treat all alike. */
static bool tell_terms(struct tc_story *s, const struct tc_plan_judged *judged, uint32_t op)
{
    struct tc_unlike unlike;
    struct tc_lacking lacking;

    if (tc_story_find_unlike(s, op, &unlike)) {
        if (!is_op_told(s, unlike.at))
            add_new(s, tc_story_tell_terms(s, judged, &unlike));
        return true;
    }
    if (!tc_story_lacks_terms(s, op, &lacking))
        return false;
    if (!is_op_told(s, lacking.top))
        add_new(s, tc_story_tell_lacking(s, judged, &lacking));
    return true;
}

static bool tell_idle(struct tc_story *s, const struct tc_plan_judged *judged, uint32_t op)
{
    struct tc_idle idle;

    if (!tc_story_find_idle(s, op, &idle))
        return false;
    if (!is_op_told(s, idle.reader))
        add_new(s, tc_story_tell_idle(s, judged, &idle));
    return true;
}

static void tell_departure(struct tc_story *s, const struct tc_plan_judged *judged, uint32_t start)
{
    uint32_t partial = TC_NO_OP, op = tc_story_departure(s, start, &partial);

    if (op == TC_NO_OP || came_with_message(s, judged, op))
        return;
    if (partial == TC_NO_OP && (tell_terms(s, judged, op) || tell_idle(s, judged, op)))
        return;
    for (uint32_t k = 0; k < s->nodes[op].n_deps && partial == TC_NO_OP; k++)
        if (tc_story_is_short(s, op, s->nodes[op].deps[k]) &&
            came_with_message(s, judged, s->nodes[op].deps[k]))
            return;
    uint32_t odd = partial == TC_NO_OP ? tc_story_odd_operand(s, op) : TC_NO_OP;
    if (odd != TC_NO_OP && came_with_message(s, judged, odd))
        return;
    if (!is_op_told(s, op))
        add_new(s, tc_story_tell_departure(s, judged, op, partial));
}

/* The value is a single-device value in another relation than it must be. */
static void tell_related(struct tc_story *s, const struct tc_plan_judged *judged,
                         const struct tc_related *r, uint32_t writer)
{
    struct tc_plan_finding f = tc_story_tell_related(s, judged, r, writer);
    if (writer != TC_NO_OP && r->num != r->den && !tc_relate_is_partial(r, &s->grid) &&
        came_with_message(s, judged, tc_story_factor_origin(s, writer, r))) {
        s->received = f;
        return;
    }
    uint32_t key = (uint32_t)tc_hash64(f.src, strlen(f.src), r->num + 64 * r->den) | 1u << 31;
    if (!is_op_told(s, key))
        tc_vec_push(&s->verdict->findings, f);
}

static void tell_result(struct tc_story *s, size_t i, uint32_t writer)
{
    const struct tc_plan_result *result = &s->rank->results.items[i];
    const struct tc_plan_judged *judged = NULL;
    uint64_t number;

    if (tc_map_get(&s->verdict->by_name, result->name, &number))
        judged = &s->verdict->results.items[number];
    if (!judged ||
        (!s->is_after_step && tc_plan_follows_from_gradient(s->verdict, s->single, judged)) ||
        !tc_story_has_all(s, s->results[i]))
        return;
    struct tc_related r = tc_relate(&s->index, &s->grid, s->results[i], NULL);
    if (is_told_by_parameter(s, result, &r, writer))
        s->is_after_step = true;
    else if (r.is_found && !r.is_zero && !tc_story_is_reversed(s, &r))
        tell_related(s, judged, &r, writer);
    else if (writer != TC_NO_OP)
        tell_departure(s, judged, writer);
}

/* If the sender runs nothing that one device does not, its factor may be right, and what is left
 * out is a division after it: that is said where it arrived, with the line that has it. */
static void tell_sent_multiple(struct tc_story *s, const struct tc_related *r, uint32_t made)
{
    uint32_t origin = tc_story_factor_origin(s, made, r);
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (s->received.text && tc_story_is_in_single(s, origin)) {
        const struct tc_plan_op *op = &s->program->ops.items[origin];
        struct tc_str line = tc_plan_line_of(op);
        tc_strbuf_addf(&text, "%s; rank %u, which sent it, has it of %.*s (%.*s)", s->received.text,
                       s->rank->rank, tc_plan_short_name(op), op->name, (int)line.size, line.text);
        s->received.text = tc_plan_keep(s->verdict, &text);
        tc_vec_push(&s->verdict->findings, s->received);
    } else
        tell_related(s, s->wrong, r, made);
}

/* What was sent is no single-device value, a multiple of one, or lacks a part. */
static void tell_sent(struct tc_story *s)
{
    const struct tc_story_node *node = s->sent == TC_NO_OP ? NULL : &s->nodes[s->sent];

    if (!node || !node->n_deps)
        return;
    uint32_t made = node->deps[0], user = TC_NO_OP;
    const struct tc_related *r = tc_story_relation(s, made);
    uint32_t missing = r->is_found ? tc_story_left_out(s, s->sent, &user) : TC_NO_OP;
    if (missing != TC_NO_OP)
        add_new(s, tc_story_tell_left_out(s, s->wrong, s->sent, missing, user));
    else if (r->is_found && !r->is_zero && r->num != r->den)
        tell_sent_multiple(s, r, made);
    else if (!r->is_found)
        tell_departure(s, s->wrong, made);
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

    if (!tc_story_find_family(s)) {
        warn(s,
             "the ranks run different programs on one tensor: where they depart is not searched");
        return TC_OK;
    }
    tc_story_find_deps(s);
    struct wrong *list = tc_arena_alloc(&s->arena, (s->rank->results.n + 1) * sizeof(*list));
    size_t n = find_wrong(s, list), shown = n < MAX_TRIES ? n : MAX_TRIES;
    s->told = tc_arena_alloc(&s->arena, (shown + 2) * sizeof(*s->told));
    s->results = tc_arena_zalloc(&s->arena, (s->rank->results.n + 1) * sizeof(*s->results));
    for (size_t i = 0; i < shown; i++) {
        s->results[list[i].result] = tc_calloc(s->grid.n, sizeof(**s->results));
        if (list[i].writer != TC_NO_OP)
            tc_story_want(s, list[i].writer);
    }
    if (s->sent != TC_NO_OP)
        tc_story_want(s, s->sent);
    if (!tc_story_make_room(s))
        warn(s, "too large to search where it departs: verify a smaller layout with the same bug");
    else
        status = tc_story_record(s, config, err);
    if (!status)
        tell_sent(s);
    for (size_t i = 0; i < shown && !status && s->verdict->findings.n < MAX_FINDINGS; i++)
        tell_result(s, list[i].result, list[i].writer);
    return status;
}

/* Along a pipeline: if all that is wrong came with a message, to the rank that sent it. */
enum tc_status tc_plan_explain(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                               const struct tc_verify_config *config,
                               struct tc_plan_verdict *verdict, struct tc_error *err)
{
    struct tc_story first = {
        .single = single, .parallel = parallel, .verdict = verdict, .sender = -1, .sent = TC_NO_OP};
    struct tc_story receiver = {0};
    struct tc_map seen = TC_MAP_INIT;
    enum tc_status status = TC_OK;
    uint64_t known;

    first.rank = first_rank(&first);
    for (const struct tc_plan_rank *at = first.rank; at && !status;) {
        struct tc_story s = first;
        s.rank = at;
        s.program = at->program;
        s.wrong = receiver.wrong;
        s.received = receiver.received;
        if (receiver.rank)
            s.sent = find_sent(&s, &receiver);
        s.is_last = tc_map_get(&seen, at->rank, &known);
        tc_map_put(&seen, at->rank, 1);
        status = explain_family(&s, config, err);
        tc_story_release(&s);
        receiver = s;
        bool goes_on = !verdict->findings.n && s.sender >= 0 && !s.is_last;
        at = goes_on ? &parallel->ranks[parallel->copies.of[s.sender]] : NULL;
    }
    tc_map_release(&seen);
    return status;
}
