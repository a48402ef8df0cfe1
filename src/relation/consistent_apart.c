/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_apart.c - Consistent/apart: what parameter groups of one optimizer differ in at its
 * first step, they go on differing in
 *
 * A schedule scales what the groups began with, or leaves it. One written by hand may give all of
 * them the same. They may meet in the end, at the least rate of a schedule: that they have become
 * one counts when they have had a third value in common. A warm-up may lead them to one rate: what
 * came closer in several steps, and was as close as that step leads, has met by intent.
 *
 * An example for each setting in each step of its optimizer.
 */
#include "relation/consistent.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* Values in common from which on the groups are one. */
#define MIN_COMMON 3
/* Steps in a row that lead groups to one value; and how much further than the last of them did the
 * groups may come at once, where they meet. */
#define MIN_CLOSER 3
#define MAX_LEAP   2

/* One setting of all groups of one optimizer, in the step at hand and since. */
struct contrast {
    uint64_t value; /* in the group met first */
    uint64_t last;  /* that they last had in common */
    unsigned n_common;
    size_t n_groups;   /* in this step */
    bool differs;      /* in this step */
    bool differed;     /* in the first one */
    bool was_met;      /* before this step */
    double low, high;  /* in this step */
    double gap, leap;  /* in the last step in which they differed; how much it had closed last */
    unsigned n_closer; /* times in a row that it closed */
    bool has_converged;
    int64_t serial; /* of the group met first */
    tc_sym group, attr;
};

/* Of one process. */
struct contrasts {
    struct tc_map items; /* (optimizer, attribute) → struct contrast * */
};

static void contrasts_release(void *of_process)
{
    tc_map_release_structs(&((struct contrasts *)of_process)->items);
}

/* "optimizer" of "optimizer.param_groups[0]"; no text where it has no such name. */
static struct tc_str owner_of(const struct tc_strtab *symbols, tc_sym group)
{
    const char *name = tc_strtab_text(symbols, group), *end = strstr(name, ".param_groups[");

    return (struct tc_str){end ? name : NULL, end ? (uint32_t)(end - name) : 0};
}

static struct contrast *contrast_of(struct contrasts *contrasts, struct tc_str owner, tc_sym attr)
{
    return tc_map_struct(&contrasts->items, tc_hash64(owner.text, owner.size, attr),
                         sizeof(struct contrast));
}

static void meet(struct contrast *c, const struct tc_settings *group,
                 const struct tc_setting *setting)
{
    if (!c->n_groups++) {
        c->value = setting->used;
        c->serial = group->serial;
        c->group = group->name;
        c->attr = setting->attr;
        c->differs = false;
        c->low = c->high = setting->used_number;
    }
    c->low = setting->used_number < c->low ? setting->used_number : c->low;
    c->high = setting->used_number > c->high ? setting->used_number : c->high;
    c->differs |= c->value != setting->used;
}

/* How have the groups come to be as far from each other as they are? */
static void follow(struct contrast *c)
{
    const double gap = c->high - c->low;

    if (!c->differs) {
        c->has_converged = c->n_closer >= MIN_CLOSER && c->gap <= MAX_LEAP * c->leap;
        return;
    }
    if (c->was_met && gap != c->gap) {
        c->leap = c->gap - gap;
        c->n_closer = c->leap > 0 ? c->n_closer + 1 : 0;
    }
    c->gap = gap;
}

static void judge(struct contrast *c, struct tc_strtab *symbols, const struct tc_event *event,
                  const struct tc_sink *sink)
{
    struct tc_variable group = {.serial = c->serial, .name = c->group, .is_setting = true};
    tc_sym outcome[1];

    group.kind = TC_SYM_PARAM_GROUP;
    if (!c->differs && (!c->n_common || c->last != c->value)) {
        c->n_common++;
        c->last = c->value;
    }
    if (!c->differs && c->n_common < MIN_COMMON)
        return;
    if (!c->differs && c->has_converged) {
        tc_sink_excuse(sink, TC_SYM_PARAM_GROUP, TC_EXCUSE_CONVERGED);
        return;
    }
    outcome[0] = tc_consistent_agreement(symbols, TC_SYM_SETTINGS, !c->differs);
    tc_consistent_emit(sink, event, TC_SYM_PARAM_GROUP, &tc_no_situation, outcome, 1, &group);
}

static void on_step(struct contrasts *contrasts, struct tc_strtab *symbols,
                    const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_settings *group;
    struct contrast *c;

    for (size_t pos = 0; (group = tc_map_next(&event->process->settings, &pos));) {
        const struct tc_str owner = owner_of(symbols, group->name);
        for (size_t i = 0; owner.text && i < group->items.n; i++)
            if (group->items.items[i].has_used)
                meet(contrast_of(contrasts, owner, group->items.items[i].attr), group,
                     &group->items.items[i]);
    }
    for (size_t pos = 0; (c = tc_map_next(&contrasts->items, &pos));) {
        if (!c->was_met && c->n_groups)
            c->differed = c->differs;
        if (c->n_groups > 1)
            follow(c);
        if (c->n_groups > 1 && c->differed)
            judge(c, symbols, event, sink);
        c->was_met |= c->n_groups > 0;
        c->n_groups = 0;
    }
}

static void apart_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    if (event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_STEP && !event->call->raised &&
        !event->process->is_worker)
        on_step(tc_process_state(state, event->process), symbols, event, sink);
}

const struct tc_source tc_source_apart = {.name = "apart",
                                          .judged = "the end of a step window, for each setting",
                                          .is_set = true,
                                          .process_size = sizeof(struct contrasts),
                                          .release_process = contrasts_release,
                                          .observe = apart_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_PARAM_GROUP},
     .kind = TC_SYM_PARAM_GROUP,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_SETTINGS,
     .to = TC_SYM_DIFFERS,
     .held = {TC_SYM_SETTINGS, TC_SYM_DIFFERS},
     .broken = {TC_SYM_SETTINGS, TC_SYM_EQUAL},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected = "settings in which the groups of an optimizer differ at its first step go on "
                    "differing", },
};

static void apart_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                          const struct tc_event *event, const struct tc_example *example,
                          struct tc_strbuf *out)
{
    (void)invariant;
    (void)event;
    tc_strbuf_addf(out,
                   "a setting that %s had of its own is now the same in all groups, at a third "
                   "value in a row",
                   tc_strtab_text(symbols, example->variable->name));
}

const struct tc_relation tc_consistent_apart = {
    .name = "Consistent/apart",
    .summary = "what parameter groups differ in at the first step, they go on differing in",
    .hint = "Is one rate written into every group, where each should be scaled?",
    .source = &tc_source_apart,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
    .explain = apart_explain,
};
