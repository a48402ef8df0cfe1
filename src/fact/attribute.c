/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - the rows of attributes, and what follows from a row: form, support, setting or law
 *
 * A row names the rule by which it is claimed, the form that claims it, its nature and its
 * support, and what else is so of some attributes alone; words.c has its sentences. Values are JSON
 * texts, as a file has them. Nothing is kept between calls.
 */
#include "fact/attribute.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fact/how_often.h"
#include "fact/one_value.h"
#include "fact/tensor_content.h"
#include "fact/trend_rule.h"
#include "replay/symbols.h"
#include "trace/role.h"

static const struct tc_attribute_row rows[TC_N_ATTRIBUTES] = {
#define BY(by, name, of, what, ...) \
    [TC_ATTRIBUTE_##name] = {       \
        .rule = &tc_fact_##by, .form = TC_FORM_##of, .nature = TC_##what, .bits = __VA_ARGS__}
#define ROW(...) BY(one_value, __VA_ARGS__)
    ROW(VALUE, ARG_VALUE, CHOICE, 12, .never = {"{"}),
    ROW(CLASS, ARG_VALUE, LAW, 12, .is_of_kind = true),
    ROW(KEYS, ARG_VALUE, LAW, 12),
    ROW(LENGTH, ARG_VALUE, LAW, 12),
    BY(trend, TREND, ARG_VALUE, LAW, 12),
    ROW(NAMED, ARG_VALUE, LAW, 12),
    ROW(TENSOR, ARG_VALUE, LAW, 12, .is_of_kind = true, .never = {TC_FACT_NO_TENSOR}),
    ROW(DTYPE, ARG_VALUE, LAW, 12, .is_of_kind = true),
    ROW(NDIM, ARG_VALUE, LAW, 12, .is_of_kind = true),
    ROW(SHAPE, ARG_VALUE, SIZE, 12, .is_of_kind = true),
    ROW(DIM, ARG_VALUE, CHOICE, 12, .is_of_kind = true),
    ROW(REQUIRES_GRAD, ARG_VALUE, LAW, 12, .is_of_kind = true),
    ROW(SOURCE, ARG_SOURCE, LAW, 4),
    ROW(AUTOCAST, ARG_VALUE, LAW, 12),
    ROW(OWNED, ATTRIBUTE, LAW, 12),
    ROW(OWNED_IN_ORDER, ATTRIBUTE, LAW, 12),
    ROW(UNCLEARED, SET, LAW, 4),
    ROW(EQUALS, OUTPUT_VALUE, LAW, 12, .is_of_size = true, .chance = "\"\""),
    ROW(FINITE, OUTPUT_VALUE, LAW, 12),
    ROW(COUNT, COUNT, LAW, 4, .is_count = true, .doubt = TC_FACT_BITS_OF_EACH),
    ROW(COUNT_FIRST, COUNT, LAW, 12, .is_count = true),
    ROW(COUNT_LATER, COUNT, LAW, 4, .is_count = true, .doubt = TC_FACT_BITS_OF_EACH),
    BY(how_often, PRESENT, COUNT, LAW, 12),
    ROW(FLOWS, COUNT, LAW, 4, .is_count = true, .doubt = TC_FACT_BITS_OF_EACH, .never = {"0"}),
    ROW(FLOWS_FIRST, COUNT, LAW, 12, .is_count = true, .never = {"0", "\""}),
    ROW(FLOWS_LATER, COUNT, LAW, 4, .is_count = true, .doubt = TC_FACT_BITS_OF_EACH,
        .never = {"0"}),
    ROW(COUNT_WHERE, COUNT, LAW, 1, .is_count = true, .doubt = TC_FACT_BITS_OF_CHANCE),
    ROW(FLOWS_WHERE, COUNT, LAW, 1, .is_count = true, .doubt = TC_FACT_BITS_OF_CHANCE),
    ROW(FLOWS_EVER, COUNT, LAW, 12, .is_of_size = true),
    ROW(DATA, SET, LAW, 4, .doubt = TC_FACT_BITS_OF_CHANCE),
    ROW(DATA_FIRST, SET, LAW, 12),
    ROW(GRADIENTS, SET, LAW, 4),
    ROW(TRAINABLE, ATTRIBUTE, LAW, 12),
    ROW(EXIST, ATTRIBUTE, LAW, 12),
    ROW(NEXT, BEFORE, LAW, 4, .doubt = TC_FACT_BITS_OF_EACH, .is_of_chain = true),
    ROW(NEXT_FIRST, BEFORE, LAW, 12, .is_of_chain = true),
    ROW(FIRST, ARG_VALUE, LAW, 2, .doubt = TC_FACT_BITS_OF_CHANCE, .is_of_chain = true,
        .asks = TC_ASKS_CONTENT),
    ROW(LAST, ARG_VALUE, LAW, 2, .doubt = TC_FACT_BITS_OF_CHANCE, .is_of_chain = true,
        .asks = TC_ASKS_CONTENT),
    ROW(UNIFORM, ARG_VALUE, LAW, 2, .doubt = TC_FACT_BITS_OF_CHANCE, .is_of_chain = true,
        .asks = TC_ASKS_CONTENT),
    ROW(ZERO, ARG_VALUE, LAW, 2, .doubt = TC_FACT_BITS_OF_CHANCE, .asks = TC_ASKS_CONTENT),
    ROW(ALIKE, ARG_VALUE, LAW, 4, .is_of_size = true, .asks = TC_ASKS_SAME, .chance = "\"\""),
    ROW(RANKS, ARG_VALUE, LAW, 12, .asks = TC_ASKS_CONTENT, .never = {TC_FACT_SOME}),
#undef ROW
#undef BY
};

const struct tc_attribute_row *tc_attribute_row(uint32_t attribute)
{
    return &rows[attribute];
}

unsigned tc_fact_support(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const struct tc_attribute_row *row = &rows[fact->attribute];
    const double n = row->is_count ? strtod(tc_strtab_text(symbols, fact->value), NULL) : 1;

    return (unsigned)ceil(TC_FACT_BITS_OF_CLAIM / fmax(row->bits, n > 1 ? log2(n) : 0));
}

static bool begins(const char *value, const char *with)
{
    return !strncmp(value, with, strlen(with));
}

static bool is_result(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    return fact->path != TC_NO_SYM && begins(tc_strtab_text(symbols, fact->path), "value");
}

enum tc_fact_form tc_fact_form(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    enum tc_fact_form form = rows[fact->attribute].form;

    if (fact->subject.kind == TC_SUBJECT_VARIABLE)
        return TC_FORM_ATTRIBUTE;
    return form == TC_FORM_ARG_VALUE && is_result(fact, symbols) ? TC_FORM_OUTPUT_VALUE : form;
}

/* ---- setting or law ------------------------------------------------------------------------- */

/* A number or a text that the script chose. */
static bool is_choice(const char *json)
{
    return json[0] == '"' || json[0] == '-' || isdigit((unsigned char)json[0]);
}

/* What is saved beside the model is what the script or its command line chose, also a flag, and an
 * option that was not given. */
static bool is_saved(const struct tc_fact *fact)
{
    return fact->subject.fields[TC_FACT_STAGE] == TC_SYM_CHECKPOINTING;
}

/* What a function of torch computes over, and by which rule, is what the script means, as the names
 * of these arguments say, and no size that it chose. */
static bool is_computed_over(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    static const char *const names[] = {"dim", "dims", "reduction", "mode"};
    const tc_sym fn = fact->subject.fields[TC_FACT_FN];
    const char *path = fact->path == TC_NO_SYM ? "" : tc_strtab_text(symbols, fact->path);
    bool is = false;

    if (fn == TC_NO_SYM || !begins(tc_strtab_text(symbols, fn), "torch.") || !begins(path, "args."))
        return false;
    path += strlen("args.");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !is; i++)
        is = strcspn(path, "[.") == strlen(names[i]) && begins(path, names[i]);
    return is;
}

