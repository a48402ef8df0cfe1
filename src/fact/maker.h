/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker.h - which calls made the tensors, and what of them a model computed
 */
#ifndef TC_FACT_MAKER_H
#define TC_FACT_MAKER_H

#include "fact/facts.h"

/* The tensor was made now, by what the word says: tc_fact_word(). */
void tc_fact_produce(struct tc_fact_watch *watch, int64_t serial, uint64_t word);
/* What produced the tensor, as tc_fact_word() says; 0 if it is not known. */
uint64_t tc_fact_producer(const struct tc_fact_watch *watch, int64_t serial);

/* Of the tensors of a pack, told in its bytes as well. Which of them a model computed: their
 * content is another one as training goes on. Is there one? */
bool tc_fact_find_computed(const struct tc_fact_watch *watch, struct tc_fact_pack *pack,
                           bool are_all);
/* And which are of a model's choices alone; is what is computed of them one, too? */
bool tc_fact_find_choices(const struct tc_fact_watch *watch, struct tc_fact_pack *pack,
                          bool are_all);
/* Where the first ones come from, to facts->sources. */
void tc_fact_find_sources(struct tc_facts *facts, struct tc_fact_watch *watch,
                          const struct tc_fact_pack *pack);

#endif /* TC_FACT_MAKER_H */
