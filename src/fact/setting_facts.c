/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_facts.c - the numbers of parameter groups and scalers with which an optimizer begins
 *
 * What a constructor gave may be another number by then, as by a schedule that begins with a
 * factor, or that goes on after a resume. A job may begin with a second optimizer what a first one
 * has left: then its groups have names of their own. So do the parameters that it holds, in the
 * order in which a state is loaded.
 */
#include "fact/setting_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "fact/name_list.h"
#include "fact/occasion.h"
#include "fact/table.h"
#include "replay/symbols.h"

/* Only the first record of a group names it. */
static struct tc_fact_setting *setting_of(struct tc_fact_watch *w, int64_t serial, tc_sym name,
                                          tc_sym key)
{
    for (size_t i = 0; i < w->settings.n; i++) {
        struct tc_fact_setting *s = &w->settings.items[i];
        if (s->serial != serial)
            continue;
        name = s->name;
        if (s->key == key)
            return s;
    }
    tc_vec_push(&w->settings,
                ((struct tc_fact_setting){.serial = serial, .name = name, .key = key}));
    return &w->settings.items[w->settings.n - 1];
}

static void keep_setting(struct tc_facts *facts, struct tc_fact_setting *s, double number,
                         tc_fact_lead lead)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (s->is_told)
        return;
    tc_strbuf_add_number(&text, number);
    s->value = tc_strtab_intern(facts->table.symbols, text.text, text.size);
    s->lead = lead;
    tc_strbuf_release(&text);
}

void tc_fact_keep_settings(struct tc_facts *facts, struct tc_fact_watch *w,
                           const struct tc_record *record, tc_sym name, tc_fact_lead lead)
{
    for (uint32_t i = 0; i < record->attrs->n; i++) {
        const struct tc_member *m = &record->attrs->members[i];
        const bool is_integer = m->value.kind == TC_VALUE_INT;
        if (!is_integer && (m->value.kind != TC_VALUE_FLOAT || !isfinite(m->value.number)))
            continue;
        const tc_sym key = tc_symbols_str(facts->table.symbols, m->key);
        keep_setting(facts, setting_of(w, record->var, name, key),
                     is_integer ? (double)m->value.integer : m->value.number, lead);
    }
}

/* ---- the first step of an optimizer --------------------------------------------------------- */

static void say_settings(struct tc_facts *facts, struct tc_fact_watch *w)
{
    const struct tc_strtab *symbols = facts->table.symbols;
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_VARIABLE);

    subject.fields[TC_FACT_STAGE] = tc_strtab_intern_text(facts->table.symbols, "the first step");
    for (size_t i = 0; i < w->settings.n; i++) {
        struct tc_fact_setting *s = &w->settings.items[i];
        if (s->is_told)
            continue;
        s->is_told = true;
        subject.fields[TC_FACT_NAME] = s->name;
        tc_fact_say(facts, &subject, s->key, TC_ATTRIBUTE_VALUE, tc_strtab_text(symbols, s->value));
        const tc_fact_lead lead = tc_fact_settle_said(facts, 1, s->lead, NULL);
        w->setting_lead = w->setting_lead ? w->setting_lead : lead;
    }
}

/* Longer orders are told by a number. */
#define MAX_NAMED 64

static void print_order(const struct tc_strtab *symbols, const tc_sym *names, size_t n,
                        struct tc_strbuf *out)
{
    uint64_t hash = n;

    for (size_t i = 0; i < n; i++)
        hash =
            tc_hash64(tc_strtab_text(symbols, names[i]), tc_strtab_size(symbols, names[i]), hash);
    if (n > MAX_NAMED) {
        tc_strbuf_addf(out, "\"%zu parameters (%08x)\"", n, (unsigned)hash);
        return;
    }
    tc_fact_print_names(symbols, names, n, out);
}

/* Of the same parameters: those of another set are reported elsewhere. */
static void say_order(struct tc_facts *facts, const tc_sym *names, tc_sym *sorted, size_t n)
{
    struct tc_strtab *symbols = facts->table.symbols;
    const struct tc_subject all = tc_subject_of(TC_SUBJECT_VARIABLES);
    struct tc_strbuf order = TC_STRBUF_INIT;
    uint64_t hash = n;

    qsort_r(sorted, n, sizeof(*sorted), tc_compare_symbols, symbols);
    for (size_t i = 0; i < n; i++)
        hash =
            tc_hash64(tc_strtab_text(symbols, sorted[i]), tc_strtab_size(symbols, sorted[i]), hash);
    tc_strbuf_addf(&order, "%zu (%08x)", n, (unsigned)hash);
    const tc_sym path = tc_strtab_intern(symbols, order.text, order.size);
    tc_strbuf_reset(&order);
    print_order(symbols, names, n, &order);
    tc_fact_say(facts, &all, path, TC_ATTRIBUTE_OWNED_IN_ORDER, order.text);
    tc_fact_settle_said(facts, 1, 0, NULL);
    tc_strbuf_release(&order);
}

static void say_owned(struct tc_facts *facts, const struct tc_fact_watch *w,
                      const struct tc_call *step)
{
    TC_VEC(tc_sym) names = {0};
    TC_VEC(tc_sym) sorted = {0};

    for (size_t i = 0; i < step->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(w->process, step->params[i]);
        if (!v || v->name == TC_NO_SYM)
            break;
        tc_vec_push(&names, v->name);
        tc_vec_push(&sorted, v->name);
    }
    if (names.n > 1 && names.n == step->n_params)
        say_order(facts, names.items, sorted.items, names.n);
    tc_vec_release(&names);
    tc_vec_release(&sorted);
}

void tc_fact_say_start(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *step)
{
    bool is_new;

    *tc_map_at(&w->stepped, (uint64_t)tc_value_int(tc_value_get(step->self, "id"), 0), &is_new) = 1;
    if (!is_new)
        return;
    say_settings(facts, w);
    say_owned(facts, w, step);
}
