/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_follow.c - APISequence/follow: after Ia, which loads state, comes Ib, which loads as
 * well, before the next root forward
 *
 * One example for each load when the next root forward comes. Calls made by torch's own
 * constructors do not count.
 */
#include "relation/api_sequence_setup.h"
#include "relation/loaded.h"
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

struct load {
    tc_sym descriptor;
    tc_sym file;  /* as its first operand names it; TC_NO_SYM where that is no text */
    bool is_path; /* that is an object, as of pathlib: of two nobody knows whether they are equal */
    struct tc_situation situation;
    struct tc_loaded loaded;
};

struct section {
    TC_VEC(struct load) loads;    /* since the last root forward */
    unsigned n_gaps;              /* of the process when the section began */
    tc_sym saved[TC_SETUP_MARKS]; /* "known CLASS" of all whose state was saved so far */
    size_t n_saved;
};

static void section_release(void *of_process)
{
    tc_vec_release(&((struct section *)of_process)->loads);
}

static void set_situation(struct tc_situation *situation, struct tc_strtab *symbols,
                          const struct tc_event *event)
{
    const struct tc_value *strict = tc_value_get(event->call->args, "strict");

    situation->n = 0;
    if (strict && tc_value_class(symbols, strict) != TC_NO_SYM)
        tc_situation_set(situation, tc_strtab_intern_text(symbols, "args.strict"),
                         tc_value_class(symbols, strict));
}

/* Two files hold two parts of one state, as that of a model and that of its optimizer. */
static bool are_parts(const struct load *a, const struct load *b)
{
    return a->descriptor == b->descriptor &&
           ((a->is_path && b->is_path) ||
            (a->file != b->file && a->file != TC_NO_SYM && b->file != TC_NO_SYM));
}

/* Where those of a file begin to come with load i: at the first of the parts that were loaded in
 * one go. */
static size_t first_part(const struct section *section, size_t i)
{
    size_t first = i;

    for (size_t j = i; j-- > 0;)
        if (are_parts(&section->loads.items[j], &section->loads.items[i]))
            first = j;
        else if (section->loads.items[j].descriptor == section->loads.items[i].descriptor)
            break;
    return first;
}

/* What came after load i, or another part of the same state, up to the next call of the same API;
 * and what was saved before. */
static size_t followers(const struct section *section, size_t i, tc_sym out[TC_SETUP_MARKS])
{
    size_t n = section->n_saved;

    memcpy(out, section->saved, n * sizeof(*out));
    for (size_t j = first_part(section, i) + 1; j < section->loads.n; j++) {
        const struct load *load = &section->loads.items[j];
        const bool is_same = load->descriptor == section->loads.items[i].descriptor;
        if (j > i && is_same && !are_parts(load, &section->loads.items[i]))
            break;
        if (!is_same)
            tc_setup_add(out, &n, TC_SETUP_MARKS, load->descriptor);
    }
    return n;
}

static void judge_section(const struct tc_hearing *h, const struct section *section)
{
    for (size_t i = 0; i < section->loads.n; i++) {
        const struct load *load = &section->loads.items[i];
        tc_sym outcome[TC_SETUP_MARKS];
        if (tc_loaded_is_data(&load->loaded, h->symbols, h->event->process))
            tc_sink_excuse(h->sink, load->descriptor, TC_EXCUSE_DATA_SET);
        else
            tc_answer_set(
                h, outcome, followers(section, i, outcome),
                (struct tc_example){.key = load->descriptor, .situation = &load->situation});
    }
}

static void begin_section(struct section *section, const struct tc_process *process)
{
    section->loads.n = 0;
    section->n_gaps = process->n_gaps;
}

/* What followed the loads may have been left out. */
static void excuse_section(const struct tc_hearing *h, struct section *section)
{
    for (size_t i = 0; i < section->loads.n; i++)
        tc_sink_excuse(h->sink, section->loads.items[i].descriptor, TC_EXCUSE_GAP);
    begin_section(section, h->event->process);
}

static struct load load_of(struct tc_strtab *symbols, const struct tc_call *call)
{
    const struct tc_value *args = call->args;
    const struct tc_value *first =
        args && args->kind == TC_VALUE_OBJECT && args->n ? &args->members[0].value : NULL;
    const struct tc_str file = tc_value_str(first);

