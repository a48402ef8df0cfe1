/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_result.h - what a call returns: packed, read as facts, and given on
 */
#ifndef TC_FACT_CALL_RESULT_H
#define TC_FACT_CALL_RESULT_H

#include "fact/facts.h"

/* Pack what it returned to facts->pack; the second is for functions that the script defines. */
void tc_fact_pack_result(struct tc_facts *facts, struct tc_fact_watch *watch,
                         struct tc_fact_open *open, const struct tc_call *call);
void tc_fact_pack_own_result(struct tc_facts *facts, struct tc_fact_watch *watch,
                             struct tc_fact_open *open, const struct tc_call *call);
/* What the packed result says, to facts->entries. */
void tc_fact_read_result(struct tc_facts *facts, const struct tc_fact_open *open,
                         const struct tc_record *end);
/* What a call gives on: to its result, to gradients and through them to parameters. */
void tc_fact_give_on(const struct tc_facts *facts, struct tc_fact_watch *watch,
                     const struct tc_fact_open *open, const struct tc_call *call);
void tc_fact_give_on_own(struct tc_fact_watch *watch, const struct tc_fact_open *open,
                         const struct tc_call *call);

#endif /* TC_FACT_CALL_RESULT_H */
