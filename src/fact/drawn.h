/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawn.h - what a script does in steps that it draws
 */
#ifndef TC_FACT_DRAWN_H
#define TC_FACT_DRAWN_H

#include "fact/facts.h"

/* Learning, what a window had, from 0 on; the sequence is made if there is none. */
void tc_fact_sequence_add(struct tc_facts *facts, struct tc_fact_sequence **sequence,
                          uint64_t window, const void *bytes, size_t size);
void tc_fact_take_back_drawn(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_DRAWN_H */
