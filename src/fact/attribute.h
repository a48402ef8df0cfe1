/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.h - what is known of each attribute: the form that claims it, and how much support it
 * needs
 *
 * One row an attribute (attribute.c). An attribute that a trace comes to hold is one more row, and
 * one more line in the map of invariant/fact.h, and one of sentences in words.c.
 */
#ifndef TC_FACT_ATTRIBUTE_H
#define TC_FACT_ATTRIBUTE_H

#include "fact/rule.h"

enum tc_fact_form {
    TC_FORM_ARG_VALUE,
    TC_FORM_ARG_SOURCE,
    TC_FORM_OUTPUT_VALUE,
    TC_FORM_COUNT,
    TC_FORM_BEFORE,
    TC_FORM_SET,
    TC_FORM_ATTRIBUTE,
};

enum tc_fact_nature {
    TC_LAW,
    TC_CHOICE, /* a setting where it is a number or a text */
    TC_SIZE,   /* a setting where only the size of dimensions is another, not their number */
};

/* What a trace must tell of contents. */
enum tc_fact_asks {
    TC_ASKS_NOTHING,
    TC_ASKS_CONTENT, /* something */
    TC_ASKS_SAME, /* as much as those learned from: which tensors are known again depends on it */
};

#define TC_N_NEVER 2

struct tc_attribute_row {
    const struct tc_fact_rule *rule;
    enum tc_fact_form form; /* ARG_VALUE also claims of results, then it is OUTPUT_VALUE */
    enum tc_fact_nature nature;
    double bits;  /* that an occasion tells: see tc_fact_support() */
    double doubt; /* bits of surprise that a breach needs; 0: one */
    enum tc_fact_asks asks;
    bool is_count;    /* how often a call is made, or something flows, in a step */
    bool is_of_chain; /* of what was computed through several calls, and needs operators */
    bool is_of_kind;  /* what kind of tensor it is, and not what is in it */
    bool is_of_size;  /* fewer elements are alike by chance, or all of what is cut from them */
    /* As JSON: values that begin so are seen, and claimed by no script that has them throughout. */
    const char *never[TC_N_NEVER];
    /* Claims that begin so healthy runs break now and then: TC_FACT_BITS_OF_CHANCE. */
    const char *chance;
};

/* What is no scalar, as the value that it is; what is no tensor, as the tensor: seen, and never
 * claimed. As JSON. */
#define TC_FACT_A_TENSOR  "{\"a\":\"tensor\"}"
#define TC_FACT_AN_OBJECT "{\"an\":\"object\"}"
#define TC_FACT_NO_TENSOR "null"

/* Of what each rank hands to a call, or has returned. */
#define TC_FACT_RANKS_SAME  "true"
#define TC_FACT_RANKS_OTHER "false"

const struct tc_attribute_row *tc_attribute_row(uint32_t attribute);

/* The occasions that the fact needs, in all runs together, so that they tell 12 bits. What is said
 * of a call or a variable is said of each occasion alike, and one tells them all: a second run
 * tells what was chance. What is the same by chance more easily tells less: one length that a run
 * happened to have shows twice or so, what is done now and then may go on alike for a while, and a
 * score may be the best each time. A count n that is chance is n in one step of n: log2(n) bits. */
unsigned tc_fact_support(const struct tc_fact *fact, const struct tc_strtab *symbols);

/* The form that claims the fact. */
enum tc_fact_form tc_fact_form(const struct tc_fact *fact, const struct tc_strtab *symbols);

/* Bits of surprise (surprise.h) from which on breaches of the fact are reported. One breach of a
 * run that is not longer than those learned from together is one bit or more; five breaches of a
 * run as long as the two that were learned from are 7.9 bits, three are 4.8. Healthy runs break
 * some facts now and then: what content shows, or an order; a step whose gradients leave a variable
 * as it was; two small tensors that happen to be equal; two reasons for a call in one step. */
#define TC_FACT_BITS           1
#define TC_FACT_BITS_OF_CHANCE 7
#define TC_FACT_BITS_OF_EACH   4 /* how often something is done in a step */
double tc_fact_doubt(const struct tc_fact *fact, const struct tc_strtab *symbols);

/* Does a script that has this value throughout make a rule of it? */
bool tc_fact_is_claimed(uint32_t attribute, const char *value);

/* May a run that was alone have had the value by its seed: a number that was computed? */
bool tc_fact_needs_two_runs(const struct tc_fact *fact, const struct tc_strtab *symbols);

/* Does an amount or a size of which this was seen, in such a share of all cases, follow from a
 * setting that was changed from one number to another? In proportion, but for what does not divide;
 * by a multiple of the difference; bounded by the setting; a number that begins anew where a loop
 * would be over. */
bool tc_fact_follows(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen,
                     double share, double from, double to);

/* May another size of what the call is given break it, as where fewer elements are alike by chance?
 */
bool tc_fact_is_of_size(const struct tc_fact *fact);

/* Is a fact of which this was seen in place of its value a setting that was changed? */
bool tc_fact_is_setting(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen);

#endif /* TC_FACT_ATTRIBUTE_H */
