/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_run.c - APISequence/run: before the training loop begins there is an Ia
 *
 * A process gives one example, when its loop begins. Calls made by torch's own constructors do not
 * count.
 */
#include "relation/api_sequence_setup.h"
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

#define MAX_USES 16

struct progress {
    /* What the script called before the loop, what libraries did ("done API"), and of which
     * packages members of windows are ("known PACKAGE"). */
    tc_sym marks[TC_SETUP_MARKS];
    size_t n;
    struct tc_situation uses; /* of classes that a library called on its own account */
    bool is_running;          /* the loop has begun, at this place */
    struct tc_place begin;
    bool is_told;
};

static bool is_loop(const struct tc_call *call)
{
    return call->is_root || call->role == TC_ROLE_BACKWARD || call->role == TC_ROLE_STEP;
}

/* Calls that prepare a loop. Modules are born in training mode and without gradients: to set the
 * one and to clear the others is a habit. Whether there is state to load is each script's business;
 * which loads belong together is what `follow` says. */
static bool is_preparation(const struct tc_call *call)
{
    return tc_role_has(call->role, TC_TRAIT_MEMBER) && call->role != TC_ROLE_ZERO_GRAD;
}

/* "known accelerate" of the API accelerate.Accelerator.prepare. */
static tc_sym known_package(struct tc_strtab *symbols, tc_sym fn)
{
    const char *name = tc_strtab_text(symbols, fn);
    tc_sym package = tc_strtab_intern(symbols, name, strcspn(name, "."));

    return TC_ATOM(symbols, TC_SYM_KNOWN, package);
}

/* Of several objects of a class one that has the flag set is enough. */
static void set_use(struct progress *progress, tc_sym field, tc_sym value)
{
    for (size_t i = 0; i < progress->uses.n; i++)
        if (progress->uses.pairs[i].field == field && progress->uses.pairs[i].value == TC_SYM_TRUE)
            return;
    if (progress->uses.n < MAX_USES)
        tc_situation_set(&progress->uses, field, value);
}

/* The class of the method fn is in use, on an object with these flags. */
static void add_use(struct progress *progress, struct tc_strtab *symbols,
                    const struct tc_call *call)
{
    const struct tc_value *attrs = tc_value_get(call->self, "attrs");
    tc_sym class = tc_class_of(symbols, "uses_of.", call->fn);

    set_use(progress, tc_class_of(symbols, "uses.", call->fn), TC_SYM_TRUE);
    for (uint32_t i = 0; attrs && attrs->kind == TC_VALUE_OBJECT && i < attrs->n; i++) {
        const struct tc_member *flag = &attrs->members[i];
        struct tc_strbuf prefix = TC_STRBUF_INIT;
        if (flag->value.kind != TC_VALUE_BOOL)
            continue;
        tc_strbuf_addf(&prefix, "%s.", tc_strtab_text(symbols, class));
        set_use(progress, tc_symbols_join(symbols, prefix.text, flag->key),
                tc_symbols_bool(flag->value.boolean));
        tc_strbuf_release(&prefix);
    }
}

static void on_call(struct progress *progress, struct tc_strtab *symbols,
                    const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (tc_role_has(call->role, TC_TRAIT_MEMBER))
        tc_setup_add(progress->marks, &progress->n, TC_SETUP_MARKS,
                     known_package(symbols, call->fn));
    if (call->role == TC_ROLE_LIBRARY && !tc_is_by_the_user(symbols, call))
        add_use(progress, symbols, call);
    if (progress->is_running)
        return;
    if (is_loop(call)) {
        progress->is_running = true;
        tc_place_of(event, &progress->begin);
    } else if (is_preparation(call)) {
        bool is_own = tc_is_by_the_user(symbols, call);
        tc_setup_add(progress->marks, &progress->n, TC_SETUP_MARKS,
                     is_own ? call->descriptor : TC_ATOM(symbols, TC_SYM_DONE, call->descriptor));
    }
}

static void tell_run(const struct tc_hearing *h, const struct progress *progress)
{
    struct tc_situation situation = progress->uses;

    tc_situation_set(&situation, TC_SYM_F_WORLD,
                     h->event->process->world > 1 ? TC_SYM_MANY : TC_SYM_ONE);
    tc_situation_sort(&situation);
    tc_answer_set(h, progress->marks, progress->n,
                  (struct tc_example){.situation = &situation, .place = &progress->begin});
}

static void run_judge(const struct tc_hearing *h)
{
    struct progress *progress = tc_hearing_state(h);

    if (progress->is_told)
        return;
    /* Once sampling has left out a step, what came before is not known. */
    if (h->event->process->n_gaps) {
        tc_answer_excused(h, NULL, TC_EXCUSE_GAP);
        progress->is_told = true;
        return;
    }
    if (tc_setup_is_of_script(h->symbols, h->event))
        on_call(progress, h->symbols, h->event);
    if (h->event->kind != TC_EVENT_WINDOW || !progress->is_running)
        return;
    progress->is_told = true;
    tell_run(h, progress);
}

static enum tc_excuse excuse_of(struct tc_strtab *symbols, tc_sym other, const tc_sym *outcome,
                                size_t n)
{
    if (tc_outcome_has(outcome, n, TC_ATOM(symbols, TC_SYM_DONE, other)))
        return TC_EXCUSE_BY_LIBRARY;
    return tc_outcome_has(outcome, n, known_package(symbols, other)) ? TC_EXCUSE_NONE
                                                                     : TC_EXCUSE_PACKAGE_UNUSED;
}

/* The code of one pipeline decides about order. */
const struct tc_relation_rule tc_rule_run = {
    TC_RULE(tc_rule_run),
    .form.name = "APISequence/run",
    .form.summary = "before the training loop of a run begins comes this call",
    .form.hint = "Is a call of the set-up missing?",
    .form.fault = TC_FAULT_MISSING,
    .source.name = "run",
    .source.judged = "the end of the first step of a process",
    .source.process_size = sizeof(struct progress),
    .claim.key = {TC_SYM_ROOT_FORWARD},
    .claim.calls = {TC_WORDS(TC_BLANK_OTHER, TC_SYM_ROOT_FORWARD)},
    .claim.held = {TC_BLANK_OTHER},
    .claim.excuse = excuse_of,
    .claim.support = TC_SUPPORT_COIN,
    .claim.min_examples = 1,
    .claim.expected = "%o comes before the first root forward of a run",
    .claim.seen = "%o is missing before the first root forward%l",
    .at = TC_AT_CALL | TC_AT_WINDOW | TC_AT_CHANGE | TC_AT_RAISED | TC_AT_WORKER,
    .judge = run_judge,
};
