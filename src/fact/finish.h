/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.h - what only a whole run tells, and all that was learned
 */
#ifndef TC_FACT_FINISH_H
#define TC_FACT_FINISH_H

#include "fact/facts.h"

void tc_fact_finish(struct tc_facts *facts);

#endif /* TC_FACT_FINISH_H */
