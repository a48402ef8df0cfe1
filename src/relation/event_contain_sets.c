/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_sets.c - EventContain/sets: what a scheduler changes is the setting of an optimizer
 * at work
 *
 * A scheduler that was built for an optimizer which has been replaced changes the numbers of that
 * one, and those that train stay the same. A call that changes nothing is not judged: schedules
 * wait, rest and end.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/setting.h"
#include "replay/symbols.h"

struct setter {
    unsigned n_idle; /* calls in a row that changed idle groups alone */
    bool is_told;
};

/* A part of another is not asked: that one is. */
static bool is_setter(const struct tc_strtab *symbols, const struct tc_call *call)
{
    return !tc_is_by_torch(symbols, call) && !tc_call_is_within(call->parent, call->role);
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

/* Has it set groups of an optimizer at work? TC_NO_SYM: it decides nothing. */
static tc_sym outcome_of(const struct tc_hearing *h, struct setter *setter)
{
    const struct tc_event *event = h->event;
    const tc_sym kind = TC_SYM_PARAM_GROUP;

    if (contains(event->call, tc_setting_atom(h->symbols, kind, false)))
        return TC_SYM_SET;
    if (!contains(event->call, tc_setting_atom(h->symbols, kind, true)) ||
        !any_at_work(event->process, kind))
        return TC_NO_SYM;
    if (++setter->n_idle < TC_THIRD_TIME) /* an optimizer may have its first step later */
        tc_answer_excused(h, NULL, TC_EXCUSE_LATER_STEP);
    return setter->n_idle == TC_THIRD_TIME ? TC_SYM_SET_IDLE : TC_NO_SYM;
}

/* Each receiver decides once. */
static void sets_judge(const struct tc_hearing *h)
{
    const struct tc_event *event = h->event;
    struct tc_situation situation;

    if (!is_setter(h->symbols, event->call))
        return;
    if (event->process->n_gaps) {
        tc_answer_excused(h, NULL, TC_EXCUSE_GAP);
        return;
    }
    const int64_t serial = tc_value_int(tc_value_get(event->call->self, "id"), 0);
    struct setter *setter = tc_map_struct(tc_hearing_state(h), (uint64_t)serial, sizeof(*setter));
    const tc_sym outcome = outcome_of(h, setter);
    if (outcome == TC_NO_SYM || setter->is_told)
        return;
    setter->is_told = true;
    tc_situation_of_call(&situation, h->symbols, event->process, event->call, true);
    tc_situation_sort(&situation);
    tc_answer_of(h, outcome == TC_SYM_SET, (struct tc_example){.situation = &situation});
}

const struct tc_relation_rule tc_rule_sets = {
    TC_RULE(tc_rule_sets),
    .form.name = "EventContain/sets",
    .form.summary = "what a scheduler changes belongs to an optimizer at work",
    .form.hint = "Was the scheduler built for another optimizer than the one that steps?",
    .source.name = "sets",
    .source.judged = "the first change by a scheduler, or its third call without effect",
    .source.process_size = sizeof(struct tc_map), /* receiver → struct setter * */
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_OF(TC_PARAM_CHANGE, TC_SYM_PARAM_GROUP, TC_SYM_SETTINGS, TC_SYM_CHANGED),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_WORDS(TC_SYM_SET, TC_SYM_PARAM_GROUP),
                   TC_WORDS(TC_SYM_SET_IDLE, TC_SYM_PARAM_GROUP)),
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_USAGE,
    .claim.min_examples = 1,
    .claim.expected = "%c changes %a of a %k whose optimizer is at work",
    .claim.seen = "%c%r changed " TC_TEXT(
        TC_THIRD_TIME) " times nothing but a %k whose optimizer has never stepped",
    .at = TC_AT(SCHEDULER),
    .judge = sets_judge,
};
