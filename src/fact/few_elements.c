/* SPDX-License-Identifier: Apache-2.0 */
/*
 * few_elements.c - the elements of a small tensor that a run does not change: weights of classes,
 * a mean and a deviation for each channel
 *
 * Runs with other seeds count them from other data, so that they are nearly the same. In another
 * order, or divided by another sum, they are not.
 */
#include "fact/few_elements.h"

#include <math.h>

#include "fact/tensor_content.h"
#include "relation/relation.h"

/* Each element of runs that are learned from agrees within this factor, and one that is told to be
 * another is further away. */
#define ALIKE 1.5
#define OTHER 2.0
/* So few elements are alike by chance where they are not equal. */
#define MIN_ALIKE 4

/* What all runs had, element by element. */
struct elements {
    size_t n;
    double low[TC_FACT_ELEMENTS], high[TC_FACT_ELEMENTS];
};

static bool add_element(struct elements *e, double low, double high)
{
    if (e->n == TC_FACT_ELEMENTS)
        return false;
    e->low[e->n] = low;
    e->high[e->n++] = high;
    return true;
}

/* "[0.5,[1.2,1.3]]": a number, or the smallest and the largest. */
static bool read_elements(const struct tc_strtab *symbols, tc_sym value, struct elements *e)
{
    struct tc_json *json = NULL;
    bool is_read;

    e->n = 0;
    if (tc_json_parse(tc_strtab_text(symbols, value), tc_strtab_size(symbols, value), &json, NULL))
        return false;
    is_read = tc_json_is_array(json);
    for (const struct tc_json *c = tc_json_first(json); is_read && c; c = tc_json_next(c)) {
        const struct tc_json *low = tc_json_is_array(c) ? tc_json_first(c) : c;
        const struct tc_json *high = tc_json_is_array(c) && low ? tc_json_next(low) : low;
        is_read = low && high && tc_json_is_number(low) && tc_json_is_number(high) &&
                  add_element(e, tc_json_to_number(low, 0), tc_json_to_number(high, 0));
    }
    tc_json_free(json);
    return is_read && e->n > 1;
}

static void print_elements(const struct elements *e, struct tc_strbuf *out)
{
    for (size_t i = 0; i < e->n; i++) {
        tc_strbuf_addc(out, i ? ',' : '[');
        if (e->low[i] == e->high[i])
            tc_strbuf_addf(out, "%.4g", e->low[i]);
        else
            tc_strbuf_addf(out, "[%.4g,%.4g]", e->low[i], e->high[i]);
    }
    tc_strbuf_addc(out, ']');
}

static bool is_alike(double low, double high)
{
    const double small = fmin(fabs(low), fabs(high)), large = fmax(fabs(low), fabs(high));

    return low == high || (low * high > 0 && large <= ALIKE * small);
}

/* Are they no chance? Whole numbers may be drawn. */
static bool is_claimed(const struct elements *e)
{
    bool are_equal = true, are_alike = true, is_whole = true;

    for (size_t i = 0; i < e->n; i++) {
        are_equal &= e->low[i] == e->high[i];
        are_alike &= is_alike(e->low[i], e->high[i]);
        is_whole &= e->low[i] == round(e->low[i]) && e->high[i] == round(e->high[i]);
    }
    return !is_whole && are_alike && (are_equal || e->n >= MIN_ALIKE);
}

static tc_sym propose(struct tc_strtab *symbols, enum tc_attribute attribute,
                      const struct tc_outcomes *outcomes)
{
    struct elements all = {0}, other;
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)attribute;
    for (size_t i = 0; i < outcomes->n; i++) {
        if (outcomes->n_outcome[i] != 1 || !read_elements(symbols, outcomes->outcome[i][0], &other))
            return TC_NO_SYM;
        all = i ? all : other;
        if (all.n != other.n)
            return TC_NO_SYM;
        for (size_t k = 0; k < all.n; k++) {
            all.low[k] = fmin(all.low[k], other.low[k]);
            all.high[k] = fmax(all.high[k], other.high[k]);
        }
    }
    if (!is_claimed(&all))
        return TC_NO_SYM;
    print_elements(&all, &text);
    const tc_sym value = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return value;
}

static bool is_near(double seen, double low, double high)
{
    const double to = low < 0 ? OTHER * low : low / OTHER;
    const double from = high < 0 ? high / OTHER : OTHER * high;

    return seen >= to && seen <= from;
}

static bool holds(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym value)
{
    struct elements seen, expected;
    bool is = true;

    if (value == claim->value || !read_elements(symbols, claim->value, &expected))
        return value == claim->value;
    if (!read_elements(symbols, value, &seen) || seen.n != expected.n)
        return false;
    for (size_t i = 0; i < seen.n; i++)
        is &= is_near(seen.low[i], expected.low[i], expected.high[i]);
    return is;
}

const struct tc_fact_rule tc_fact_few_elements = {
    .propose = propose, .holds = holds, .is_once = true};
