/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_facts.c - the numbers of parameter groups and scalers with which the first step begins
 *
 * What a constructor gave may be another number by then, as by a schedule that begins with a
 * factor.
 */
#include "fact/facts.h"

#include <math.h>

#include "base/number.h"
#include "replay/symbols.h"

/* Only the first record of a group names it. */
static void keep_setting(struct tc_fact_watch *w, const struct tc_fact_setting *now)
{
    tc_sym name = now->name;

    for (size_t i = 0; i < w->settings.n; i++) {
        struct tc_fact_setting *s = &w->settings.items[i];
        if (s->serial != now->serial)
            continue;
        name = s->name;
        if (s->key == now->key) {
            s->value = now->value;
            s->lead = now->lead;
            return;
        }
    }
    tc_vec_push(&w->settings, *now);
    w->settings.items[w->settings.n - 1].name = name;
}

void tc_fact_keep_settings(struct tc_facts *facts, struct tc_fact_watch *w,
                           const struct tc_record *record, tc_sym name, tc_fact_lead lead)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t i = 0; i < record->attrs->n && !w->has_stepped; i++) {
        const struct tc_member *m = &record->attrs->members[i];
        const bool is_integer = m->value.kind == TC_VALUE_INT;
        if (!is_integer && (m->value.kind != TC_VALUE_FLOAT || !isfinite(m->value.number)))
            continue;
        tc_strbuf_reset(&text);
        tc_strbuf_add_number(&text, is_integer ? (double)m->value.integer : m->value.number);
        const struct tc_fact_setting now = {
            record->var, name, tc_symbols_str(facts->table.symbols, m->key),
            tc_strtab_intern(facts->table.symbols, text.text, text.size), lead};
        keep_setting(w, &now);
    }
    tc_strbuf_release(&text);
}

void tc_fact_say_start(struct tc_facts *facts, struct tc_fact_watch *w)
{
    const struct tc_strtab *symbols = facts->table.symbols;
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_VARIABLE);

    subject.fields[TC_FACT_STAGE] = tc_strtab_intern_text(facts->table.symbols, "the first step");
    for (size_t i = 0; i < w->settings.n; i++) {
        const struct tc_fact_setting *s = &w->settings.items[i];
        subject.fields[TC_FACT_NAME] = s->name;
        tc_fact_say(facts, &subject, s->key, TC_ATTRIBUTE_VALUE, tc_strtab_text(symbols, s->value));
        tc_fact_settle_said(facts, 1, s->lead, NULL);
    }
    w->has_stepped = true;
}
