/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implied.h - leaving out facts that follow from others
 */
#ifndef TC_FACT_IMPLIED_H
#define TC_FACT_IMPLIED_H

#include "relation/relation.h"

/* The condense of the source of facts: relation.h. */
void tc_fact_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_FACT_IMPLIED_H */
