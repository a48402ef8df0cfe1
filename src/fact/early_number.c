/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_number.c - how large losses and norms are before training has changed them, and batches
 *
 * A loss that is summed and not averaged, divided twice, or taken over padding is a multiple of
 * what it was, from the first step on. What it is then depends on the script and hardly on the
 * seed, and on the learning rate not yet. How large the numbers of a batch are, and how many of
 * them are distinct, training does not change: inputs that were scaled twice, words that a
 * vocabulary does not know.
 */
#include "fact/early_number.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "fact/number_range.h"
#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/walk.h"
#include "relation/support.h"
#include "trace/member.h"

/* So many steps are early. */
#define EARLY 3

static struct tc_fact_scalar *scalar_of(struct tc_fact_watch *w, uint32_t subject, tc_sym path,
                                        enum tc_attribute attribute)
{
    bool is_new;
    uint64_t *place = tc_map_at(&w->scalar_places, tc_hash_mix(subject, path, attribute), &is_new);

    if (is_new) {
        *place = w->scalars.n;
        tc_vec_push(&w->scalars, ((struct tc_fact_scalar){
                                     subject, path, attribute, {INFINITY, -INFINITY, 0}
        }));
    }
    return &w->scalars.items[*place];
}

static tc_fact_lead judge_number(struct tc_facts *facts, uint32_t subject, tc_sym path,
                                 enum tc_attribute attribute, double number, tc_fact_lead cause)
{
    const uint32_t slot = tc_fact_table_slot(&facts->table, subject, path, attribute);
    struct tc_fact_range expected;
    char text[32];
    int size;

    if (slot == UINT32_MAX)
        return 0;
    const tc_sym value = facts->table.slots.items[slot].fact.value;
    const struct tc_fact_range seen = {number, number, 1};
    if (tc_fact_read_range(facts->table.symbols, value, &expected) &&
        tc_fact_is_about(&seen, &expected, attribute)) {
        tc_fact_table_add(&facts->table, slot, tc_strtab_text(facts->table.symbols, value),
                          tc_strtab_size(facts->table.symbols, value), &facts->entries);
    } else {
        size = snprintf(text, sizeof(text), "%.4g", number);
        tc_fact_table_add(&facts->table, slot, text, (size_t)size, &facts->entries);
    }
    return tc_fact_settle_said(facts, 1, cause, NULL);
}

static tc_fact_lead meet_number(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t subject,
                                const char *name, enum tc_attribute attribute, double number,
                                tc_fact_lead cause)
{
    const tc_sym path = tc_strtab_intern_text(facts->table.symbols, name);

    if (facts->table.is_judging)
        return judge_number(facts, subject, path, attribute, number, cause);
    struct tc_fact_range *range = &scalar_of(w, subject, path, attribute)->range;
    range->low = fmin(range->low, number);
    range->high = fmax(range->high, number);
    range->n++;
    return 0;
}

tc_fact_lead tc_fact_meet_scalar(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t subject,
                                 const char *name, const struct tc_value *tensor,
                                 tc_fact_lead cause)
{
    const struct tc_value *value = tc_value_get(tensor, "value");

    if (w->process->is_sampled || !value || value->kind != TC_VALUE_FLOAT ||
        !isfinite(value->number) || w->n_windows >= EARLY)
        return 0;
    return meet_number(facts, w, subject, name, TC_ATTRIBUTE_ABOUT, value->number, cause);
}

/* ---- batches -------------------------------------------------------------------------------- */

struct batch {
    struct tc_facts *facts;
    struct tc_fact_watch *watch;
    uint32_t subject;
    tc_fact_lead lead; /* once something broke the rest follows from it */
};

static void meet_tensor(void *context, const char *path, const struct tc_value *tensor)
{
    struct batch *b = context;
    const struct tc_value *rms = tc_value_get(tc_value_get(tensor, "scale"), "rms");
    const int64_t n_distinct =
        tc_value_int(tc_value_get(tc_value_get(tensor, "summary"), "distinct"), TC_NONE);

    if (b->lead || !tc_is_tensor(tensor) ||
        tc_count_elements(tc_value_get(tensor, "shape")) <
            TC_MIN_ELEMENTS) /* of fewer the numbers are chance */
        return;
    if (n_distinct >= 0)
        b->lead = meet_number(b->facts, b->watch, b->subject, path, TC_ATTRIBUTE_DISTINCT,
                              (double)n_distinct, 0);
    else if (rms && rms->kind == TC_VALUE_FLOAT && isfinite(rms->number))
        b->lead = meet_number(b->facts, b->watch, b->subject, path, TC_ATTRIBUTE_MAGNITUDE,
                              rms->number, 0);
}

tc_fact_lead tc_fact_meet_batch_numbers(struct tc_facts *facts, struct tc_fact_watch *w,
                                        uint32_t subject, const char *path,
                                        const struct tc_value *value)
{
    struct batch b = {.facts = facts, .watch = w, .subject = subject};

    tc_fact_walk(value, path, meet_tensor, &b);
    return b.lead;
}

void tc_fact_say_scalars(struct tc_facts *facts, struct tc_fact_watch *w)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < w->scalars.n; i++) {
        const struct tc_fact_scalar *s = &w->scalars.items[i];
        if (s->attribute == TC_ATTRIBUTE_ABOUT && w->n_windows < EARLY)
            continue;
        const struct tc_subject subject = tc_fact_table_subject_at(&facts->table, s->subject);
        tc_strbuf_reset(&text);
        tc_fact_print_range(&s->range, &text);
        tc_fact_say(facts, &subject, s->path, s->attribute, text.text);
        tc_fact_settle_said(facts, s->range.n, 0, NULL);
    }
    tc_strbuf_release(&text);
}
