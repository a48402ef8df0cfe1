/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h - at which lines of the script a tensor was made
 */
#ifndef TC_FACT_ORIGIN_H
#define TC_FACT_ORIGIN_H

#include "fact/facts.h"

struct tc_fact_origin tc_fact_origin(const struct tc_fact_watch *watch, int64_t serial);
/* Judging, a call returned this tensor, or wrote to it. */
void tc_fact_keep_origin(struct tc_fact_watch *watch, const struct tc_fact_open *open,
                         const struct tc_call *call, int64_t serial);
/* "; made at model.py:34 from data.py:17", lines other than `at`; or nothing. */
void tc_fact_print_origin(const struct tc_facts *facts, struct tc_fact_origin origin, tc_sym at,
                          struct tc_strbuf *out);
/* Words for where the operand was made by which the fact breaks now; NULL if that is not known. */
const char *tc_fact_origin_of(struct tc_facts *facts, const struct tc_fact *fact);
/* "model.py:34". */
void tc_fact_print_line(const struct tc_facts *facts, tc_sym line, struct tc_strbuf *out);

#endif /* TC_FACT_ORIGIN_H */
