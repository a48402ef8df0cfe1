/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implied_order.h - which facts about an order follow from two others
 */
#ifndef TC_FACT_IMPLIED_ORDER_H
#define TC_FACT_IMPLIED_ORDER_H

#include "invariant/invariant.h"

/* Mark these among the facts of the set. */
void tc_fact_drop_orders(const struct tc_strtab *symbols, const struct tc_invariant_set *set,
                         bool *drop);

#endif /* TC_FACT_IMPLIED_ORDER_H */
