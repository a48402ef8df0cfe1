/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_content.h - the contents of a call's operands, beside those of calls before
 */
#ifndef TC_FACT_CALL_CONTENT_H
#define TC_FACT_CALL_CONTENT_H

#include "fact/facts.h"
#include "fact/operand_facts.h"

/* Was the packed call given the same before? To open->again. */
void tc_fact_compare_operands(struct tc_facts *facts, struct tc_fact_watch *watch,
                              struct tc_fact_open *open, const struct tc_call *call);

/* What is known of contents of the operands beside others, packed and read. */
void tc_fact_pack_contents(struct tc_facts *facts, struct tc_fact_watch *watch,
                           const struct tc_fact_open *open, const struct tc_call *call);
void tc_fact_read_contents(const struct tc_fact_pack *pack, struct tc_fact_reader *reader,
                           const struct tc_call *call);
/* How large the number is that the call returned, beside training. To open->beside. */
void tc_fact_compare_scalar(struct tc_fact_watch *watch, struct tc_fact_open *open,
                            const struct tc_call *call);

#endif /* TC_FACT_CALL_CONTENT_H */
