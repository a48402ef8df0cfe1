/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varying_number.c - whether a number that a call is given is another one now and then
 *
 * A number with several values is no fact by them. But a weight that falls, a position that goes
 * on, the size of a last batch: where runs had others, a run in which it stands still is broken.
 * Learning counts how often a slot had another value than its most frequent one.
 */
#include "fact/varying_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fact/how_often.h"
#include "fact/one_value.h"
#include "fact/slot.h"
#include "relation/relation.h"

/* Of fewer calls nothing is said, nor where fewer had another number. */
#define MIN_CALLS  8
#define MIN_OTHERS 2
/* Runs that differ in how often it was another one, and one of them had it more seldom, went by
 * chance. */
#define MIN_SURE 8

/* What a schedule remembers may go by losses. */
static bool is_of_receiver(const struct tc_strtab *symbols, const struct tc_fact *fact)
{
    return fact->path != TC_NO_SYM && !strncmp(tc_strtab_text(symbols, fact->path), "self", 4);
}

static bool tell_varied(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                        enum tc_attribute attribute, struct tc_strbuf *out)
{
    uint64_t most = 0;

    (void)attribute;
    if (is_of_receiver(symbols, &slot->fact))
        return false;
    for (unsigned i = 0; i < slot->n_values; i++) {
        if (!tc_fact_is_number(tc_strtab_text(symbols, slot->values[i])))
            return false;
        most = slot->n[i] > most ? slot->n[i] : most;
    }
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

static enum tc_fact_run stood_still(const struct tc_strtab *symbols,
                                    const struct tc_fact_slot *slot, struct tc_strbuf *out)
{
    if (slot->n_values != 1)
        return slot->n_values ? TC_FACT_RUN_HELD : TC_FACT_RUN_UNDECIDED;
    if (slot->is_mixed ||
        slot->n_all < strtoull(tc_strtab_text(symbols, slot->fact.value), NULL, 10))
        return TC_FACT_RUN_UNDECIDED;
    tc_strbuf_addf(out, "\"always %s\"", tc_strtab_text(symbols, slot->values[0]));
    return TC_FACT_RUN_BROKEN;
}

const struct tc_fact_rule tc_fact_varying_number = {
    .propose = propose, .holds = holds, .of_run = stood_still, .tell = tell_varied};

/* ---- which numbers ---- */

/* Of fewer different ones nothing is said. */
#define MIN_NUMBERS 4

/* A weight that rises step by step, a pointer that goes round: a script that computes its numbers
 * has the same ones in each run of that many calls. The digest stands for all of them. */
static void print_span(const struct tc_fact_slot *slot, struct tc_strbuf *out)
{
    const struct tc_fact_span *span = &slot->span;
    const uint64_t numbers[] = {span->least, span->most, span->bits[0], span->bits[1]};

    tc_strbuf_addf(out, "\"from %.4g to %.4g in %llu calls (digest %08x)\"", span->low, span->high,
                   (unsigned long long)slot->n_all,
                   (unsigned)tc_hash64(numbers, sizeof(numbers), 0));
}

/* Different ones, or fewer. */
static int count_numbers(const struct tc_fact_span *span)
{
    return __builtin_popcountll(span->bits[0]) + __builtin_popcountll(span->bits[1]);
}

static bool tell_span(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                      enum tc_attribute attribute, struct tc_strbuf *out)
{
    (void)attribute;
    if (is_of_receiver(symbols, &slot->fact) || count_numbers(&slot->span) < MIN_NUMBERS ||
        slot->n_all < MIN_CALLS || slot->span.low == slot->span.high)
        return false;
    print_span(slot, out);
    return true;
}

/* A run of more or fewer calls has other numbers. */
static enum tc_fact_run spans_otherwise(const struct tc_strtab *symbols,
                                        const struct tc_fact_slot *slot, struct tc_strbuf *out)
{
    const char *expected = tc_strtab_text(symbols, slot->fact.value);
    const char *calls = strstr(expected, " in ");

    if (slot->is_mixed || !calls || slot->n_all != strtoull(calls + 4, NULL, 10))
        return TC_FACT_RUN_UNDECIDED;
    print_span(slot, out);
    return strcmp(out->text, expected) ? TC_FACT_RUN_BROKEN : TC_FACT_RUN_HELD;
}

const struct tc_fact_rule tc_fact_span = {.propose = tc_fact_propose_one,
                                          .holds = tc_fact_holds_one,
                                          .of_run = spans_otherwise,
                                          .tell = tell_span};

/* ---- on which side of zero ---- */

/* Of fewer calls nothing is said; and so many have to be on the other side. */
#define MIN_SIDED  30
#define MIN_TURNED 8

#define NOT_BELOW "\"never below zero\""
#define NOT_ABOVE "\"never above zero\""

/* The side on which all numbers are, or NULL. What rises from zero on, or falls, has one. */
static const char *side_of(const struct tc_fact_slot *slot)
{
    if (!slot->span.n || slot->span.low == slot->span.high)
        return NULL;
    return slot->span.low >= 0 ? NOT_BELOW : slot->span.high <= 0 ? NOT_ABOVE : NULL;
}

static bool tell_sign(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                      enum tc_attribute attribute, struct tc_strbuf *out)
{
    const char *side = side_of(slot);

    (void)attribute;
    if (!side || is_of_receiver(symbols, &slot->fact) || count_numbers(&slot->span) < MIN_NUMBERS ||
        slot->n_all < MIN_SIDED)
        return false;
    tc_strbuf_adds(out, side);
    return true;
}

/* A few on the other side may be chance: all of them are an exponent with another sign. */
static enum tc_fact_run turned(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                               struct tc_strbuf *out)
{
    const char *side = side_of(slot);
    const char *expected = tc_strtab_text(symbols, slot->fact.value);

    if (!side || slot->is_mixed || slot->n_all < MIN_TURNED ||
        (strcmp(expected, NOT_BELOW) != 0 && strcmp(expected, NOT_ABOVE) != 0))
        return TC_FACT_RUN_UNDECIDED; /* of files from before, "above zero" among others */
    tc_strbuf_adds(out, side);
    return strcmp(side, expected) ? TC_FACT_RUN_BROKEN : TC_FACT_RUN_HELD;
}

const struct tc_fact_rule tc_fact_sign = {.propose = tc_fact_propose_one,
                                          .holds = tc_fact_holds_one,
                                          .of_run = turned,
                                          .tell = tell_sign};
