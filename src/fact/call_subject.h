/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_subject.h - what a call is, in its context, and how often it was made
 */
#ifndef TC_FACT_CALL_SUBJECT_H
#define TC_FACT_CALL_SUBJECT_H

#include "fact/facts.h"

/* The number of its label, which is made if it is a new one. */
uint32_t tc_fact_call_label(struct tc_facts *facts, struct tc_fact_watch *watch,
                            const struct tc_call *call);
/* The label of the subject's API and class; NULL if there is none. */
struct tc_fact_label *tc_fact_label_of(const struct tc_fact_watch *watch,
                                       const struct tc_subject *subject);
/* The subject of an open call, which has its label, within the one around it, or NULL. */
uint32_t tc_fact_call_subject(struct tc_facts *facts, const struct tc_fact_watch *watch,
                              const struct tc_fact_open *open, const struct tc_fact_open *around,
                              const struct tc_call *call);
/* It was made once more. */
void tc_fact_count_call(struct tc_facts *facts, struct tc_fact_watch *watch,
                        const struct tc_fact_open *open, const struct tc_call *call);

#endif /* TC_FACT_CALL_SUBJECT_H */
