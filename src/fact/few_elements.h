/* SPDX-License-Identifier: Apache-2.0 */
/*
 * few_elements.h - the rule of the elements of a small tensor
 */
#ifndef TC_FACT_FEW_ELEMENTS_H
#define TC_FACT_FEW_ELEMENTS_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_few_elements;

#endif /* TC_FACT_FEW_ELEMENTS_H */
