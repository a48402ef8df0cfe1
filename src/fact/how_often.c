/* SPDX-License-Identifier: Apache-2.0 */
/*
 * how_often.c - whether a run makes a call at all
 *
 * Learning keeps how often in how many steps. Runs of one length that differ in it went by chance:
 * what came twice in one of them may not come in another.
 */
#include "fact/how_often.h"

#include <stdio.h>
#include <string.h>

#include "fact/one_value.h"
#include "relation/relation.h"

struct part {
    unsigned long long n, of;
};

void tc_fact_print_how_often(uint64_t n, uint64_t n_steps, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "\"%llu of %llu\"", (unsigned long long)n, (unsigned long long)n_steps);
}

/* False of any other value. */
static bool read_part(const struct tc_strtab *symbols, tc_sym value, struct part *part)
{
    return value != TC_NO_SYM &&
           sscanf(tc_strtab_text(symbols, value), "\"%llu of %llu\"", &part->n, &part->of) == 2;
}

/* Any call at all is one; any other value stays as it is. */
static tc_sym met_value(struct tc_strtab *symbols, enum tc_attribute attribute, tc_sym value)
{
    struct part met;

    (void)attribute;
    return read_part(symbols, value, &met) ? tc_strtab_intern_text(symbols, "true") : value;
}

/* Had a run of as many steps another number? */
static bool differs(const struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                    const struct part *met)
{
    struct part other;

    for (size_t i = 0; i < outcomes->n; i++)
        if (read_part(symbols, outcomes->outcome[i][0], &other) && other.of == met->of &&
            other.n != met->n)
            return true;
    return false;
}

/* Were runs of one length so different that another one may make none? */
static bool is_by_chance(const struct tc_strtab *symbols, const struct tc_outcomes *outcomes)
{
    bool is_chance = false, is_seldom = false;
    struct part met;

    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 || !read_part(symbols, outcomes->outcome[i][0], &met))
            return false;
        is_chance |= differs(symbols, outcomes, &met);
        is_seldom |= met.n < TC_FACT_ENOUGH;
    }
    return is_seldom && is_chance;
}

static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    return is_by_chance(symbols, outcomes)
               ? TC_NO_SYM
               : tc_fact_only_value(symbols, attribute, outcomes, met_value);
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen)
{
    return met_value(symbols, TC_ATTRIBUTE_PRESENT, seen) == claim->value;
}

const struct tc_fact_rule tc_fact_how_often = {.propose = propose, .holds = holds};
