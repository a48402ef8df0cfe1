/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_facts.c - step windows: how often what was called, and what changed which variables
 */
#include "fact/facts.h"
#include "fact/tensor_content.h"

#include <stdlib.h>
#include <string.h>

#include "relation/form.h"
#include "replay/symbols.h"

/* ---- how often ------------------------------------------------------------------------------ */

#define NOT_LOOKED_UP (UINT32_MAX - 1)
/* In place of a count: there were others in later steps. */
#define LATER "\"later\""

/* The counter of a subject, made if it is a new one. */
static struct tc_fact_counter *counter_of(struct tc_fact_watch *w, const struct tc_subject *subject,
                                          bool is_reported)
{
    tc_sym number = tc_strtab_intern(w->counter_tuples, subject, sizeof(*subject));
    struct tc_fact_counter c = {
        .subject = *subject, .is_reported = is_reported, .at = TC_SYM_EMPTY};

    if (number == w->counters.n) {
        for (size_t i = 0; i < TC_FACT_N_TALLIES; i++)
            c.slots[i] = NOT_LOOKED_UP;
        tc_vec_push(&w->counters, c);
    }
    return &w->counters.items[number];
}

/* Does a package call a module of its own accord, as a solver does? */
static bool is_of_package(const struct tc_strtab *symbols, const struct tc_call *call)
{
    const char *by = call->by == TC_NO_SYM ? "" : tc_strtab_text(symbols, call->by);

    return call->role == TC_ROLE_FORWARD && by[0] && strcmp(by, "user") != 0 &&
           strcmp(by, "torch") != 0;
}

void tc_fact_tally(const struct tc_facts *facts, struct tc_fact_watch *w,
                   const struct tc_subject *subject, const struct tc_call *call, int64_t serial)
{
    struct tc_fact_counter *c = counter_of(w, subject, false);

    c->n++;
    c->n_all++;
    c->is_of_package |= is_of_package(facts->table.symbols, call);
    c->at = tc_call_at(call);
    c->from = tc_fact_origin(w, serial);
}

/* Of a flow there is no parity. */
static const struct {
    enum tc_attribute of_call, of_flow;
    bool is_of_flow;
} tallies[TC_FACT_N_TALLIES] = {
    [TC_FACT_TALLY_ALL] = {TC_ATTRIBUTE_COUNT,       TC_ATTRIBUTE_FLOWS,       true },
    [TC_FACT_TALLY_FIRST] = {TC_ATTRIBUTE_COUNT_FIRST, TC_ATTRIBUTE_FLOWS_FIRST, true },
    [TC_FACT_TALLY_LATER] = {TC_ATTRIBUTE_COUNT_LATER, TC_ATTRIBUTE_FLOWS_LATER, true },
    [TC_FACT_TALLY_WHERE] = {TC_ATTRIBUTE_COUNT_WHERE, TC_ATTRIBUTE_FLOWS_WHERE, true },
    [TC_FACT_TALLY_EVEN] = {TC_ATTRIBUTE_COUNT_EVEN,  TC_ATTRIBUTE_FLOWS,       false},
};

/* Each is looked up when it is first said: learning, that makes it a fact. */
uint32_t tc_fact_counter_slot(struct tc_facts *facts, struct tc_fact_counter *c,
                              enum tc_fact_tally tally)
{
    const bool is_flow = c->subject.kind == TC_SUBJECT_FLOW;

    if (c->slots[tally] != NOT_LOOKED_UP)
        return c->slots[tally];
    c->slots[tally] = UINT32_MAX;
    if (is_flow && c->subject.fields[TC_FACT_BY] != TC_NO_SYM)
        return UINT32_MAX; /* of a batch not all is told: how often cannot be said */
    if (!is_flow || tallies[tally].is_of_flow)
        c->slots[tally] = tc_fact_table_slot(
            &facts->table, tc_fact_table_subject(&facts->table, &c->subject), TC_NO_SYM,
            is_flow ? tallies[tally].of_flow : tallies[tally].of_call);
    return c->slots[tally];
}

