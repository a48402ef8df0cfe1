/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.c - messages that arrive and are read by nothing
 *
 * Round a ring each rank sends its block on and computes with the one that arrives. Where what
 * arrives is passed on and nothing else, the ranks compute with their own block each time. Where
 * one of several messages of a line is not read, what was to be added to it is lost.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "plan/rules.h"

#define MAX_EXCHANGES 4096

/* One message out and one in, of the same turn in a run of messages. */
struct exchange {
    uint32_t send, receive, turn;
};

struct exchanges {
    struct exchange items[MAX_EXCHANGES];
    uint32_t n;
};

static enum tc_rule_kind kind_of(const struct tc_story *s, uint32_t op)
{
    return s->program->ops.items[op].rule->kind;
}

/* Pairs the messages of one run. */
static void pair(const struct tc_story *s, uint32_t from, uint32_t to, struct exchanges *all)
{
    uint32_t receive = from, turn = 0;

    for (uint32_t i = from; i < to && all->n < MAX_EXCHANGES; i++) {
        if (kind_of(s, i) != TC_RULE_SEND)
            continue;
        while (receive < to && kind_of(s, receive) != TC_RULE_RECEIVE)
            receive++;
        if (receive == to)
            return;
        all->items[all->n++] = (struct exchange){i, receive++, turn++};
    }
}

static void find_exchanges(const struct tc_story *s, struct exchanges *all)
{
    uint32_t n = (uint32_t)s->program->ops.n, to;

    for (uint32_t from = 0; from < n; from = to + 1) {
        for (to = from;
             to < n && (kind_of(s, to) == TC_RULE_SEND || kind_of(s, to) == TC_RULE_RECEIVE ||
                        kind_of(s, to) == TC_RULE_SKIP);)
            to++;
        pair(s, from, to, all);
    }
}

/* The first operator after `from` that reads a value and does not send it; with a node, one of that
 * node. TC_NO_OP: none. */
static uint32_t reader_of(const struct tc_story *s, uint32_t value, uint32_t from, const char *node)
{
    for (uint32_t i = from; i < s->program->ops.n; i++)
        for (uint32_t k = 0; k < s->nodes[i].n_deps; k++)
            if (s->nodes[i].deps[k] == value && kind_of(s, i) != TC_RULE_SEND &&
                (!node || !strcmp(node, s->program->ops.items[i].node)))
                return i;
    return TC_NO_OP;
}

static bool is_read(const struct tc_story *s, const struct exchange *e)
{
    return reader_of(s, e->receive, e->receive + 1, NULL) != TC_NO_OP;
}

static uint32_t sent(const struct tc_story *s, const struct exchange *e)
{
    return s->nodes[e->send].n_deps == 1 ? s->nodes[e->send].deps[0] : TC_NO_OP;
}

/* What reads a value, or what it is a copy of, after the exchange and in its node; TC_NO_OP:
 * nothing.
 */
static uint32_t reader_of_sent(const struct tc_story *s, uint32_t value, const struct exchange *e)
{
    const char *node = s->program->ops.items[e->send].node;
    uint32_t reader = reader_of(s, value, e->receive, node);

    while (reader == TC_NO_OP && s->nodes[value].n_deps == 1 &&
           !strcmp(s->program->ops.items[value].rule->name, "aten.clone")) {
        value = s->nodes[value].deps[0];
        reader = reader_of(s, value, e->receive, node);
    }
    return reader;
}

/* The exchange that sends on what this one brings; NULL: none. */
static const struct exchange *next_of(const struct tc_story *s, const struct exchanges *all,
                                      const struct exchange *e)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (sent(s, &all->items[i]) == e->receive)
            return &all->items[i];
    return NULL;
}

/* Is what arrives only passed on, as often as it goes round? */
static bool is_only_passed_on(const struct tc_story *s, const struct exchanges *all,
                              const struct exchange *e)
{
    uint32_t n = 0;

    for (; e && n <= all->n; e = next_of(s, all, e), n++)
        if (is_read(s, e))
            return false;
    return true;
}