static bool is_scalar(const char *json)
{
    return json[0] != '{' && json[0] != '[';
}

static size_t n_dimensions(const char *shape)
{
    size_t n = shape[0] == '[' && shape[1] != ']';

    for (; *shape; shape++)
        n += *shape == ',';
    return n;
}

/* The batches of an evaluation: see pass.c. None at all is another matter. */
static bool is_batches(const struct tc_fact *fact, const char *expected, const char *got)
{
    const tc_sym *f = fact->subject.fields;

    return rows[fact->attribute].is_count && f[TC_FACT_FN] == TC_SYM_ROOT_FORWARD &&
           f[TC_FACT_STAGE] == TC_SYM_EVALUATION && strtol(expected, NULL, 10) > 0 &&
           strtol(got, NULL, 10) > 0;
}

#define ENDS ",\""

static const char *next_entry(const char *entries)
{
    return entries + strspn(entries, ENDS);
}

/* Are there all entries that there were, in their order, beside others? */
static bool are_more(const char *expected, const char *got)
{
    size_t n;

    for (expected = next_entry(expected); *expected; expected = next_entry(expected + n)) {
        n = strcspn(expected, ENDS);
        got = next_entry(got);
        while (*got && (strcspn(got, ENDS) != n || strncmp(got, expected, n) != 0))
            got = next_entry(got + strcspn(got, ENDS));
        if (!*got)
            return false;
    }
    return true;
}

