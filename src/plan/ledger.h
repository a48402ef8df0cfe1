/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - how likely a wrong "verified" is: degrees of values, counted while a plan is evaluated
 *
 * Each value is a polynomial of random variables: elements of the tensors that the step starts
 * from, values of keyed functions, and inverses 1/v. Two that differ as such are equal at a random
 * point with a chance of at most their degree over the size of the field, once the inverses are
 * cleared (Schwartz 1980, Zippel 1979). docs/plans.md has the derivation.
 */
#ifndef TC_PLAN_LEDGER_H
#define TC_PLAN_LEDGER_H

#include "plan/carry.h"
#include "plan/degree.h"
#include "plan/evaluation.h"

/* What is counted over an evaluation of one job. */
struct tc_ledger;

/* mode: the laws that the evaluation has. */
struct tc_ledger *tc_ledger_new(const struct tc_plan_set *set, enum tc_laws_mode mode);
void tc_ledger_free(struct tc_ledger *ledger);

/* To be called as those of tc_world_watch are, from any thread. */
void tc_ledger_op(struct tc_ledger *ledger, const struct tc_run *run, uint32_t op);
void tc_ledger_met(struct tc_ledger *ledger, const struct tc_participant *all, uint32_t n);
void tc_ledger_sent(struct tc_ledger *ledger, const struct tc_run *from,
                    const struct tc_plan_op *op, struct tc_degrees *with);
void tc_ledger_received(struct tc_ledger *ledger, const struct tc_run *to,
                        const struct tc_plan_op *op, const struct tc_degrees *with);
void tc_ledger_done(struct tc_ledger *ledger, const struct tc_run *run);

/* Bits that one evaluation of both jobs gives: a wrong "equal" has a chance below 2^-bits. 0: no
 * bound. */
double tc_ledger_bits(const struct tc_ledger *single, const struct tc_ledger *parallel);
/* The first operator that chose by an order of values that depend on parameters, and how many did;
 * NULL if none. */
const struct tc_plan_op *tc_ledger_choice(const struct tc_ledger *ledger, uint64_t *n);

#endif /* TC_PLAN_LEDGER_H */