static const char *node_of(const struct tc_story *s, uint32_t op)
{
    return s->program->ops.items[op].node;
}

/* Are all operators between two of the same node of autograd? */
static bool is_one_node(const struct tc_story *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i <= to; i++)
        if (strcmp(node_of(s, i), node_of(s, from)) != 0)
            return false;
    return *node_of(s, from) != '\0';
}

/* Exchanges of one line, one turn and one call of a backward. */
static bool are_alike(const struct tc_story *s, const struct exchange *a, const struct exchange *b)
{
    const struct tc_plan_op *x = &s->program->ops.items[a->receive],
                            *y = &s->program->ops.items[b->receive];

    return a->turn == b->turn && !strcmp(x->src, y->src) && !strcmp(x->via, y->via) &&
           is_one_node(s, a->receive, b->receive);
}

/* Of several messages, one that is not read, though others before it are, and some follow. */
static bool is_dropped(const struct tc_story *s, const struct exchanges *all, uint32_t at,
                       uint32_t *reader)
{
    const struct exchange *e = &all->items[at];
    bool follows = false;

    *reader = TC_NO_OP;
    if (is_read(s, e) || next_of(s, all, e))
        return false;
    for (uint32_t i = 0; i < at; i++)
        if (are_alike(s, &all->items[i], e) && is_read(s, &all->items[i]))
            *reader = reader_of(s, all->items[i].receive, all->items[i].receive + 1, NULL);
    for (uint32_t i = at + 1; i < all->n; i++)
        follows = follows || are_alike(s, e, &all->items[i]);
    return follows && *reader != TC_NO_OP;
}

/* Is another value sent on in place of what arrives, though the last one that arrives is read? */
static bool is_replaced(const struct tc_story *s, const struct exchanges *all, uint32_t at,
                        uint32_t *by)
{
    const struct exchange *e = &all->items[at], *next = NULL;
    bool is_read_last = false;

    if (is_read(s, e) || next_of(s, all, e))
        return false;
    for (uint32_t i = at + 1; i < all->n; i++)
        if (are_alike(s, e, &all->items[i])) {
            next = next ? next : &all->items[i];
            is_read_last = is_read(s, &all->items[i]);
        }
    *by = next ? sent(s, next) : TC_NO_OP;
    while (*by != TC_NO_OP && s->nodes[*by].n_deps == 1 &&
           !strcmp(s->program->ops.items[*by].rule->name, "aten.clone"))
        *by = s->nodes[*by].deps[0];
    return is_read_last && *by != TC_NO_OP;
}

/* node: of autograd, NULL: any. */
static bool find_idle_of(const struct tc_story *s, const struct exchanges *all, const char *node,
                         struct tc_idle *idle)
{
    bool found = false;

    for (uint32_t i = 0; i < all->n && !found; i++) {
        const struct exchange *e = &all->items[i];
        uint32_t value = sent(s, e);
        if ((node && strcmp(node, node_of(s, e->send)) != 0) || value == TC_NO_OP)
            continue;
        idle->receive = e->receive;
        idle->reader = reader_of_sent(s, value, e);
        idle->is_passed_on = kind_of(s, value) != TC_RULE_RECEIVE && idle->reader != TC_NO_OP &&
                             is_only_passed_on(s, all, e);
        found = idle->is_passed_on || is_dropped(s, all, i, &idle->reader);
        idle->is_replaced = !found && is_replaced(s, all, i, &idle->reader);
        found = found || idle->is_replaced;
    }
    return found;
}

/* Within a ring values relate to nothing on one device: the operator may be one of the forward,
 * though the backward is wrong. */
bool tc_story_find_idle(const struct tc_story *s, uint32_t op, struct tc_idle *idle)
{
    struct exchanges *all = tc_calloc(1, sizeof(*all));

    find_exchanges(s, all);
    bool found = find_idle_of(s, all, node_of(s, op), idle) || find_idle_of(s, all, NULL, idle);
    tc_free(all);
    return found;
}
