/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_span.h - the rule of the numbers that a call is given in a whole run
 */
#ifndef TC_FACT_NUMBER_SPAN_H
#define TC_FACT_NUMBER_SPAN_H

#include "fact/rule.h"
#include "fact/slot.h"

extern const struct tc_fact_rule tc_fact_number_span;

/* Learning, what the numbers of a slot say of the whole run. False where they say nothing: they are
 * few, or a receiver's, as a schedule that goes by losses has them. */
bool tc_fact_tell_span(const struct tc_fact_slot *slot, struct tc_strbuf *out);

#endif /* TC_FACT_NUMBER_SPAN_H */