static void say_count(struct tc_facts *facts, struct tc_fact_counter *c, enum tc_fact_tally tally,
                      uint64_t n)
{
    const uint32_t slot = tc_fact_counter_slot(facts, c, tally);
    struct tc_strbuf *text = &facts->pack.bytes;

    if (slot == UINT32_MAX)
        return;
    tc_strbuf_reset(text);
    if (n && c->has_more)
        tc_strbuf_adds(text, TC_FACT_MANY);
    else
        tc_strbuf_add_int(text, (int64_t)n);
    tc_fact_table_add(&facts->table, slot, text->text, text->size, &facts->entries);
}

/* Of so few counts that differ, all are even by chance. */
#define MIN_COUNTS 3

static void say_even(struct tc_facts *facts, struct tc_fact_counter *c)
{
    const char *text = c->n % 2 == 0 ? "true" : "false";

    c->counts |= UINT64_C(1) << (c->n / 2 < 63 ? c->n / 2 : 63);
    tc_fact_table_add(&facts->table, tc_fact_counter_slot(facts, c, TC_FACT_TALLY_EVEN), text,
                      strlen(text), &facts->entries);
}

/* What is met first in a later window was called not once in those before it. */
static void say_absent(struct tc_facts *facts, struct tc_fact_counter *c, uint64_t n_windows,
                       const struct tc_place *place)
{
    say_count(facts, c, TC_FACT_TALLY_FIRST, 0);
    tc_fact_settle_said(facts, 1, 0, place);
    say_count(facts, c, TC_FACT_TALLY_ALL, 0);
    tc_fact_settle_said(facts, n_windows, 0, place);
    if (n_windows < 2)
        return;
    say_count(facts, c, TC_FACT_TALLY_LATER, 0);
    tc_fact_settle_said(facts, n_windows - 1, 0, place);
}

/* Judging, a call that never comes is missed from the first window on. */
static void expect_counters(const struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; facts->table.is_judging && i < facts->table.slots.n; i++) {
        const struct tc_subject *subject = &facts->table.slots.items[i].fact.subject;
        if (subject->kind == TC_SUBJECT_WINDOW || subject->kind == TC_SUBJECT_FLOW ||
            subject->kind == TC_SUBJECT_USE)
            counter_of(w, subject, true);
    }
}

/* Does a fact break that has not broken before? Its first breach is told with its place. */
static bool breaks_first(const struct tc_facts *facts)
{
    const struct tc_fact_table *table = &facts->table;

    for (size_t i = 0; table->is_judging && i < facts->entries.n; i++) {
        const struct tc_fact_entry *entry = &facts->entries.items[i];
        if (!table->slots.items[entry->slot].broken && tc_fact_entry_breaks(table, entry))
            return true;
    }
    return false;
}

bool tc_fact_is_init(const struct tc_facts *facts, tc_sym stage)
{
    return stage == tc_strtab_find(facts->table.symbols, "init", strlen("init"));
}

static bool is_of_init(const struct tc_facts *facts, const struct tc_fact_counter *c)
{
    return tc_fact_is_init(facts, c->subject.fields[TC_FACT_STAGE]);
}

/* What a count says, which follows from `cause`; returns what the next ones follow from. */
static tc_fact_lead settle_count(struct tc_facts *facts, const struct tc_fact_watch *w,
                                 const struct tc_fact_counter *c, tc_fact_lead cause)
{
    struct tc_place place;
    const bool is_first = breaks_first(facts);
    const bool is_set_up = w->is_set_up && !w->n_windows && is_of_init(facts, c);

    cause = is_set_up && w->set_up_lead ? w->set_up_lead : cause;
    if (is_first) {
        const tc_sym line = tc_fact_find_place(facts, w, &c->subject);
        tc_place_of(facts->event, &place);
        if (is_set_up)
            place = w->set_up;
        place.at = line != TC_SYM_EMPTY ? line : c->at != TC_SYM_EMPTY ? c->at : place.at;
    }
    const tc_fact_lead lead = tc_fact_settle_said(facts, 1, cause, is_first ? &place : NULL);
    facts->has_origin = false;
    return cause ? cause : lead;
}

