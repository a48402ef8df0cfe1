/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_number.h - how large losses and norms are before training has changed them, and batches
 */
#ifndef TC_FACT_EARLY_NUMBER_H
#define TC_FACT_EARLY_NUMBER_H

#include "fact/facts.h"

/* The value of an operand or a result, that of path, if it is a number; returns what breaks by it.
 */
tc_fact_lead tc_fact_meet_scalar(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 uint32_t subject, const char *path, const struct tc_value *tensor,
                                 tc_fact_lead cause);
/* The same of the tensors of a batch, or of what a model is given: how large, how many distinct
 * elements; of what nothing has told yet that it is another batch. */
tc_fact_lead tc_fact_meet_batch_numbers(struct tc_facts *facts, struct tc_fact_watch *watch,
                                        uint32_t subject, const char *path,
                                        const struct tc_value *value);
/* Learning, at the end of a run. */
void tc_fact_say_scalars(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_EARLY_NUMBER_H */
