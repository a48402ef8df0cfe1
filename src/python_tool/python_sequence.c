/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_sequence.c - FunctionCoverRelation and FunctionLeadRelation
 *
 * On each thread, calls of A and B by time. Cover: before each B an A of its own since the B before
 * it. Lead: after each A a B of its own before the next A; the last A is not judged. Only calls
 * that meet the precondition are judged, and only functions that never stand in long rows.
 */
#include "python_tool/python_rules.h"

#include <string.h>

/* A function with more of its records in a row is noise to the tool: recursion, mostly. */
#define MAX_ROW 4

/* Complete calls of one function on one thread. */
struct calls {
    TC_VEC(const struct tc_python_call *) items;
};

static void add_thread(const struct tc_python_function *function, int64_t process, int64_t thread,
                       struct calls *out)
{
    out->items.n = 0;
    for (size_t i = 0; function && i < function->calls.n; i++) {
        const struct tc_python_call *call = function->calls.items[i];
        if (call->has_post && call->pre.process == process && call->pre.thread == thread)
            tc_vec_push(&out->items, call);
    }
}

/* One pair of functions on one thread. */
struct pair {
    struct tc_python_judge *judge;
    struct tc_str a, b;
    struct calls calls_a, calls_b;
};

/* Is there an A, from *at on, that lies between two times? Those passed over are used up. */
static bool take_between(const struct calls *calls, size_t *at, int64_t after, int64_t before)
{
    while (*at < calls->items.n) {
        const struct tc_python_call *call = calls->items.items[*at];
        if (call->pre.time > before)
            return false;
        ++*at;
        if (call->pre.time > after && call->post.time <= before)
            return true;
    }
    return false;
}

static void say_other_order(const struct pair *pair, const struct tc_python_call *call,
                            const char *format)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const char *rest = format;

    for (const char *at; (at = strchr(rest, '@')); rest = at + 2) {
        struct tc_str name = at[1] == 'a' ? pair->a : pair->b;
        tc_strbuf_add(&text, rest, (size_t)(at - rest));
        tc_strbuf_add(&text, name.text, name.size);
    }
    tc_strbuf_adds(&text, rest);
    tc_python_broken(pair->judge, &call->pre, text.text);
    tc_strbuf_release(&text);
}

static void cover_thread(struct pair *pair)
{
    const struct tc_python_call *before = NULL;
    size_t at = 0;

    for (size_t i = 0; i < pair->calls_b.items.n; i++) {
        const struct tc_python_call *b = pair->calls_b.items.items[i];
        if (!tc_python_when_met(pair->judge->trace, &pair->judge->when, &b->pre))
            continue;
        if (before && b->pre.time <= before->post.time)
            say_other_order(pair, b, "@b was called inside a call of @b");
        else if (!take_between(&pair->calls_a, &at, before ? before->post.time : INT64_MIN,
                               b->pre.time))
            say_other_order(pair, b,
                            before ? "no call of @a since the call of @b before"
                                   : "no call of @a before the first call of @b");
        else
            tc_python_held(pair->judge, &b->pre);
        before = b;
    }
}

static void lead_thread(struct pair *pair)
{
    const struct tc_python_call *before = NULL;
    size_t at = 0;

    for (size_t i = 0; i < pair->calls_a.items.n; i++) {
        const struct tc_python_call *a = pair->calls_a.items.items[i];
        if (!tc_python_when_met(pair->judge->trace, &pair->judge->when, &a->pre))
            continue;
        if (before && a->pre.time <= before->post.time)
            say_other_order(pair, before, "@a was called inside a call of @a");
        else if (before && !take_between(&pair->calls_b, &at, before->post.time, a->pre.time))
            say_other_order(pair, before, "no call of @b between this call of @a and the next");
        else
            tc_python_held(pair->judge, &a->pre);
        before = a;
    }
}

/* A thread on which nothing of B ever stands beside A: nothing leads to anything. */
static void lead_without_follower(struct pair *pair)
{
    for (size_t i = 0; i < pair->calls_a.items.n; i++) {
        const struct tc_python_call *a = pair->calls_a.items.items[i];
        if (tc_python_when_met(pair->judge->trace, &pair->judge->when, &a->pre))
            say_other_order(pair, a,
                            "no call of @b on this thread that is not inside a call of @a");
    }
}

static bool stand_side_by_side(const struct pair *pair)
{
    const struct calls *a = &pair->calls_a, *b = &pair->calls_b;
    int64_t end_a = INT64_MAX, end_b = INT64_MAX;

    if (!a->items.n || !b->items.n)
        return false;
    for (size_t i = 0; i < a->items.n; i++)
        if (a->items.items[i]->post.time < end_a)
            end_a = a->items.items[i]->post.time;
    for (size_t i = 0; i < b->items.n; i++)
        if (b->items.items[i]->post.time < end_b)
            end_b = b->items.items[i]->post.time;
    return a->items.items[a->items.n - 1]->pre.time > end_b ||
           b->items.items[b->items.n - 1]->pre.time > end_a;
}

static void judge_thread(struct pair *pair, const struct tc_python_presence *thread, bool is_lead)
{
    struct tc_python_trace *trace = pair->judge->trace;
    struct tc_str judged = is_lead ? pair->a : pair->b;

    if (!tc_python_trace_has_neighbour(trace, thread->process, thread->thread, judged, MAX_ROW))
        return;
    add_thread(tc_python_trace_function(trace, pair->a), thread->process, thread->thread,
               &pair->calls_a);
    add_thread(tc_python_trace_function(trace, pair->b), thread->process, thread->thread,
               &pair->calls_b);
    if (!is_lead)
        cover_thread(pair);
    else if (stand_side_by_side(pair))
        lead_thread(pair);
    else
        lead_without_follower(pair);
}

static void judge_pair(struct tc_python_judge *judge, size_t i, bool is_lead)
{
    struct pair pair = {.judge = judge,
                        .a = tc_python_param(judge, i, "api_full_name"),
                        .b = tc_python_param(judge, i + 1, "api_full_name")};
    struct tc_str judged = is_lead ? pair.a : pair.b;
    const struct tc_python_trace *trace = judge->trace;

    if (tc_python_trace_in_a_row(trace, judged) > MAX_ROW)
        return;
    for (size_t j = 0; j < trace->presence.n; j++)
        if (trace->presence.items[j].function == tc_python_hash(judged))
            judge_thread(&pair, &trace->presence.items[j], is_lead);
    tc_vec_release(&pair.calls_a.items);
    tc_vec_release(&pair.calls_b.items);
}

static void judge_chain(struct tc_python_judge *judge, bool is_lead)
{
    for (uint32_t i = 0; i < judge->params->n; i++) {
        if (tc_python_param(judge, i, "api_full_name").text)
            continue;
        judge->unchecked = "its params are not calls";
        return;
    }
    for (uint32_t i = 0; i + 1 < judge->params->n; i++)
        judge_pair(judge, i, is_lead);
}

void tc_python_judge_cover(struct tc_python_judge *judge)
{
    judge_chain(judge, false);
}

void tc_python_judge_lead(struct tc_python_judge *judge)
{
    judge_chain(judge, true);
}
