/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_range.c - numbers that are about as large in all runs: as a range, and the rule by which
 * it is claimed
 *
 * Runs are few and teach a narrow range, so that a number is told to be another one from further
 * away.
 */
#include "fact/number_range.h"

#include <math.h>

#include "relation/relation.h"

/* Runs that are learned from agree within this factor, and a number that is another one is further
 * away. */
#define ALIKE       1.5
#define OTHER       3.0
#define OTHER_BATCH 2.0 /* of a batch there are many numbers */
/* Smaller ones are nothing. */
#define NOTHING 1e-6

bool tc_fact_read_range(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_range *range)
{
    struct tc_json *json = NULL;

    if (tc_json_parse(tc_strtab_text(symbols, value), tc_strtab_size(symbols, value), &json, NULL))
        return false;
    const struct tc_json *low = tc_json_is_array(json) ? tc_json_first(json) : json;
    const struct tc_json *high = tc_json_is_array(json) && low ? tc_json_next(low) : low;
    const bool is_range = low && high && tc_json_is_number(low) && tc_json_is_number(high);
    if (is_range)
        *range = (struct tc_fact_range){tc_json_to_number(low, 0), tc_json_to_number(high, 0), 0};
    tc_json_free(json);
    return is_range;
}

void tc_fact_print_range(const struct tc_fact_range *range, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "[%.4g,%.4g]", range->low, range->high);
}

/* The other is added; false if what comes out is too wide to be claimed. */
static bool join_ranges(struct tc_fact_range *range, const struct tc_fact_range *other)
{
    range->low = fmin(range->low, other->low);
    range->high = fmax(range->high, other->high);
    const double small = fmin(fabs(range->low), fabs(range->high));
    const double large = fmax(fabs(range->low), fabs(range->high));

    return range->low * range->high > 0 && small > NOTHING && large <= ALIKE * small;
}

bool tc_fact_is_about(const struct tc_fact_range *seen, const struct tc_fact_range *expected,
                      enum tc_attribute attribute)
{
    const bool is_negative = expected->low < 0;
    const double other = attribute == TC_ATTRIBUTE_ABOUT ? OTHER : OTHER_BATCH;
    const double low = is_negative ? other * expected->low : expected->low / other;
    const double high = is_negative ? expected->high / other : other * expected->high;

    return seen->low >= low && seen->high <= high;
}

/* The range of all that was met; TC_NO_SYM where it is too wide. */
static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    struct tc_fact_range all = {INFINITY, -INFINITY, 0}, range;
    struct tc_strbuf text = TC_STRBUF_INIT;
    bool is_narrow = false;

    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 ||
            !tc_fact_read_range(symbols, outcomes->outcome[i][0], &range))
            return TC_NO_SYM;
        is_narrow = join_ranges(&all, &range);
    }
    if (!is_narrow || (attribute == TC_ATTRIBUTE_DISTINCT && all.low < TC_FACT_ENOUGH))
        return TC_NO_SYM;
    tc_fact_print_range(&all, &text);
    const tc_sym value = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return value;
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym value)
{
    struct tc_fact_range seen, expected;

    if (!tc_fact_read_range(symbols, value, &seen) ||
        !tc_fact_read_range(symbols, claim->value, &expected))
        return value == claim->value;
    return tc_fact_is_about(&seen, &expected, (enum tc_attribute)claim->attribute);
}

const struct tc_fact_rule tc_fact_number_range = {.propose = propose, .holds = holds};
