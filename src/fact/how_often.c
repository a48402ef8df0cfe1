/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.c - whether a run makes a call at all, and as often as there are steps
 *
 * Learning keeps how often in how many steps. Runs of one length that differ in it went by chance:
 * what came twice in one of them may not come in another, and a count that misses that of steps by
 * a few may meet it.
 */
#include "fact/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is met a few times a run may not be met in another one. */
#define MIN_MET 8

static bool holds(enum tc_attribute attribute, const struct tc_fact_met *met)
{
    return attribute == TC_ATTRIBUTE_PRESENT || met->n == met->n_windows;
}

static bool read_met(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_met *met)
{
    const char *text = value == TC_NO_SYM ? "" : tc_strtab_text(symbols, value);
    char *end;

    if (*text != '"')
        return false;
    met->n = strtoull(text + 1, &end, 10);
    if (strncmp(end, " of ", 4) != 0)
        return false;
    met->n_windows = strtoull(end + 4, NULL, 10);
    return true;
}

void tc_fact_say_met(struct tc_facts *facts, const struct tc_subject *subject,
                     enum tc_attribute attribute, const struct tc_fact_met *met)
{
    char text[64];

    snprintf(text, sizeof(text), "\"%llu of %llu\"", (unsigned long long)met->n,
             (unsigned long long)met->n_windows);
    if (facts->table.is_judging)
        tc_fact_say(facts, subject, TC_NO_SYM, attribute, holds(attribute, met) ? "true" : "false");
    else
        tc_fact_say(facts, subject, TC_NO_SYM, attribute, text);
}

tc_sym tc_fact_met_value(struct tc_strtab *symbols, enum tc_attribute attribute, tc_sym value)
{
    struct tc_fact_met met;

    if (!read_met(symbols, value, &met))
        return value;
    return tc_strtab_intern_text(symbols, holds(attribute, &met) ? "true" : "false");
}

/* Is the number far from one that would break the claim? */
static bool is_far(enum tc_attribute attribute, const struct tc_fact_met *met)
{
    if (attribute == TC_ATTRIBUTE_PRESENT)
        return met->n >= MIN_MET;
    return met->n == met->n_windows || met->n >= 2 * met->n_windows || met->n_windows >= 2 * met->n;
}

/* Had a run of as many steps another number? */
static bool differs(const struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                    const struct tc_fact_met *met)
{
    struct tc_fact_met other;

    for (size_t i = 0; i < outcomes->n; i++)
        if (read_met(symbols, outcomes->outcome[i][0], &other) &&
            other.n_windows == met->n_windows && other.n != met->n)
            return true;
    return false;
}

bool tc_fact_met_by_chance(const struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes)
{
    bool is_chance = false, is_near = false;
    struct tc_fact_met met;

    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 || !read_met(symbols, outcomes->outcome[i][0], &met))
            return false;
        is_chance = is_chance || differs(symbols, outcomes, &met);
        is_near |= !is_far(attribute, &met);
    }
    return is_near && (is_chance || attribute == TC_ATTRIBUTE_RATE);
}
