/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.c - whether a run makes a call at all, and as often as there are steps
 *
 * Learning keeps how often in how many steps. Runs of one length that differ in it went by chance:
 * what came twice in one of them may not come in another, and a count that misses that of steps by
 * a few may meet it.
 */
#include "fact/how_often.h"

#include <stdlib.h>
#include <string.h>

#include "fact/one_value.h"
#include "relation/relation.h"

bool tc_fact_is_met(enum tc_attribute attribute, const struct tc_fact_part *met)
{
    return attribute == TC_ATTRIBUTE_PRESENT || met->n == met->of;
}

void tc_fact_print_part(const struct tc_fact_part *part, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "\"%llu of %llu\"", (unsigned long long)part->n,
                   (unsigned long long)part->of);
}

/* False of any other value. */
static bool read_part(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_part *part)
{
    const char *text = value == TC_NO_SYM ? "" : tc_strtab_text(symbols, value);
    char *end;

    if (*text != '"')
        return false;
    part->n = strtoull(text + 1, &end, 10);
    if (strncmp(end, " of ", 4) != 0)
        return false;
    part->of = strtoull(end + 4, NULL, 10);
    return true;
}

/* What such numbers say, "true" or "false"; any other value as it is. */
static tc_sym met_value(struct tc_strtab *symbols, enum tc_attribute attribute, tc_sym value)
{
    struct tc_fact_part met;

    if (!read_part(symbols, value, &met))
        return value;
    return tc_strtab_intern_text(symbols, tc_fact_is_met(attribute, &met) ? "true" : "false");
}

/* Is the number far from one that would break the claim? */
static bool is_far(enum tc_attribute attribute, const struct tc_fact_part *met)
{
    if (attribute == TC_ATTRIBUTE_PRESENT)
        return met->n >= TC_FACT_ENOUGH;
    return met->n == met->of || met->n >= 2 * met->of || met->of >= 2 * met->n;
}

/* Had a run of as many steps another number? */
static bool differs(const struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                    const struct tc_fact_part *met)
{
    struct tc_fact_part other;

    for (size_t i = 0; i < outcomes->n; i++)
        if (read_part(symbols, outcomes->outcome[i][0], &other) && other.of == met->of &&
            other.n != met->n)
            return true;
    return false;
}

/* Were runs of one length so different that another one may break the claim? */
static bool is_by_chance(const struct tc_strtab *symbols, enum tc_attribute attribute,
                         const struct tc_outcomes *outcomes)
{
    bool is_chance = false, is_near = false;
    struct tc_fact_part met;

    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 || !read_part(symbols, outcomes->outcome[i][0], &met))
            return false;
        is_chance = is_chance || differs(symbols, outcomes, &met);
        is_near |= !is_far(attribute, &met);
    }
    return is_near && (is_chance || attribute == TC_ATTRIBUTE_RATE);
}

static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    return is_by_chance(symbols, attribute, outcomes)
               ? TC_NO_SYM
               : tc_fact_only_value(symbols, attribute, outcomes, met_value);
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen)
{
    return met_value(symbols, (enum tc_attribute)claim->attribute, seen) == claim->value;
}

const struct tc_fact_rule tc_fact_how_often = {.propose = propose, .holds = holds};
