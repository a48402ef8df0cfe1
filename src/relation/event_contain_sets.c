/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_sets.c - EventContain/sets: what a scheduler changes is the setting of an optimizer
 * at work
 *
 * One that was built for an optimizer which has been replaced since turns the numbers of that one,
 * and those that train stay as they were. A call that changes nothing says nothing: schedules wait,
 * rest and end.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include <string.h>

#include "base/hash.h"
#include "replay/setting.h"
#include "replay/symbols.h"

/* An optimizer may have its first step later than others. */
#define CALLS_IN_A_ROW 3

struct setter {
    unsigned n_idle; /* calls in a row that changed idle groups alone */
    bool is_told;
};

struct sets_state {
    struct tc_map setters; /* (process, receiver) → struct setter * */
};

static void sets_release(void *state)
{
    tc_map_release_structs(&((struct sets_state *)state)->setters);
}

static struct setter *setter_of(struct sets_state *s, const struct tc_event *event)
{
    const uint64_t who[] = {(uintptr_t)event->process,
                            (uint64_t)tc_value_int(tc_value_get(event->call->self, "id"), 0)};
    return tc_map_struct(&s->setters, tc_hash64(who, sizeof(who), 0), sizeof(struct setter));
}

static bool is_setter(const struct tc_event *event, const struct tc_strtab *symbols)
{
    if (!tc_is_subject(event) || !tc_role_has(event->call->role, TC_TRAIT_SETTER) ||
        tc_is_by_torch(symbols, event->call))
        return false;
    for (const struct tc_call *c = event->call->parent; c; c = c->parent)
        if (c->role == event->call->role) /* a part of another: that one is asked */
            return false;
    return true;
}

/* Is some optimizer of that kind at work? */
static bool any_at_work(const struct tc_process *process, tc_sym kind)
{
    const struct tc_settings *settings;

    for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));) {
        if (settings->kind == kind && !settings->is_idle)
            return true;
    }
    return false;
}

static bool contains(const struct tc_call *call, tc_atom atom)
{
    for (size_t i = 0; i < call->contents.n; i++)
        if (call->contents.items[i] == atom)
            return true;
    return false;
}

/* What the call decides, each once for a receiver: the atom of its changes; TC_NO_SYM: nothing. */
static tc_atom verdict_on(struct setter *setter, struct tc_strtab *symbols,
                          const struct tc_event *event, tc_sym kind, const struct tc_sink *sink)
{
    tc_atom set = tc_setting_atom(symbols, kind, false);
    tc_atom idle = tc_setting_atom(symbols, kind, true), verdict = TC_NO_SYM;

    if (contains(event->call, set)) {
        verdict = set;
    } else if (contains(event->call, idle) && any_at_work(event->process, kind)) {
        setter->n_idle++;
        verdict = setter->n_idle == CALLS_IN_A_ROW ? idle : TC_NO_SYM;
        if (setter->n_idle < CALLS_IN_A_ROW)
            tc_sink_excuse(sink, event->call->descriptor, TC_EXCUSE_LATER_STEP);
    }
    if (verdict == TC_NO_SYM || setter->is_told)
        return TC_NO_SYM;
    setter->is_told = true;
    return verdict;
}

static void sets_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct tc_situation situation;

    if (!is_setter(event, symbols))
        return;
    if (event->process->n_gaps) {
        tc_sink_excuse(sink, event->call->descriptor, TC_EXCUSE_GAP);
        return;
    }
    const tc_sym outcome[] = {
        verdict_on(setter_of(state, event), symbols, event, TC_SYM_PARAM_GROUP, sink)};
    if (outcome[0] == TC_NO_SYM)
        return;
    tc_situation_of_call(&situation, symbols, event->process, event->call, true);
    tc_situation_sort(&situation);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = 1};
    sink->example(sink->context, event, &example);
}

const struct tc_source tc_source_sets = {
    .name = "sets",
    .judged = "the first change by a scheduler, or its third in vain",
    .is_set = true,
    .state_size = sizeof(struct sets_state),
    .release = sets_release,
    .observe = sets_observe,
};

static const struct tc_claim claims[] = {
    {
     .key = {TC_BLANK_CALL},
     .calls = {TC_BLANK_CALL},
     .kind = TC_SYM_PARAM_GROUP,
     .of = TC_PARAM_CHANGE,
     .attr = TC_SYM_SETTINGS,
     .to = TC_SYM_CHANGED,
     .held = {TC_SYM_SET, TC_BLANK_KIND},
     .broken = {TC_SYM_SET_IDLE, TC_BLANK_KIND},
     .support = TC_SUPPORT_USAGE,
     .min_examples = 1,
     .expected = "%c changes %a of a %k whose optimizer is at work",
     .seen = "%c%r changed " TC_TEXT(
            CALLS_IN_A_ROW) " times nothing but a %k whose optimizer has never stepped",
     }
};

const struct tc_relation tc_event_contain_sets = {
    .name = "EventContain/sets",
    .summary = "what a scheduler changes belongs to an optimizer at work",
    .hint = "Was the scheduler built for another optimizer than the one that steps?",
    .source = &tc_source_sets,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
