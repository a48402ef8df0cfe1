/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase.h - what sentences about facts name: calls, operands, flows, values
 */
#ifndef TC_FACT_PHRASE_H
#define TC_FACT_PHRASE_H

#include "invariant/fact.h"

/* An API, of a class if one is given: "Tensor.mul()", "AdamW.step()", "Net.forward()". */
void tc_phrase_call(const struct tc_strtab *symbols, tc_sym fn, tc_sym of, struct tc_strbuf *out);

/* What a fact is about, without where that is: "the second Embedding()", "the optimizer's step". */
void tc_phrase_subject(const struct tc_strtab *symbols, const struct tc_subject *subject,
                       struct tc_strbuf *out);
/* Where: " in Net.forward() in training, under no_grad", or nothing. */
void tc_phrase_context(const struct tc_strtab *symbols, const struct tc_subject *subject,
                       struct tc_strbuf *out);
/* The module that a call is made on, or that owns a variable: "Teacher", "model.encoder". */
void tc_phrase_module(const struct tc_strtab *symbols, const struct tc_subject *subject,
                      struct tc_strbuf *out);
/* "weight of linear()", "the result of abs()", "lr of optimizer.param_groups[0]". */
void tc_phrase_operand(const struct tc_strtab *symbols, const struct tc_fact *fact,
                       struct tc_strbuf *out);
/* A value of the fact's attribute. */
void tc_phrase_value(const struct tc_strtab *symbols, const struct tc_fact *fact, tc_sym value,
                     struct tc_strbuf *out);

/* Where a flow comes from: "the result of mul()", "result 1 of the second chunk()". */
void tc_phrase_start(const struct tc_strtab *symbols, const struct tc_subject *flow,
                     struct tc_strbuf *out);
/* The same n times: "3 parameters initialised by kaiming_uniform_()". */
void tc_phrase_starts(const struct tc_strtab *symbols, const struct tc_subject *flow, const char *n,
                      struct tc_strbuf *out);
/* As often as was expected instead: ", not on 2", ", not once". */
void tc_phrase_not_starts(const struct tc_strtab *symbols, const struct tc_subject *flow,
                          const char *n, struct tc_strbuf *out);
/* "never", "once", "twice", "3 times". */
void tc_phrase_times(const char *n, struct tc_strbuf *out);

#endif /* TC_FACT_PHRASE_H */
