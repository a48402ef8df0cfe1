/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - the rows of attributes, and what follows from a row: form, support, setting or law
 *
 * A row names the rule by which it is claimed, the form that claims it, its nature and its
 * support; words.c has its sentences. Values are JSON texts, as a file has them. Nothing is kept
 * between calls.
 */
#include "fact/attribute.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fact/few_elements.h"
#include "fact/how_often.h"
#include "fact/number_range.h"
#include "fact/one_value.h"
#include "fact/reached_bound.h"
#include "fact/tensor_content.h"
#include "fact/trend_rule.h"
#include "fact/varying_number.h"
#include "replay/symbols.h"

static const struct tc_attribute_row rows[TC_N_ATTRIBUTES] = {
#define BY(rule, name, form, nature, support) \
    [TC_ATTRIBUTE_##name] = {&tc_fact_##rule, TC_FORM_##form, TC_##nature, TC_SUPPORT_##support}
#define ROW(...) BY(one_value, __VA_ARGS__)
    ROW(VALUE, ARG_VALUE, CHOICE, ONE),
    ROW(CLASS, ARG_VALUE, LAW, ONE),
    ROW(KEYS, ARG_VALUE, LAW, ONE),
    ROW(LENGTH, ARG_VALUE, LAW, ONE),
    ROW(FLAG, ARG_VALUE, LAW, MOST),
    BY(trend, TREND, ARG_VALUE, LAW, ONE),
    ROW(NAMED, ARG_VALUE, LAW, ONE),
    ROW(SLICE, ARG_VALUE, LAW, ONE),
    ROW(TENSOR, ARG_VALUE, LAW, ONE),
    ROW(DTYPE, ARG_VALUE, LAW, ONE),
    ROW(NDIM, ARG_VALUE, LAW, ONE),
    ROW(SHAPE, ARG_VALUE, SIZE, ONE),
    ROW(DIM, ARG_VALUE, CHOICE, ONE),
    ROW(REQUIRES_GRAD, ARG_VALUE, LAW, ONE),
    ROW(SOURCE, ARG_SOURCE, LAW, MANY),
    ROW(AUTOCAST, ARG_VALUE, LAW, ONE),
    ROW(OWNED, ATTRIBUTE, LAW, ONE),
    ROW(OWNED_IN_ORDER, ATTRIBUTE, LAW, ONE),
    ROW(COURSE, ATTRIBUTE, CHOICE, ONE),
    ROW(UNCLEARED, SET, LAW, MANY),
    ROW(EQUALS, OUTPUT_VALUE, LAW, ONE),
    ROW(FINITE, OUTPUT_VALUE, LAW, ONE),
    ROW(OPERAND, OUTPUT_VALUE, LAW, ONE),
    ROW(COUNT, COUNT, LAW, MANY),
    ROW(COUNT_FIRST, COUNT, LAW, ONE),
    ROW(COUNT_LATER, COUNT, LAW, MANY),
    BY(how_often, RATE, COUNT, LAW, ONE),
    BY(how_often, PRESENT, COUNT, LAW, ONE),
    ROW(BEFORE, BEFORE, LAW, ONE),
    ROW(FLOWS, COUNT, LAW, MANY),
    ROW(FLOWS_FIRST, COUNT, LAW, ONE),
    ROW(FLOWS_LATER, COUNT, LAW, MANY),
    ROW(COUNT_WHERE, COUNT, LAW, WHERE),
    ROW(FLOWS_WHERE, COUNT, LAW, WHERE),
    ROW(FLOWS_EVER, COUNT, LAW, ONE),
    ROW(DATA, SET, LAW, MANY),
    ROW(DATA_FIRST, SET, LAW, ONE),
    ROW(GRADIENTS, SET, LAW, MANY),
    ROW(GRADIENT_CALLS, SET, LAW, MANY),
    ROW(TRAINABLE, ATTRIBUTE, LAW, ONE),
    ROW(TRAINABLE_LAST, ATTRIBUTE, LAW, ONE),
    ROW(EXIST, ATTRIBUTE, LAW, ONE),
    ROW(CALLS, SET, LAW, MANY),
    ROW(ORDER, BEFORE, LAW, CONTENT),
    ROW(FIRST, ARG_VALUE, LAW, CONTENT),
    ROW(LAST, ARG_VALUE, LAW, CONTENT),
    ROW(UNIFORM, ARG_VALUE, LAW, CONTENT),
    ROW(NEGATIVE, ARG_VALUE, LAW, CONTENT),
    ROW(ZERO, ARG_VALUE, LAW, CONTENT),
    ROW(ALIKE, ARG_VALUE, LAW, MANY),
    ROW(COVERS, ARG_VALUE, LAW, CONTENT),
    ROW(GIVEN, ARG_VALUE, LAW, MANY),
    ROW(FACTOR, ARG_VALUE, LAW, MANY),
    ROW(SEEN, OUTPUT_VALUE, LAW, MANY),
    ROW(BESIDE, ARG_VALUE, LAW, MANY),
    ROW(REPEATS, OUTPUT_VALUE, LAW, MANY),
    ROW(AGAIN, ARG_VALUE, LAW, MANY),
    ROW(AGAIN_HERE, ARG_VALUE, LAW, MANY),
    ROW(COUNT_EVEN, COUNT, LAW, EVEN),
    ROW(BELOW_ZERO, ARG_VALUE, LAW, MANY),
    ROW(ABOVE_ZERO, ARG_VALUE, LAW, MANY),
    ROW(ABOVE_ONE, ARG_VALUE, LAW, MANY),
    ROW(ROWS_AGAIN, OUTPUT_VALUE, LAW, MANY),
    ROW(TRAINED_ON, ARG_VALUE, LAW, MANY),
    ROW(EARLIER, ARG_VALUE, LAW, MANY),
    ROW(STILL, ARG_VALUE, LAW, MOST),
    ROW(MADE_OF, ARG_SOURCE, LAW, MANY),
    ROW(APART, ARG_SOURCE, LAW, MANY),
    BY(number_range, ABOUT, ARG_VALUE, LAW, MANY),
    BY(varying_number, VARIES, ARG_VALUE, LAW, ONE),
    BY(span, SPAN, ARG_VALUE, CHOICE, ONE),
    BY(sign, SIGN, ARG_VALUE, LAW, ONE),
    BY(bound, FLOOR, ARG_VALUE, BOUND, ONE),
    BY(bound, CEILING, ARG_VALUE, BOUND, ONE),
    BY(bound, LEAST, ARG_VALUE, LAW, ONE),
    BY(bound, FARTHEST, ARG_VALUE, LAW, ONE),
    BY(bound, GREATEST, ARG_VALUE, LAW, ONE),
    BY(number_range, MAGNITUDE, ARG_VALUE, LAW, MANY),
    BY(number_range, DISTINCT, ARG_VALUE, LAW, MANY),
    BY(few_elements, ELEMENTS, ARG_VALUE, LAW, MANY),
    ROW(RANKS, ARG_VALUE, LAW, ONE),
#undef ROW
#undef BY
};

const struct tc_attribute_row *tc_attribute_row(enum tc_attribute attribute)
{
    return &rows[attribute];
}

unsigned tc_fact_support(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const unsigned support = rows[fact->attribute].support;
    const char *value = tc_strtab_text(symbols, fact->value);

    return support == TC_SUPPORT_WHERE && strtol(value, NULL, 10) >= TC_OFTEN ? TC_SUPPORT_OFTEN
                                                                              : support;
}

static bool is_result(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    return fact->path != TC_NO_SYM &&
           !strncmp(tc_strtab_text(symbols, fact->path), "value", strlen("value"));
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

static size_t n_dimensions(const char *shape)
{
    size_t n = shape[0] == '[' && shape[1] != ']';

    for (; *shape; shape++)
        n += *shape == ',';
    return n;
}

bool tc_fact_is_count(uint32_t attribute)
{
    switch (attribute) {
    case TC_ATTRIBUTE_COUNT:
    case TC_ATTRIBUTE_COUNT_FIRST:
    case TC_ATTRIBUTE_COUNT_LATER:
    case TC_ATTRIBUTE_COUNT_WHERE:
    case TC_ATTRIBUTE_FLOWS:
    case TC_ATTRIBUTE_FLOWS_FIRST:
    case TC_ATTRIBUTE_FLOWS_LATER:
    case TC_ATTRIBUTE_FLOWS_WHERE:
        return true;
    default:
        return false;
    }
}

/* The batches of an evaluation: see pass.c. None at all is another matter. */
static bool is_batches(const struct tc_fact *fact, const char *expected, const char *got)
{
    const tc_sym *f = fact->subject.fields;

    return tc_fact_is_count(fact->attribute) && f[TC_FACT_FN] == TC_SYM_ROOT_FORWARD &&
           f[TC_FACT_STAGE] == TC_SYM_EVALUATION && strtol(expected, NULL, 10) > 0 &&
           strtol(got, NULL, 10) > 0;
}

bool tc_fact_is_setting(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen)
{
    const char *expected = tc_strtab_text(symbols, fact->value);
    const char *got = tc_strtab_text(symbols, seen);

    switch (rows[fact->attribute].nature) {
    case TC_CHOICE:
        return is_choice(expected) && is_choice(got) && (expected[0] == '"') == (got[0] == '"');
    case TC_BOUND:
        return fabs(strtod(expected, NULL)) != 1 || !strpbrk(got, ".e");
    case TC_SIZE:
        return n_dimensions(expected) == n_dimensions(got);
    case TC_LAW:
        if (fact->attribute == TC_ATTRIBUTE_CLASS)
            return is_result(fact, symbols);
        return is_batches(fact, expected, got) ||
               tc_fact_is_within_bound(fact->attribute, expected, got);
    }
    return false;
}

bool tc_fact_may_be_chance(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const char *value = tc_strtab_text(symbols, fact->value);

    switch ((enum tc_attribute)fact->attribute) {
    case TC_ATTRIBUTE_DATA:
    case TC_ATTRIBUTE_COUNT_WHERE:
    case TC_ATTRIBUTE_FLOWS_WHERE:
        return true;
    case TC_ATTRIBUTE_COUNT:
    case TC_ATTRIBUTE_COUNT_LATER: /* a router may leave out an expert */
        return fact->subject.kind == TC_SUBJECT_USE;
    case TC_ATTRIBUTE_EARLIER:
    case TC_ATTRIBUTE_GIVEN: /* of what was left out by chance nothing may have been */
    case TC_ATTRIBUTE_STILL:
        return !strcmp(value, "false");
    case TC_ATTRIBUTE_ALIKE:
    case TC_ATTRIBUTE_EQUALS:
        return !strcmp(value, "\"\"");
    case TC_ATTRIBUTE_TRAINED_ON:
        return strcmp(value, TC_FACT_NONE) != 0;
    default:
        return rows[fact->attribute].support == TC_SUPPORT_CONTENT;
    }
}
