/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_operands.h - what a call is given: packed, and read as facts
 */
#ifndef TC_FACT_CALL_OPERANDS_H
#define TC_FACT_CALL_OPERANDS_H

#include "fact/facts.h"

/* Pack what it is given to facts->pack, and keep the serials in the open call; the second is for
 * functions that the script defines. */
void tc_fact_pack_operands(struct tc_facts *facts, struct tc_fact_watch *watch,
                           struct tc_fact_open *open, const struct tc_call *call);
void tc_fact_pack_own_operands(struct tc_facts *facts, struct tc_fact_watch *watch,
                               struct tc_fact_open *open, const struct tc_call *call);
/* What the packed call says, to facts->entries. */
void tc_fact_read_operands(struct tc_facts *facts, const struct tc_fact_watch *watch,
                           const struct tc_fact_open *open, const struct tc_call *call);

#endif /* TC_FACT_CALL_OPERANDS_H */
