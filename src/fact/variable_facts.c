/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable_facts.c - the variables: what each one is, which of them calls change, which are trained
 *
 * What changes is gathered while a window lasts, as names under the call that is meant, and told at
 * its end.
 */
#include "fact/variable_facts.h"

#include <string.h>

#include "fact/drawn.h"
#include "fact/name_list.h"
#include "fact/occasion.h"
#include "fact/operand_facts.h"
#include "fact/setting_facts.h"
#include "fact/table.h"
#include "relation/form.h"
#include "replay/symbols.h"

/* ---- which of them change -------------------------------------------------------------------- */

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
        if (!v || v->grad != TC_SYM_TINY) /* it is chance whether the step changes anything */
            continue;
        changes = changes ? changes : changes_of(w, by, TC_NO_SYM, false);
        tc_vec_push(&changes->names, v->name);
    }
}

/* Distinct names in the order of their letters. */
static void print_names(struct tc_strtab *symbols, tc_sym *names, size_t n, struct tc_strbuf *out)
{
    n = tc_fact_sort_names(symbols, names, n);
    tc_fact_print_names(symbols, names, n, out);
}

/* They follow from `lead`; what a step changes else from a number that it is taken with. Returns
 * what the next ones follow from. */
tc_fact_lead tc_fact_say_changes(struct tc_facts *facts, struct tc_fact_watch *w, tc_fact_lead lead)
{
    const tc_sym step = tc_strtab_intern_text(facts->table.symbols, "step");
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < w->changes.n; i++) {
        struct tc_fact_changes *c = &w->changes.items[i];
        struct tc_subject subject = tc_subject_of(TC_SUBJECT_CHANGES);
        if (c->is_gradient && !c->names.n)
            continue;
        subject.fields[TC_FACT_FN] = c->by;
        subject.fields[TC_FACT_NAME] = c->number;
        tc_strbuf_reset(&text);
        print_names(facts->table.symbols, c->names.items, c->names.n, &text);
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
    tc_strbuf_release(&text);
    return lead;
}

/* ---- one variable ---------------------------------------------------------------------------- */

/* What is recorded of a tensor in other ways. */
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

/* One that is clipped to next to nothing is no other gradient. */
static bool is_gradient(const struct tc_event *event, const struct tc_value *grad)
{
    const tc_sym before = event->variable->grad_before;

    return !is_cleared(grad) && (before == TC_SYM_GRAD_NULL || before == TC_SYM_ZERO);
}

/* A window is the place of what happens to a variable: the call that did it may have begun long
 * ago. */
static struct tc_place place_of_event(const struct tc_fact_watch *w, const struct tc_event *event)
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
        const struct tc_place place = place_of_event(w, event);
        lead = tc_fact_settle_said(facts, 1, w->last_lead, &place);
        if (!w->last_lead && tc_fact_lead_is_law(lead))
            w->last_lead = lead;
    }
    if (!event->variable)
        tc_fact_keep_settings(facts, w, event->record, name, lead);
    grad = tc_value_get(attrs, "grad");
    if (event->variable && !event->is_new && tc_value_get(attrs, "data"))
        note_change(facts, w, event, false);
    if (event->variable && grad && is_gradient(event, grad))
        note_change(facts, w, event, true);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void tc_fact_say_trainable(struct tc_facts *facts, const struct tc_fact_watch *w,
                           enum tc_attribute attribute)
{
    const struct tc_subject subject = tc_subject_of(TC_SUBJECT_VARIABLES);
    struct tc_strbuf text = TC_STRBUF_INIT;
    TC_VEC(tc_sym) names = {0};
    const struct tc_variable *v;

    if (!w->process->variables.n) /* it holds no model, as one that only reads data */
        return;
    for (size_t pos = 0; (v = tc_map_next(&w->process->variables, &pos));) {
        bool is_parameter = v->kind == TC_SYM_PARAMETER;
        if (attribute == TC_ATTRIBUTE_EXIST ? is_parameter || v->kind == TC_SYM_BUFFER
                                            : is_parameter && v->requires_grad)
            tc_vec_push(&names, v->name);
    }
    print_names(facts->table.symbols, names.items, names.n, &text);
    tc_fact_say(facts, &subject, TC_NO_SYM, attribute, text.text);
    tc_vec_release(&names);
    tc_strbuf_release(&text);
}
