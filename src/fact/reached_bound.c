/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reached_bound.c - a bound that a number, or the elements of an integer tensor, meet again and
 * again and never pass
 *
 * What a script clamps, counts up to, or draws from a range is at its bound often. A largest number
 * that was only met by chance has larger ones that are about as rare: one that is met in an eighth
 * of all occasions of two runs, and passed in none, is a bound. Samples of a data set are drawn
 * once in a run, and met again each epoch: of batches nearly all have to meet it. Where a number
 * starts is no bound: it counts from when another one has been met.
 */
#include "fact/reached_bound.h"

#include <math.h>
#include <stdlib.h>

#include "fact/one_value.h"

/* It is met so often, and in so large a part of the occasions. */
#define MIN_MET  8
#define MIN_PART 0.125
/* What no model computed may be of a data set. */
#define MIN_PART_OF_DATA 0.875
/* So many occasions beyond it break the claim; fewer may be chance. */
#define MIN_BEYOND 5
/* A bound of data that is not met in so many occasions is another one. */
#define N_TO_MEET 8
/* Of numbers with a point: what is so near to the bound, in parts of it, is at it. */
#define ROUNDING 1e-6

static bool is_of_content(uint32_t attribute)
{
    return attribute == TC_ATTRIBUTE_LEAST || attribute == TC_ATTRIBUTE_GREATEST ||
           attribute == TC_ATTRIBUTE_FARTHEST;
}

static bool is_lower(uint32_t attribute)
{
    return attribute == TC_ATTRIBUTE_LEAST || attribute == TC_ATTRIBUTE_FLOOR;
}

/* What is not met is told as a text. */
static double number_of(const char *json)
{
    return strtod(json + (json[0] == '"'), NULL);
}

bool tc_fact_is_within_bound(uint32_t attribute, const char *expected, const char *seen)
{
    const double bound = number_of(expected), number = number_of(seen);

    return is_of_content(attribute) && (is_lower(attribute) ? number > bound : number < bound);
}

void tc_fact_count_bounds(struct tc_fact_slot *slot, double number, bool is_judging, uint64_t n)
{
    struct tc_fact_bounds *b = &slot->bounds;

    if (!is_judging) {
        b->n_low += number == slot->span.low ? n : 0;
        b->n_high += number == slot->span.high ? n : 0;
    } else if (fabs(number - b->expected) <=
               (is_of_content(slot->fact.attribute) ? 0 : ROUNDING * fabs(b->expected))) {
        b->n_met += n;
    } else if (is_lower(slot->fact.attribute) == (number < b->expected)) {
        b->beyond = !b->n_beyond || fabs(number - b->expected) > fabs(b->beyond - b->expected)
                        ? number
                        : b->beyond;
        b->has_fraction |= number != floor(number);
        b->n_beyond += n;
    }
}

/* What does not depend on which process is read first: of each number how often it was a start. */
static void add_start(struct tc_fact_bounds *b, double number, uint64_t n)
{
    unsigned i = 0;

    while (i < b->n_starts && i < TC_FACT_STARTS && b->starts[i].number != number)
        i++;
    if (i == b->n_starts && i < TC_FACT_STARTS)
        b->starts[b->n_starts++].number = number;
    else if (i == TC_FACT_STARTS)
        b->n_starts = TC_FACT_STARTS + 1;
    if (i < TC_FACT_STARTS)
        b->starts[i].n += n;
}

void tc_fact_count_start(struct tc_fact_slot *slot, struct tc_fact_start *start,
                         const struct tc_process *process, double number, uint64_t n)
{
    if (!start->process)
        *start = (struct tc_fact_start){.process = process, .number = number};
    start->has_left |= number != start->number;
    if (!start->has_left)
        add_start(&slot->bounds, number, n);
}

/* The slot's last number on the side of the attribute. */
static double bound_of(const struct tc_fact_slot *slot, uint32_t attribute)
{
    return is_lower(attribute) ? slot->span.low : slot->span.high;
}

/* How often the bound was met, but for the beginning of a number. */
static uint64_t n_met_later(const struct tc_fact_slot *slot, uint32_t attribute)
{
    const struct tc_fact_bounds *b = &slot->bounds;
    const uint64_t n_met = is_lower(attribute) ? b->n_low : b->n_high;

    if (is_of_content(attribute))
        return n_met;
    for (unsigned i = 0; i < b->n_starts && i < TC_FACT_STARTS; i++)
        if (b->starts[i].number == bound_of(slot, attribute))
            return n_met - b->starts[i].n;
    return b->n_starts > TC_FACT_STARTS ? 0 : n_met;
}

/* The bound on the side of the attribute, if it is one. A number that does not pass zero has a
 * sign, which varying_number.c tells. */
static bool tell_bound(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                       enum tc_attribute attribute, struct tc_strbuf *out)
{
    const uint64_t n_met = n_met_later(slot, attribute);
    const double bound = bound_of(slot, attribute);
    const double part =
        is_of_content(attribute) && !slot->bounds.may_miss ? MIN_PART_OF_DATA : MIN_PART;

    (void)symbols;
    if (n_met < MIN_MET || (double)n_met < part * (double)slot->n_all ||
        (!is_of_content(attribute) && (bound == 0 || slot->span.low == slot->span.high)))
        return false;
    tc_strbuf_addf(out, "%.15g", bound);
    return true;
}

static enum tc_fact_run passed(const struct tc_strtab *symbols, const struct tc_fact_slot *slot,
                               struct tc_strbuf *out)
{
    const struct tc_fact_bounds *b = &slot->bounds;

    (void)symbols;
    if (slot->is_mixed)
        return TC_FACT_RUN_UNDECIDED;
    if (b->n_beyond >= MIN_BEYOND) {
        if (b->has_fraction && b->beyond == floor(b->beyond))
            tc_strbuf_addf(out, "\"%.1f\"", b->beyond);
        else
            tc_strbuf_addf(out, "\"%.*g\"", is_of_content(slot->fact.attribute) ? 15 : 6,
                           b->beyond);
        return TC_FACT_RUN_BROKEN;
    }
    if (b->n_met)
        return TC_FACT_RUN_HELD;
    if (!is_of_content(slot->fact.attribute) || b->may_miss || slot->n_all < N_TO_MEET)
        return TC_FACT_RUN_UNDECIDED;
    tc_strbuf_addf(out, "\"%.15g\"", bound_of(slot, slot->fact.attribute));
    return TC_FACT_RUN_BROKEN;
}

const struct tc_fact_rule tc_fact_bound = {.propose = tc_fact_propose_one,
                                           .holds = tc_fact_holds_one,
                                           .of_run = passed,
                                           .tell = tell_bound};
