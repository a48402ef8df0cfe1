/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend.c - how a number goes on from call to call
 *
 * The best score so far stays or falls, and rises where a resumed run has forgotten it; a count of
 * steps, which rises by as much each time, goes on and does not begin anew. Told of what is saved,
 * of functions that the script defines, and of the numbers that it computes with: a weight that a
 * schedule raises. A score itself goes up and down, or may in another run: what goes one way all
 * the time, and never stays, is no best. A schedule ends in all runs where it ends in one.
 */
#include "fact/trend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/trend_rule.h"
#include "fact/walk.h"

static struct tc_fact_trend *trend_of(struct tc_fact_watch *w, uint32_t subject, tc_sym path)
{
    bool is_new;
    uint64_t *place =
        tc_map_at(&w->trend_places, (uint64_t)subject << 32 | (uint64_t)path, &is_new);

    if (is_new) {
        *place = w->trends.n;
        tc_vec_push(&w->trends, ((struct tc_fact_trend){.subject = subject, .path = path}));
    }
    return &w->trends.items[*place];
}

static void go_on(struct tc_fact_trend *t, double number, bool is_integer)
{
    const double by = number - t->last;

    if (t->n) {
        t->n_between += t->n > 1 && t->by == 0 && by != 0;
        t->n_rises += by > 0;
        t->n_falls += by < 0;
        t->is_other |= !is_integer || (t->n > 1 && by != t->by);
        t->by = by;
    }
    t->before = t->last;
    t->last = number;
    t->n++;
}

/* ---- judging -------------------------------------------------------------------------------- */

static tc_fact_lead judge_trend(struct tc_facts *facts, uint32_t slot,
                                const struct tc_fact_trend *t, tc_fact_lead cause)
{
    char text[96];
    const char *claim =
        tc_strtab_text(facts->table.symbols, facts->table.slots.items[slot].fact.value);
    snprintf(text, sizeof(text), "\"went from %.6g to %.6g\"", t->before, t->last);
    if (tc_fact_trend_holds(t, claim))
        snprintf(text, sizeof(text), "%s", claim);
    tc_fact_table_add(&facts->table, slot, text, strlen(text), &facts->entries);
    return tc_fact_settle_said(facts, 1, cause, NULL);
}

/* ---- numbers of a call ---------------------------------------------------------------------- */

struct numbers {
    struct tc_facts *facts;
    struct tc_fact_watch *watch;
    uint32_t subject;
    bool is_saved;
    tc_fact_lead cause, lead;
};

static void meet_number(void *context, const char *path, const struct tc_value *value)
{
    struct numbers *m = context;
    struct tc_fact_trend *t;
    double number;
    tc_fact_lead lead;

    if (!tc_value_number(value, &number) || !isfinite(number))
        return;
    const tc_sym name = tc_strtab_intern_text(m->facts->table.symbols, path);
    const uint32_t slot =
        tc_fact_table_slot(&m->facts->table, m->subject, name, TC_ATTRIBUTE_TREND);
    if (slot == UINT32_MAX) /* judging, nothing is expected of it */
        return;
    t = trend_of(m->watch, m->subject, name);
    t->is_saved = m->is_saved;
    go_on(t, number, value->kind == TC_VALUE_INT);
    if (!m->facts->table.is_judging)
        return;
    lead = judge_trend(m->facts, slot, t, m->cause);
    m->lead = m->lead ? m->lead : lead;
}

tc_fact_lead tc_fact_meet_trends(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t subject,
                                 const char *path, const struct tc_value *value, bool is_saved,
                                 tc_fact_lead cause)
{
    struct numbers m = {
        .facts = facts, .watch = w, .subject = subject, .is_saved = is_saved, .cause = cause};

    if (!w->process->is_sampled)
        tc_fact_walk(value, path, meet_number, &m);
    return m.lead;
}

/* ---- learning ------------------------------------------------------------------------------- */

void tc_fact_say_trends(struct tc_facts *facts, struct tc_fact_watch *w)
{
    char text[64];

    for (size_t i = 0; i < w->trends.n; i++) {
        const struct tc_fact_trend *t = &w->trends.items[i];
        const struct tc_subject subject = tc_fact_table_subject_at(&facts->table, t->subject);
        tc_fact_print_trend(t, text, sizeof(text));
        tc_fact_say(facts, &subject, t->path, TC_ATTRIBUTE_TREND, text);
        tc_fact_settle_said(facts, t->n, 0, NULL);
    }
}
