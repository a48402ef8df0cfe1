/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varying_number.c - whether a number that a call is given is another one now and then
 *
 * A number with several values is no fact by them. But a weight that falls, a position that goes
 * on, the size of a last batch: where runs had others, a run in which it stands still is broken.
 * Learning counts how often a slot had another value than its most frequent one.
 */
#include "fact/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/symbols.h"

/* Of fewer calls nothing is said, nor where fewer had another number. */
#define MIN_CALLS  8
#define MIN_OTHERS 2
/* Runs that differ in how often it was another one, and one of them had it more seldom, went by
 * chance. */
#define MIN_SURE 8

static bool is_number(const struct tc_strtab *symbols, tc_sym value)
{
    const char *text = tc_strtab_text(symbols, value);

    return (*text >= '0' && *text <= '9') || *text == '-';
}

/* Calls at the top of the script, or of a root forward. */
static bool is_told(const struct tc_fact *fact)
{
    const tc_sym around = fact->subject.fields[TC_FACT_IN];

    return fact->attribute == TC_ATTRIBUTE_VALUE && fact->subject.kind == TC_SUBJECT_CALL &&
           (around == TC_NO_SYM || around == TC_SYM_ROOT_FORWARD);
}

bool tc_fact_varied(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                    struct tc_fact *fact, struct tc_strbuf *out)
{
    uint64_t most = 0;

    if (!is_told(&slot->fact))
        return false;
    for (unsigned i = 0; i < slot->n_values; i++) {
        if (!is_number(symbols, slot->values[i]))
            return false;
        most = slot->n[i] > most ? slot->n[i] : most;
    }
    *fact = slot->fact;
    fact->attribute = TC_ATTRIBUTE_VARIES;
    tc_fact_print_part(&(struct tc_fact_part){slot->n_all - most, slot->n_all}, out);
    return true;
}

/* The calls after which another number shows. */
static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    bool is_same = true, is_sure = true;
    uint64_t calls = 0;
    struct tc_fact_part v;
    char text[32];

    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 ||
            !tc_fact_read_part(symbols, outcomes->outcome[i][0], &v) || v.n < MIN_OTHERS ||
            v.of < MIN_CALLS)
            return TC_NO_SYM;
        is_same &= outcomes->outcome[i][0] == outcomes->outcome[0][0];
        is_sure &= v.n >= MIN_SURE;
        calls = v.of > calls ? v.of : calls;
    }
    if (!calls || (!is_same && !is_sure) || tc_fact_met_by_chance(symbols, attribute, outcomes))
        return TC_NO_SYM;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)calls);
    return tc_strtab_intern_text(symbols, text);
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen)
{
    struct tc_fact_part v;

    return (tc_fact_read_part(symbols, seen, &v) && v.n > 0) || seen == claim->value;
}

const struct tc_fact_rule tc_fact_varying_number = {
    .propose = propose, .holds = holds, .is_of_run = true};

bool tc_fact_stood_still(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                         struct tc_strbuf *out)
{
    if (!tc_fact_slot_rule(slot)->is_of_run || slot->n_values != 1 || slot->is_mixed ||
        slot->n_all < strtoull(tc_strtab_text(symbols, slot->fact.value), NULL, 10))
        return false;
    tc_strbuf_addf(out, "\"always %s\"", tc_strtab_text(symbols, slot->values[0]));
    return true;
}
