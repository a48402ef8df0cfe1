/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - how many batches an evaluation has is a matter of its data, and no law of the script
 *
 * How often the script asks a model in evaluation is reported as a setting (attribute.c). What is
 * done with each batch goes with it: of each that is more, or less, as often. Of that nothing is
 * said.
 */
#include "fact/pass.h"

#include <stdlib.h>

#include "fact/attribute.h"
#include "fact/counter.h"
#include "replay/symbols.h"

static bool is_of_evaluation(const struct tc_subject *subject)
{
    return subject->fields[TC_FACT_STAGE] == TC_SYM_EVALUATION;
}

struct tc_fact_pass tc_fact_pass_of(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; facts->table.is_judging && i < w->counters.n; i++) {
        struct tc_fact_counter *c = &w->counters.items[i];
        if (!c->n || c->subject.fields[TC_FACT_FN] != TC_SYM_ROOT_FORWARD ||
            !is_of_evaluation(&c->subject))
            continue;
        for (unsigned tally = 0; tally < TC_FACT_N_TALLIES; tally++) {
            const uint32_t slot = tc_fact_counter_slot(facts, c, (enum tc_fact_tally)tally);
            if (slot == UINT32_MAX || !tc_fact_is_tallied(w, (enum tc_fact_tally)tally))
                continue;
            const uint64_t expected = strtoull(
                tc_strtab_text(facts->table.symbols, facts->table.slots.items[slot].fact.value),
                NULL, 10);
            if (expected && expected != c->n)
                return (struct tc_fact_pass){.expected = expected, .seen = c->n};
        }
    }
    return (struct tc_fact_pass){0};
}

/* Done a whole number of times with each batch, the rest as it was? */
static bool is_with_each(const struct tc_fact_pass *pass, uint64_t expected, uint64_t seen)
{
    const int64_t more = (int64_t)pass->seen - (int64_t)pass->expected;
    const int64_t difference = (int64_t)seen - (int64_t)expected, times = difference / more;

    return difference % more == 0 && times > 0 && (uint64_t)times * pass->expected <= expected;
}

bool tc_fact_is_of_pass(struct tc_facts *facts, const struct tc_fact *fact, tc_sym seen)
{
    struct tc_fact_watch *w;
    struct tc_fact_pass pass;

    if ((!tc_attribute_row(fact->attribute)->is_count && fact->attribute != TC_ATTRIBUTE_LENGTH) ||
        seen == TC_NO_SYM || fact->subject.fields[TC_FACT_FN] == TC_SYM_ROOT_FORWARD ||
        !is_of_evaluation(&fact->subject))
        return false;
    w = tc_fact_watch_of(facts, facts->event->process);
    pass = w->pass.expected ? w->pass : tc_fact_pass_of(facts, w);
    const uint64_t expected = strtoull(tc_strtab_text(facts->table.symbols, fact->value), NULL, 10);
    const uint64_t n = strtoull(tc_strtab_text(facts->table.symbols, seen), NULL, 10);
    return pass.expected && n && is_with_each(&pass, expected, n);
}
