/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - which call first comes before which, of those before the end of the first step
 */
#ifndef TC_FACT_ORDER_H
#define TC_FACT_ORDER_H

#include "fact/facts.h"

/* Which calls came before which, of those that came before the end of the first step. */
void tc_fact_say_order(struct tc_facts *facts, struct tc_fact_watch *watch, struct tc_place place);

#endif /* TC_FACT_ORDER_H */