bool tc_fact_is_setting(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen)
{
    const char *expected = tc_strtab_text(symbols, fact->value);
    const char *got = tc_strtab_text(symbols, seen);

    switch (rows[fact->attribute].nature) {
    case TC_CHOICE:
        if (is_saved(fact))
            return is_scalar(expected) && is_scalar(got);
        return is_choice(expected) && is_choice(got) && (expected[0] == '"') == (got[0] == '"') &&
               !is_computed_over(fact, symbols);
    case TC_SIZE:
        return n_dimensions(expected) == n_dimensions(got);
    case TC_LAW:
        if (fact->attribute == TC_ATTRIBUTE_CLASS)
            return is_result(fact, symbols);
        if (fact->attribute == TC_ATTRIBUTE_KEYS)
            return is_saved(fact) && are_more(expected, got);
        return is_batches(fact, expected, got);
    }
    return false;
}

/* A share that is so near to another is as great. */
#define SHARE_IS_NEAR 0.05

/* Is the amount in that proportion, but for what does not divide? */
static bool is_part(double expected, double seen, double factor)
{
    return fabs(seen - expected * factor) < 1;
}

/* Is it as many calls as a step is told of, where there were more in proportion? */
static bool is_told_in_part(double expected, double seen, double from, double to)
{
    return (seen == TC_ROLE_MAX_OF_A_FUNCTION || seen == TC_ROLE_MAX_AT_A_PLACE) &&
           expected * fmax(to / from, from / to) > seen;
}

/* Was there more than the setting allows now? "The first 25 of 32" are all of 16. */
static bool is_bounded(double expected, double seen, double from, double to)
{
    return seen == to && expected > to && expected <= from;
}

/* Does an amount rise by so much for each one that the setting is greater, is it in proportion, or
 * bounded by it? */
static bool is_amount_of(double expected, double seen, double from, double to)
{
    const double times = (seen - expected) / (to - from);

    if (times >= 1 && times == floor(times))
        return true;
    return seen >= 1 && (is_part(expected, seen, to / from) || is_part(expected, seen, from / to) ||
                         is_bounded(expected, seen, from, to));
}

/* "went from 420 to 0": a loop is over sooner where its data is cut into fewer pieces. */
static bool is_end_of_loop(const char *claim, const char *seen, double from, double to)
{
    const double factor = from > 0 && to > 0 ? fmax(to / from, from / to) : 1;
    double reached;

    return sscanf(seen, "\"went from %lf", &reached) == 1 &&
           reached * factor >= tc_fact_trend_reach(claim);
}