    return (struct load){.descriptor = call->descriptor,
                         .file = file.text ? tc_strtab_intern(symbols, file.text, file.size)
                                           : TC_NO_SYM,
                         .is_path = tc_value_get(first, "object") != NULL};
}

#define MAX_SECTION 256

static void on_load(const struct tc_hearing *h, struct section *section)
{
    const struct tc_call *call = h->event->call;
    struct load load = load_of(h->symbols, call);

    if (section->loads.n >= MAX_SECTION)
        return;
    set_situation(&load.situation, h->symbols, h->event);
    tc_loaded_read(&load.loaded, h->symbols, call->end->value);
    tc_vec_push(&section->loads, load);
}

static void follow_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct section *section = tc_hearing_state(h);

    if (!tc_setup_is_of_script(h->symbols, h->event))
        return;
    if (call->role == TC_ROLE_SAVE) {
        tc_setup_add(section->saved, &section->n_saved, TC_SETUP_MARKS,
                     tc_known_class(h->symbols, call->fn));
        return;
    }
    const bool is_load =
        call->role == TC_ROLE_LOAD && !call->parent && tc_is_by_the_user(h->symbols, call);
    if (!is_load && !call->is_root)
        return;
    if (section->n_gaps != h->event->process->n_gaps)
        excuse_section(h, section);
    if (is_load && !call->is_root) {
        on_load(h, section);
        return;
    }
    if (tc_is_training_forward(call))
        judge_section(h, section);
    begin_section(section, h->event->process);
}

static bool knows_any(struct tc_strtab *symbols, const tc_sym *outcome, size_t n)
{
    tc_sym words[2];

    for (size_t i = 0; i < n; i++)
        if (tc_strtab_split(symbols, outcome[i], words, 2) && words[0] == TC_SYM_KNOWN)
            return true;
    return false;
}

/* What the run itself saved it can restore, and no more; where it saved nothing, a run before it
 * did. */
static enum tc_excuse excuse_of(struct tc_strtab *symbols, tc_sym other, const tc_sym *outcome,
                                size_t n)
{
    return !knows_any(symbols, outcome, n) ||
                   tc_outcome_has(outcome, n, tc_known_class(symbols, other))
               ? TC_EXCUSE_NONE
               : TC_EXCUSE_NOT_SAVED;
}

/* a before c is implied by a before b and b before c; of two calls that each wait for the other one
 * is enough. */
static bool has_pair(const struct tc_invariant_set *set, tc_sym a, tc_sym b)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x->n_when == 0 && x->params[0].name == a && x->params[1].name == b)
            return true;
    }
    return false;
}

static bool is_chained(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        tc_sym between = x->params[1].name;
        if (x != pair && x->n_when == 0 && x->params[0].name == pair->params[0].name &&
            has_pair(set, between, pair->params[1].name) &&
            !has_pair(set, pair->params[1].name, between))
            return true;
    }
    return false;
}

static void condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    (void)rows;
    tc_invariant_set_sort(set);
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = is_chained(set, set->items.items[i]);
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* That what was saved is restored is no coin. */
const struct tc_relation_rule tc_rule_follow = {
    TC_RULE(tc_rule_follow),
    .form.name = "APISequence/follow",
    .form.summary = "after state is loaded comes another load, before the model runs again",
    .form.hint = "Is a part of the state not restored?",
    .form.fault = TC_FAULT_MISSING,
    .form.excused_by = 1u << TC_ROLE_SAVE, /* what was not saved need not be restored */
    .source.name = "follow",
    .source.judged = "the next root forward after a load",
    .source.process_size = sizeof(struct section),
    .source.release_process = section_release,
    .source.condense = condense,
    .claim.key = {TC_BLANK_CALL},
    .claim.calls = {TC_WORDS(TC_BLANK_CALL, TC_BLANK_OTHER)},
    .claim.held = {TC_BLANK_OTHER},
    .claim.excuse = excuse_of,
    .claim.support = TC_SUPPORT_USAGE,
    .claim.min_examples = 1,
    .claim.expected = "after %c comes %o before the model runs again",
    .claim.seen = "%o is missing after %c%l",
    .at = TC_AT(SAVE) | TC_AT(LOAD) | TC_AT_ROOT,
    .judge = follow_judge,
};
