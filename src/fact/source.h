/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - facts as a source of examples, for those that treat it apart from all others
 */
#ifndef TC_FACT_SOURCE_H
#define TC_FACT_SOURCE_H

#include "relation/relation.h"

extern const struct tc_source tc_source_facts;

#endif /* TC_FACT_SOURCE_H */