/* Is nothing seen so often that what is left is in proportion? What comes once in each step comes
 * in every second one where it is enough for two. */
static bool is_share(double expected, double share, double from, double to)
{
    const double factor = fmin(from / to, to / from);

    return expected * factor < 1 && fabs(1 - share - factor) < SHARE_IS_NEAR;
}

/* Where two shapes have other sizes, is each other one an amount of the setting? */
static bool is_size_of(const char *expected, const char *seen, double from, double to)
{
    char *next, *next_seen;

    for (; *expected == '[' || *expected == ','; expected = next, seen = next_seen) {
        const double a = strtod(expected + 1, &next), b = strtod(seen + 1, &next_seen);
        if (*seen != *expected || (a != b && !is_amount_of(a, b, from, to)))
            return false;
    }
    return *expected == *seen;
}

bool tc_fact_follows(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen,
                     double share, double from, double to)
{
    const char *claim = tc_strtab_text(symbols, fact->value), *got = tc_strtab_text(symbols, seen);
    const double expected = strtod(claim, NULL);
    const double amount = strtod(got, NULL);

    if (fact->attribute == TC_ATTRIBUTE_TREND)
        return is_end_of_loop(claim, got, from, to);
    if (fact->attribute == TC_ATTRIBUTE_SHAPE)
        return is_size_of(claim, got, from, to);
    return (rows[fact->attribute].is_count || fact->attribute == TC_ATTRIBUTE_LENGTH ||
            fact->attribute == TC_ATTRIBUTE_DIM) &&
           expected >= 1 && isdigit((unsigned char)*got) &&
           (is_amount_of(expected, amount, from, to) ||
            (rows[fact->attribute].is_count && is_told_in_part(expected, amount, from, to)) ||
            (!amount && is_share(expected, share, from, to)));
}

bool tc_fact_is_of_size(const struct tc_fact *fact)
{
    return rows[fact->attribute].is_of_size;
}

/* ---- values --------------------------------------------------------------------------------- */

double tc_fact_doubt(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const struct tc_attribute_row *row = &rows[fact->attribute];
    const char *value = tc_strtab_text(symbols, fact->value);
    /* What a set-up does in a loop that it draws ends otherwise now and then. */
    const bool may_be_chance = (row->chance && begins(value, row->chance)) ||
                               (fact->attribute == TC_ATTRIBUTE_NEXT_FIRST && strchr(value, ','));

    return may_be_chance ? TC_FACT_BITS_OF_CHANCE : row->doubt > 0 ? row->doubt : TC_FACT_BITS;
}

bool tc_fact_is_claimed(uint32_t attribute, const char *value)
{
    const struct tc_attribute_row *row = &rows[attribute];

    if (!strcmp(value, TC_FACT_DRAWN) || !strcmp(value, TC_FACT_MANY))
        return false;
    for (size_t i = 0; i < TC_N_NEVER && row->never[i]; i++)
        if (begins(value, row->never[i]))
            return false;
    return true;
}

/* A number with more digits was computed. */
#define MAX_DIGITS 6

static size_t n_digits(const char *number)
{
    size_t n = 0;

    for (; *number && *number != 'e'; number++)
        n += isdigit((unsigned char)*number) != 0;
    return n;
}

bool tc_fact_needs_two_runs(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const struct tc_fact_rule *rule = rows[fact->attribute].rule;
    const char *value = tc_strtab_text(symbols, fact->value);
    const bool is_number = isdigit((unsigned char)value[0]) || value[0] == '-';

    if (rule != &tc_fact_one_value && rule != &tc_fact_how_often)
        return true;
    return fact->attribute == TC_ATTRIBUTE_VALUE && is_number &&
           (is_result(fact, symbols) || n_digits(value) > MAX_DIGITS);
}