/* Does it go from or to a call that a limit of the trace cut? Which of its flows are told is
 * chance, where what flows is drawn. */
static bool is_cut(const struct tc_fact_watch *w, const struct tc_fact_counter *c)
{
    uint64_t ignored;

    return c->subject.kind == TC_SUBJECT_FLOW &&
           (tc_map_get(&w->cut, c->subject.fields[TC_FACT_FN], &ignored) ||
            tc_map_get(&w->cut, c->subject.fields[TC_FACT_IN], &ignored));
}

/* Learning, were there perhaps more calls in this window than are told? And how often a package
 * calls something as a script sets up is no matter of the script: a solver takes as many steps as
 * the data asks for. */
static bool has_more(const struct tc_facts *facts, const struct tc_fact_watch *w,
                     const struct tc_fact_counter *c)
{
    uint64_t ignored;

    return !facts->table.is_judging && c->n >= TC_ROLE_MAX_OF_A_FUNCTION &&
           ((!w->n_windows && c->is_of_package && is_of_init(facts, c)) ||
            tc_map_get(&w->cut, c->subject.fields[TC_FACT_FN], &ignored));
}

/* A window begins where a model runs first: what makes the next batch is of the window before. So
 * one that an evaluation begins may have two batches, and calls of training that are in others,
 * too, are not counted in it. */
static bool is_counted(const struct tc_fact_watch *w, struct tc_fact_counter *c)
{
    if (w->begun_in != TC_SYM_EVALUATION)
        c->is_of_training |= c->n > 0;
    return w->begun_in != TC_SYM_EVALUATION || !c->is_of_training ||
           c->subject.fields[TC_FACT_STAGE] == TC_SYM_EVALUATION;
}

static tc_fact_lead say_counts(struct tc_facts *facts, struct tc_fact_watch *w, tc_fact_lead lead)
{
    w->pass = tc_fact_pass_of(facts, w);
    for (size_t i = 0; i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (is_cut(w, c) || !is_counted(w, c)) {
            c->is_uneven |= c->n && c->n_first && c->n != c->n_first && c->n != 2 * c->n_first;
            c->n = 0;
            continue;
        }
        if (!c->is_reported && w->n_windows)
            say_absent(facts, c, w->n_windows, NULL);
        c->is_reported = true;
        c->has_more = has_more(facts, w, c);
        say_count(facts, c, TC_FACT_TALLY_ALL, c->n);
        c->n_first = w->n_windows ? c->n_first : c->n;
        if (c->n && c->subject.kind != TC_SUBJECT_FLOW)
            tc_fact_sequence_add(facts, &c->sequence, w->n_windows, &c->n, sizeof(c->n));
        if (w->n_windows)
            say_count(facts, c, TC_FACT_TALLY_LATER, c->n);
        else if (facts->table.is_judging || c->subject.kind != TC_SUBJECT_FLOW)
            say_count(facts, c, TC_FACT_TALLY_FIRST, c->n);
        if (c->n) {
            if (!c->has_more)
                say_even(facts, c);
            say_count(facts, c, TC_FACT_TALLY_WHERE, c->n);
        }
        lead = settle_count(facts, w, c, lead);
        c->n = 0;
    }
    w->pass = (struct tc_fact_pass){0};
    return lead;
}

void tc_fact_doubt_even(struct tc_facts *facts, struct tc_fact_counter *c)
{
    if (c->counts && __builtin_popcountll(c->counts) < MIN_COUNTS)
        tc_fact_say(facts, &c->subject, TC_NO_SYM, TC_ATTRIBUTE_COUNT_EVEN, "false");
}

