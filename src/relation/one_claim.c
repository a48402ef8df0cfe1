/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_claim.c - asks the judges of rules, and makes examples of what they say
 *
 * An event has one bit of `at`, or two where a root forward has a role as well. What was decided
 * is one atom, of the claim's row: that which it holds by, or is broken by.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

static uint32_t bits_of(const struct tc_event *event)
{
    switch (event->kind) {
    case TC_EVENT_CALL:
        return UINT32_C(1) << event->call->role | (event->call->is_root ? TC_AT_ROOT : 0);
    case TC_EVENT_WINDOW:
        return TC_AT_WINDOW;
    case TC_EVENT_CHANGE:
        return TC_AT_CHANGE;
    default:
        return 0;
    }
}

bool tc_rule_hears(const struct tc_relation_rule *rule, const struct tc_event *event)
{
    return rule->at & bits_of(event);
}

static bool is_asked(const struct tc_relation_rule *rule, const struct tc_event *event)
{
    if (!tc_rule_hears(rule, event) || (event->kind == TC_EVENT_WINDOW && !event->window->has_step))
        return false;
    if (event->process->is_worker && !(rule->at & TC_AT_WORKER))
        return false;
    return event->kind != TC_EVENT_CALL || !event->call->raised || rule->at & TC_AT_RAISED;
}

void tc_rule_observe(const struct tc_relation_rule *rule, void *state, struct tc_strtab *symbols,
                     const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_hearing h = {rule, state, symbols, event, sink};

    if (is_asked(rule, event))
        rule->judge(&h);
}

void *tc_hearing_state(const struct tc_hearing *h)
{
    return tc_process_state(h->state, h->event->process);
}

/* The key of its example. */
static tc_sym key_of_example(const struct tc_hearing *h, const struct tc_variable *variable)
{
    const tc_sym key = h->rule->claim.key[0];

    return key == TC_BLANK_CALL   ? h->event->call->descriptor
           : key == TC_BLANK_KIND ? variable->kind
                                  : key;
}

/* Of one word, or two. */
static tc_sym atom_of(const struct tc_hearing *h, const tc_sym words[TC_CLAIM_WORDS])
{
    if (words[1] == TC_SYM_EMPTY)
        return words[0];
    return TC_ATOM(h->symbols, words[0], words[1]);
}

void tc_answer_set(const struct tc_hearing *h, const tc_sym *outcome, size_t n,
                   struct tc_example of)
{
    of.key = of.key ? of.key : key_of_example(h, of.variable);
    of.situation = of.situation ? of.situation : &tc_no_situation;
    of.outcome = outcome;
    of.n_outcome = n;
    h->sink->example(h->sink->context, h->event, &of);
}

void tc_answer_of(const struct tc_hearing *h, bool holds, struct tc_example of)
{
    const tc_sym outcome = atom_of(h, holds ? h->rule->claim.held : h->rule->claim.broken);

    tc_answer_set(h, &outcome, 1, of);
}

void tc_answer(const struct tc_hearing *h, bool holds)
{
    tc_answer_of(h, holds, (struct tc_example){.key = TC_SYM_EMPTY});
}

void tc_answer_excused(const struct tc_hearing *h, const struct tc_variable *variable,
                       enum tc_excuse excuse)
{
    tc_sink_excuse(h->sink, key_of_example(h, variable), excuse);
}
