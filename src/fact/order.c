/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.c - which call first comes before which, of those that come before the end of the first
 * step
 *
 * Learning, that one came before another is one value of their pair; of what is drawn there is one
 * more.
 */
#include "fact/order.h"

#include <stdlib.h>
#include <string.h>

#include "fact/occasion.h"
#include "fact/tensor_content.h"

/* Pairs grow with the square. */
#define MAX_ORDERED 64

static int compare_labels(const struct tc_strtab *symbols, const struct tc_fact_label *a,
                          const struct tc_fact_label *b)
{
    int order = strcmp(tc_strtab_text(symbols, a->fn), tc_strtab_text(symbols, b->fn));

    if (order || a->of == b->of)
        return order;
    return strcmp(a->of == TC_NO_SYM ? "" : tc_strtab_text(symbols, a->of),
                  b->of == TC_NO_SYM ? "" : tc_strtab_text(symbols, b->of));
}

static void say_pair(struct tc_facts *facts, const struct tc_fact_label *a,
                     const struct tc_fact_label *b)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_RUN);

    if (compare_labels(facts->table.symbols, a, b) > 0) {
        const struct tc_fact_label *c = a;
        a = b;
        b = c;
    }
    subject.fields[TC_FACT_FN] = a->fn;
    subject.fields[TC_FACT_OF] = a->of;
    subject.fields[TC_FACT_IN] = b->fn;
    subject.fields[TC_FACT_IN_OF] = b->of;
    tc_fact_say(facts, &subject, TC_NO_SYM, TC_ATTRIBUTE_BEFORE,
                a->order < b->order ? "true" : "false");
}

static int by_order(const void *a, const void *b)
{
    const struct tc_fact_label *x = *(const struct tc_fact_label *const *)a;
    const struct tc_fact_label *y = *(const struct tc_fact_label *const *)b;

    return x->order < y->order ? -1 : x->order > y->order;
}

/* Those of which an order is reported. */
static size_t find_ordered(const struct tc_fact_watch *w,
                           const struct tc_fact_label *ordered[MAX_ORDERED])
{
    size_t n = 0;

    for (size_t i = 0; i < w->labels.n && n < MAX_ORDERED; i++)
        if (w->labels.items[i].order && w->labels.items[i].order <= MAX_ORDERED)
            ordered[n++] = &w->labels.items[i];
    qsort(ordered, n, sizeof(*ordered), by_order);
    return n;
}

/* What comes too early is reported at its own line, in the order of these lines; the rest of the
 * step follows from it. */
void tc_fact_say_order(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_place place)
{
    const struct tc_fact_label *ordered[MAX_ORDERED];
    const size_t n = find_ordered(w, ordered);

    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++)
            say_pair(facts, ordered[i], ordered[j]);
        place.at = ordered[i]->at;
        const tc_fact_lead lead = tc_fact_settle_said(facts, 1, w->last_lead, &place);
        if (!w->last_lead && tc_fact_lead_is_law(lead))
            w->last_lead = lead;
    }
}