/* Would it break how often it is called by the end of the first step? */
static bool is_amiss(struct tc_facts *facts, struct tc_fact_counter *c)
{
    const uint32_t slot = tc_fact_counter_slot(facts, c, TC_FACT_TALLY_FIRST);
    struct tc_strbuf *text = &facts->pack.bytes;

    tc_strbuf_reset(text);
    tc_strbuf_add_int(text, (int64_t)c->n);
    const struct tc_fact_entry entry = {
        .slot = slot, .value = tc_strtab_find(facts->table.symbols, text->text, text->size)};
    return slot != UINT32_MAX && tc_fact_entry_breaks(&facts->table, &entry);
}

/* What was made too often, or not at all, is the cause of what the first step shows. It is told at
 * the end of that: a process that takes no step says nothing of it. */
void tc_fact_set_up(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    const char *stage = tc_strtab_text(facts->table.symbols, call->stage);

    if (w->is_set_up || (strcmp(stage, "training") != 0 && strcmp(stage, "evaluation") != 0))
        return;
    w->is_set_up = true;
    tc_place_of(facts->event, &w->set_up);
    w->set_up.call = TC_SYM_EMPTY;
    expect_counters(facts, w);
    for (size_t i = 0; !w->set_up_lead && i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (is_of_init(facts, c) && is_amiss(facts, c))
            w->set_up_lead = c->slots[TC_FACT_TALLY_FIRST] + 1;
    }
    w->last_lead = w->last_lead ? w->last_lead : w->set_up_lead;
}

/* Learning, at the end of a run: what flowed while it was set up, and then never more. */
void tc_fact_say_set_up(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; w->n_windows && i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (c->subject.kind != TC_SUBJECT_FLOW || !c->n_all)
            continue;
        if (c->n_all == c->n_first && !is_cut(w, c))
            say_count(facts, c, TC_FACT_TALLY_FIRST, c->n_first);
        else if (tc_fact_counter_slot(facts, c, TC_FACT_TALLY_FIRST) != UINT32_MAX)
            tc_fact_table_add(&facts->table, c->slots[TC_FACT_TALLY_FIRST], LATER, strlen(LATER),
                              &facts->entries);
        tc_fact_settle_said(facts, 1, 0, NULL);
    }
}

/* Learning, what other processes of the run called and this one did not. */
void tc_fact_say_absent(struct tc_facts *facts, struct tc_fact_watch *w,
                        const struct tc_fact_watch *other, const struct tc_place *place)
{
    for (size_t i = 0; w->n_windows && i < other->counters.n; i++) {
        const struct tc_subject *subject = &other->counters.items[i].subject;
        if (tc_strtab_find(w->counter_tuples, subject, sizeof(*subject)) == TC_NO_SYM)
            say_absent(facts, counter_of(w, subject, true), w->n_windows, place);
    }
}

/* ---- which variables ------------------------------------------------------------------------ */

/* A gradient that is rounding and nothing else comes out as zero now and then where it has one
 * element, as that of a bias under a softmax. */
static bool has_one_element(const struct tc_strtab *symbols, const struct tc_variable *v)
{
    const char *shape = tc_strtab_text(symbols, v->shape);

    return strspn(shape, "[1,]") == strlen(shape);
}

/* Is it chance whether the step changes anything? */
static bool is_rounding(const struct tc_strtab *symbols, const struct tc_variable *v)
{
    return v->grad == TC_SYM_TINY || (v->grad == TC_SYM_ZERO && has_one_element(symbols, v));
}

/* The call that is meant by a change inside it. */
static tc_sym changer(struct tc_facts *facts, const struct tc_call *cause, enum tc_role *role)
{
    const struct tc_call *c = cause;

    while (c && c->role != TC_ROLE_STEP && c->role != TC_ROLE_BACKWARD && !c->is_root)
        c = c->parent;
    *role = c ? c->role : TC_ROLE_FUNCTION;
    if (c && c->role == TC_ROLE_STEP)
        return tc_strtab_intern_text(facts->table.symbols, "step");
    if (c && c->role == TC_ROLE_BACKWARD)
        return tc_strtab_intern_text(facts->table.symbols, "backward");
    if (c)
        return TC_SYM_ROOT_FORWARD;
    return cause ? cause->descriptor : tc_strtab_intern_text(facts->table.symbols, "nobody");
}

