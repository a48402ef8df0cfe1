/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varying_number.h - the rules of numbers that vary: whether they do, which they are, on which side
 * of zero
 */
#ifndef TC_FACT_VARYING_NUMBER_H
#define TC_FACT_VARYING_NUMBER_H

#include "fact/rule.h"

extern const struct tc_fact_rule tc_fact_varying_number, tc_fact_span, tc_fact_sign;

#endif /* TC_FACT_VARYING_NUMBER_H */
