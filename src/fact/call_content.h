/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_content.h - which operands of a call have the same content
 */
#ifndef TC_FACT_CALL_CONTENT_H
#define TC_FACT_CALL_CONTENT_H

#include "fact/facts.h"
#include "fact/operand_facts.h"

/* Packed, and read. */
void tc_fact_pack_contents(struct tc_fact_pack *pack, const struct tc_call *call);
void tc_fact_read_contents(const struct tc_fact_pack *pack, struct tc_fact_reader *reader,
                           const struct tc_call *call);

#endif /* TC_FACT_CALL_CONTENT_H */