static struct tc_fact_changes *changes_of(struct tc_fact_watch *w, tc_sym by, tc_sym number,
                                          bool is_gradient)
{
    for (size_t i = 0; i < w->changes.n; i++) {
        struct tc_fact_changes *c = &w->changes.items[i];
        if (c->by == by && c->number == number && c->is_gradient == is_gradient)
            return c;
    }
    tc_vec_push(&w->changes,
                ((struct tc_fact_changes){.by = by, .number = number, .is_gradient = is_gradient}));
    return &w->changes.items[w->changes.n - 1];
}

static void note_change(struct tc_facts *facts, struct tc_fact_watch *w,
                        const struct tc_event *event, bool is_gradient)
{
    enum tc_role role;
    tc_sym by = changer(facts, event->call, &role), number = TC_NO_SYM;
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_fact_changes *changes;

    if (is_gradient && role == TC_ROLE_BACKWARD) {
        tc_strbuf_add_int(&text, w->n_backwards);
        number = tc_strtab_intern(facts->table.symbols, text.text, text.size);
        tc_strbuf_release(&text);
    }
    changes = changes_of(w, by, number, is_gradient);
    tc_vec_push(&changes->names, event->variable->name);
}

void tc_fact_step_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_call *step)
{
    const tc_sym by = tc_strtab_intern_text(facts->table.symbols, "step");
    struct tc_fact_changes *changes = NULL;

    for (size_t i = 0; i < step->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(w->process, step->params[i]);
        if (!v || !is_rounding(facts->table.symbols, v))
            continue;
        changes = changes ? changes : changes_of(w, by, TC_NO_SYM, false);
        tc_vec_push(&changes->names, v->name);
    }
}

static int compare_texts(const void *a, const void *b, void *symbols)
{
    return strcmp(tc_strtab_text(symbols, *(const tc_sym *)a),
                  tc_strtab_text(symbols, *(const tc_sym *)b));
}

/* Distinct names in the order of their letters, as JSON. */
void tc_fact_print_names(struct tc_strtab *symbols, tc_sym *names, size_t n, struct tc_strbuf *out)
{
    const char *before = "[";

    if (n)
        qsort_r(names, n, sizeof(*names), compare_texts, symbols);
    for (size_t i = 0; i < n; i++) {
        if (i && names[i] == names[i - 1])
            continue;
        tc_strbuf_adds(out, before);
        tc_strbuf_add_json(out, tc_strtab_text(symbols, names[i]),
                           tc_strtab_size(symbols, names[i]));
        before = ",";
    }
    tc_strbuf_adds(out, *before == '[' ? "[]" : "]");
}

/* They follow from `lead`; what a step changes else from a number that it is taken with. Returns
 * what the next ones follow from. */
