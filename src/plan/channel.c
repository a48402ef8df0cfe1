/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - messages between two ranks
 *
 * A channel has a sender, a receiver and a tag. It holds messages that nobody has received, or
 * receives that nothing has reached, the oldest first. A send copies its tensor, so the sender
 * goes on. All under the world's lock.
 */
#include "plan/world_state.h"

#include <stdio.h>

#include "base/hash.h"
#include "plan/eval.h"
#include "plan/ledger.h"
#include "plan/world.h"

static struct tc_channel *channel_of(struct tc_world *w, uint32_t from, uint32_t to, int64_t tag)
{
    uint64_t key = tc_hash_mix(0, (uint64_t)from << 32 | to, (uint64_t)tag);

    return tc_map_struct(&w->channels, key, sizeof(struct tc_channel));
}

static void append(struct tc_message **list, struct tc_message *m)
{
    while (*list)
        list = &(*list)->next;
    *list = m;
}

static void deliver(struct tc_world *w, struct tc_world_rank *to, const struct tc_plan_op *op,
                    struct tc_message *m)
{
    const struct tc_plan_tensor *t = tc_message_tensor(op);
    char text[300];

    if (t && t->numel == m->n) {
        tc_view_scatter(to->run.slots[t->storage], t, m->data);
        if (w->watch->ledger)
            tc_ledger_received(w->watch->ledger, &to->run, op, &m->degrees);
        return;
    }
    snprintf(text, sizeof(text),
             "rank %u sends %lld elements to rank %u, which receives %lld (%.*s)", m->rank,
             (long long)m->n, to->run.plan->rank, (long long)(t ? t->numel : 0),
             (int)tc_plan_line_of(op).size, op->src);
    tc_world_fail(w, TC_WORLD_MISMATCH, op, to->run.plan->rank, text);
}

void tc_channel_post(struct tc_world *w, struct tc_world_rank *rank, const struct tc_plan_op *op)
{
    const struct tc_plan_tensor *t = tc_message_tensor(op);
    bool is_send = op->rule->kind == TC_RULE_SEND;
    int64_t peer = tc_plan_peer(w->set, rank->run.plan, op);
    uint32_t self = rank->run.plan->rank;
    char text[300];

    if (peer < 0 || !t) {
        snprintf(text, sizeof(text), "%s:%llu: %.80s has no peer, group or tensor",
                 rank->run.plan->file, (unsigned long long)op->line, op->name);
        tc_world_fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    struct tc_channel *c = channel_of(w, is_send ? self : (uint32_t)peer,
                                      is_send ? (uint32_t)peer : self, tc_message_tag(op));
    struct tc_message *m = tc_calloc(1, sizeof(*m)), *met = is_send ? c->posted : c->sent;
    *m = (struct tc_message){.rank = self, .op = rank->run.pc, .n = t->numel};
    if (is_send) {
        m->data = tc_malloc(((size_t)m->n + 1) * sizeof(*m->data));
        tc_view_gather(rank->run.slots[t->storage], t, m->data);
        if (w->watch->ledger)
            tc_ledger_sent(w->watch->ledger, &rank->run, op, &m->degrees);
    }
    if (!met) {
        append(is_send ? &c->sent : &c->posted, m);
        if (!is_send)
            tc_world_mark(rank, op, 1);
        return;
    }
    *(is_send ? &c->posted : &c->sent) = met->next;
    if (is_send) {
        struct tc_world_rank *to = &w->ranks[met->rank];
        deliver(w, to, tc_world_op(to, met->op), m);
        tc_world_mark(to, tc_world_op(to, met->op), -1);
        if (w->watch->op)
            w->watch->op(w->watch->context, &to->run, met->op);
        tc_world_wake(w, to);
    } else {
        deliver(w, rank, op, met);
        if (w->watch->op)
            w->watch->op(w->watch->context, &rank->run, rank->run.pc);
    }
    tc_free(met->data);
    tc_free(met);
    tc_free(m->data);
    tc_free(m);
}

static void free_messages(struct tc_message *m)
{
    for (struct tc_message *next; m; m = next) {
        next = m->next;
        tc_free(m->data);
        tc_free(m);
    }
}

bool tc_channel_has_unread(const struct tc_world *w)
{
    const struct tc_channel *c;

    for (size_t pos = 0; (c = tc_map_next(&w->channels, &pos));)
        if (c->sent)
            return true;
    return false;
}

void tc_channels_release(struct tc_world *w)
{
    struct tc_channel *c;

    for (size_t pos = 0; (c = tc_map_next(&w->channels, &pos));) {
        free_messages(c->sent);
        free_messages(c->posted);
    }
    tc_map_release_structs(&w->channels);
}
