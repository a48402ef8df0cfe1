/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_open.h - calls that are open, and what follows from what broke in them
 */
#ifndef TC_FACT_CALL_OPEN_H
#define TC_FACT_CALL_OPEN_H

#include "fact/facts.h"

/* The one around the call, or NULL. */
struct tc_fact_open *tc_fact_call_around(const struct tc_facts *facts, struct tc_fact_watch *watch,
                                         const struct tc_call *call);
/* One more is open. Those that are may move by it. */
struct tc_fact_open *tc_fact_open_call(struct tc_fact_watch *watch, int64_t id);
/* Was it given that tensor? */
bool tc_fact_is_operand(const struct tc_fact_open *open, int64_t serial);

/* What broke where the tensors of a pack come from, or the receiver, if that is no tensor. */
tc_fact_lead tc_fact_taint_of(const struct tc_fact_watch *watch, const struct tc_fact_pack *pack);
tc_fact_lead tc_fact_taint_of_receiver(const struct tc_fact_watch *watch,
                                       const struct tc_call *call);
/* The serial of a receiver that is no tensor and no module: an optimizer, an iterator; TC_NONE. */
int64_t tc_fact_thing_of(const struct tc_call *call);
/* Keep what broke: of the process, where it is a law without a cause; and of the call. */
void tc_fact_note_lead(struct tc_fact_watch *watch, tc_fact_lead lead, tc_fact_lead cause);
void tc_fact_add_lead(struct tc_fact_watch *watch, struct tc_fact_open *open, tc_fact_lead lead,
                      tc_fact_lead cause);

#endif /* TC_FACT_CALL_OPEN_H */