static tc_fact_lead say_changes(struct tc_facts *facts, struct tc_fact_watch *w, tc_fact_lead lead)
{
    const tc_sym step = tc_strtab_intern_text(facts->table.symbols, "step");
    struct tc_strbuf text = TC_STRBUF_INIT;
    uint64_t n_gradients = 0;

    for (size_t i = 0; i < w->changes.n; i++) {
        struct tc_fact_changes *c = &w->changes.items[i];
        struct tc_subject subject = tc_subject_of(TC_SUBJECT_CHANGES);
        if (c->is_gradient && !c->names.n)
            continue;
        n_gradients += c->is_gradient;
        subject.fields[TC_FACT_FN] = c->by;
        subject.fields[TC_FACT_NAME] = c->number;
        tc_strbuf_reset(&text);
        tc_fact_print_names(facts->table.symbols, c->names.items, c->names.n, &text);
        if (!c->is_gradient)
            tc_fact_sequence_add(facts, &c->sequence, w->n_windows, text.text, text.size);
        tc_fact_say(facts, &subject, TC_NO_SYM,
                    c->is_gradient ? TC_ATTRIBUTE_GRADIENTS
                    : w->n_windows ? TC_ATTRIBUTE_DATA
                                   : TC_ATTRIBUTE_DATA_FIRST,
                    text.text);
        c->names.n = 0;
        const bool is_of_step = c->by == step && !c->is_gradient;
        const tc_fact_lead cause = lead ? lead : is_of_step ? w->setting_lead : 0;
        const tc_fact_lead changed = tc_fact_settle_said(facts, 1, cause, NULL);
        lead = lead ? lead : changed;
    }
    const struct tc_subject all = tc_subject_of(TC_SUBJECT_CHANGES);
    tc_strbuf_reset(&text);
    tc_strbuf_add_int(&text, (int64_t)n_gradients);
    tc_fact_say(facts, &all, TC_NO_SYM, TC_ATTRIBUTE_GRADIENT_CALLS, text.text);
    tc_strbuf_release(&text);
    const tc_fact_lead changed = tc_fact_settle_said(facts, 1, lead, NULL);
    return lead ? lead : changed;
}

/* ---- one variable --------------------------------------------------------------------------- */

/* What is told of a tensor in other ways. */
static const char *const left_out[] = {"data",   "grad",   "is_leaf", "owner",
                                       "device", "layout", "sketch"};

static const struct {
    const char *key;
    enum tc_attribute attribute;
} variable_rows[] = {
    {"dtype",         TC_ATTRIBUTE_DTYPE        },
    {"shape",         TC_ATTRIBUTE_SHAPE        },
    {"requires_grad", TC_ATTRIBUTE_REQUIRES_GRAD},
};

static void say_attribute(struct tc_fact_reader *reader, const struct tc_member *m)
{
    struct tc_strbuf path = TC_STRBUF_INIT;

    for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
        if (tc_str_is(m->key, left_out[i]))
            return;
    for (size_t i = 0; i < sizeof(variable_rows) / sizeof(*variable_rows); i++)
        if (tc_str_is(m->key, variable_rows[i].key)) {
            tc_fact_add_value(reader, NULL, variable_rows[i].attribute, &m->value);
            return;
        }
    tc_strbuf_add(&path, m->key.text, m->key.size);
    tc_fact_add_value(reader, path.text, TC_ATTRIBUTE_VALUE, &m->value);
    tc_strbuf_release(&path);
}

/* As it was first seen; or as a call set it later. */
static void say_attributes(struct tc_facts *facts, const struct tc_event *event, tc_sym name)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_VARIABLE);
    const struct tc_value *attrs = event->record->attrs;
    enum tc_role role;

    subject.fields[TC_FACT_NAME] = name;
    if (!event->is_new)
        subject.fields[TC_FACT_BY] = changer(facts, event->call, &role);
    struct tc_fact_reader reader = {.table = &facts->table,
                                    .out = &facts->entries,
                                    .subject = tc_fact_table_subject(&facts->table, &subject)};
    for (uint32_t i = 0; i < attrs->n; i++)
        say_attribute(&reader, &attrs->members[i]);
    tc_fact_reader_release(&reader);
}

static bool is_cleared(const struct tc_value *grad)
{
    return tc_value_is(grad, "null") || tc_value_is(grad, "zero");
}

static bool is_gradient(struct tc_facts *facts, const struct tc_event *event,
                        const struct tc_value *grad)
{
    const tc_sym before = event->variable->grad_before;
    enum tc_role role;

    if (!is_cleared(grad)) /* one that is clipped to next to nothing is no other gradient */
        return before == TC_SYM_GRAD_NULL || before == TC_SYM_ZERO;
    (void)changer(facts, event->call, &role);
    return role == TC_ROLE_BACKWARD && tc_value_is(grad, "zero") &&
           has_one_element(facts->table.symbols, event->variable);
}

/* A window is the place of what happens to a variable: the call that did it may have begun long
 * ago. */
