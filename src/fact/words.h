/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.h - what is said of a fact: what was expected, what was seen, what to look at first
 *
 * All sentences stand in one table of attributes and situations (words.c).
 */
#ifndef TC_FACT_WORDS_H
#define TC_FACT_WORDS_H

#include "invariant/fact.h"

/* "weight of linear() is float32 in training". */
void tc_fact_describe(const struct tc_fact *fact, const struct tc_strtab *symbols,
                      struct tc_strbuf *out);
/* What was seen in place of it; at: the line of the call, "train.py:12", or TC_NO_SYM. */
void tc_fact_explain(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen,
                     tc_sym at, struct tc_strbuf *out);
/* What to look at first; "" where nothing helps. */
const char *tc_fact_hint(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen);

#endif /* TC_FACT_WORDS_H */
