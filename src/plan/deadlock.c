/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadlock.c - who waits for whom
 */
#include "plan/world_state.h"

#include "plan/world.h"

static void add_waiting(struct tc_world *w, const struct tc_gathering *g, struct tc_strbuf *text,
                        const struct tc_plan_op **at, uint32_t *rank)
{
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    uint32_t here = 0, away = 0;

    while (!g->all[here].run)
        here++;
    while (g->all[away].run)
        away++;
    const struct tc_world_rank *other = &w->ranks[group->ranks[away]];
    *at = g->all[here].op;
    *rank = group->ranks[here];
    tc_strbuf_addf(text, "rank %u waits in collective %u of its group, ", group->ranks[here],
                   g->number);
    tc_world_add_place(text, g->all[here].op);
    tc_strbuf_addf(text, ", for rank %u, which ", group->ranks[away]);
    if (other->state == TC_WORLD_DONE ||
        other->run.pc >= w->set->ranks[group->ranks[away]].program->ops.n) {
        tc_strbuf_adds(text, "has no further one");
    } else {
        tc_strbuf_adds(text, "waits before ");
        tc_world_add_place(text, tc_world_op(other, other->run.pc));
    }
}

static void add_message(struct tc_world *w, struct tc_strbuf *text, const struct tc_plan_op **at,
                        uint32_t *number)
{
    const struct tc_channel *c;

    for (size_t pos = 0; (c = tc_map_next(&w->channels, &pos));) {
        const struct tc_message *m = c->posted ? c->posted : c->sent;
        if (!m)
            continue;
        const struct tc_plan_op *op = &w->set->ranks[m->rank].program->ops.items[m->op];
        struct tc_str line = tc_plan_line_of(op);
        *at = op;
        *number = m->rank;
        tc_strbuf_addf(text, "%srank %u %s rank %lld %s (%.*s)", text->size ? "; " : "", m->rank,
                       c->posted ? "waits for a message from" : "sends a message to",
                       (long long)tc_plan_peer(w->set, &w->set->ranks[m->rank], op),
                       c->posted ? "that is never sent" : "that is never received", (int)line.size,
                       line.text);
        return;
    }
}

/* The gathering that began first, by its ranks' positions: the others follow from it. */
static const struct tc_gathering *first_gathering(struct tc_world *w)
{
    const struct tc_gathering *g, *first = NULL;

    for (size_t pos = 0; (g = tc_map_next(&w->gatherings, &pos));)
        if (!first || g->number < first->number ||
            (g->number == first->number && g->group < first->group))
            first = g;
    return first;
}

void tc_world_tell_deadlock(struct tc_world *w)
{
    const struct tc_gathering *g = first_gathering(w);
    struct tc_strbuf text = TC_STRBUF_INIT;

    const struct tc_plan_op *op = NULL;
    uint32_t rank = 0;

    add_message(w, &text, &op, &rank);
    if (g) {
        if (text.size)
            tc_strbuf_adds(&text, "; ");
        add_waiting(w, g, &text, &op, &rank);
    }
    tc_world_fail(w, TC_WORLD_DEADLOCK, op, rank,
                  text.size ? text.text : "the ranks wait for each other");
    tc_strbuf_release(&text);
}