static struct tc_place place_of(const struct tc_fact_watch *w, const struct tc_event *event)
{
    const struct tc_process *process = w->process;
    const struct tc_record *record = event->record;
    int64_t t = tc_process_time(process, record->t);

    return (struct tc_place){.file = process->file,
                             .rank = process->rank,
                             .step = record->step == TC_NONE ? 0 : record->step,
                             .unix_ns = process->unix_ns ? t : 0,
                             .begin_ns = t,
                             .end_ns = t,
                             .window = process->window.number,
                             .order = event->order,
                             .stage = event->call ? event->call->stage : TC_SYM_EMPTY,
                             .at = event->call ? tc_call_at(event->call) : TC_SYM_EMPTY,
                             .call = event->call ? event->call->descriptor : TC_SYM_EMPTY};
}

void tc_fact_variable(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_event *event)
{
    const struct tc_value *attrs = event->record->attrs, *grad;
    tc_fact_lead lead = 0;
    tc_sym name = event->variable ? event->variable->name
                                  : tc_symbols_str(facts->table.symbols, event->record->name);

    if (!attrs || attrs->kind != TC_VALUE_OBJECT)
        return;
    if (event->variable || event->is_new)
        say_attributes(facts, event, name);
    if (facts->entries.n) {
        const struct tc_place place = place_of(w, event);
        lead = tc_fact_settle_said(facts, 1, w->last_lead, &place);
        if (!w->last_lead && tc_fact_lead_is_law(lead))
            w->last_lead = lead;
    }
    if (!event->variable)
        tc_fact_keep_settings(facts, w, event->record, name, lead);
    grad = tc_value_get(attrs, "grad");
    if (event->variable && !event->is_new && tc_value_get(attrs, "data"))
        note_change(facts, w, event, false);
    if (event->variable && grad && is_gradient(facts, event, grad))
        note_change(facts, w, event, true);
}

/* ---- the end of a window -------------------------------------------------------------------- */

void tc_fact_say_trainable(struct tc_facts *facts, const struct tc_fact_watch *w,
                           enum tc_attribute attribute)
{
    const struct tc_subject subject = tc_subject_of(TC_SUBJECT_VARIABLES);
    struct tc_strbuf text = TC_STRBUF_INIT;
    TC_VEC(tc_sym) names = {0};
    uint64_t serial, pointer;

    for (size_t pos = 0; tc_map_each(&w->process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        bool is_parameter = v->kind == TC_SYM_PARAMETER;
        if (attribute == TC_ATTRIBUTE_EXIST ? is_parameter || v->kind == TC_SYM_BUFFER
                                            : is_parameter && v->requires_grad)
            tc_vec_push(&names, v->name);
    }
    tc_fact_print_names(facts->table.symbols, names.items, names.n, &text);
    tc_fact_say(facts, &subject, TC_NO_SYM, attribute, text.text);
    tc_vec_release(&names);
    tc_strbuf_release(&text);
}

void tc_fact_window_ends(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_window *window)
{
    if (!window->has_step || w->process->is_sampled)
        return;
    if (!w->n_windows) {
        struct tc_place place;
        expect_counters(facts, w);
        tc_place_of(facts->event, &place);
        tc_fact_say_order(facts, w, place);
        tc_fact_say_trainable(facts, w, TC_ATTRIBUTE_TRAINABLE);
    }
    tc_fact_tops_end(facts, w);
    tc_fact_lead lead = tc_fact_settle_said(facts, 1, w->last_lead, NULL);
    lead = say_counts(facts, w, w->last_lead ? w->last_lead : lead);
    tc_place_of(facts->event, &w->last);
    lead = say_changes(facts, w, lead);
    w->setting_lead = 0;
    if (!w->last_lead && tc_fact_lead_is_law(lead))
        w->last_lead = lead;
    w->n_windows++;
    w->n_backwards = 0;
    w->begun_in = TC_NO_SYM;
    tc_map_clear(&w->rows);
    tc_map_clear(&w->read);
}
