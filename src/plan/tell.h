/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell.h - words and findings that the files which tell share
 */
#ifndef TC_PLAN_TELL_H
#define TC_PLAN_TELL_H

#include "plan/explain_state.h"

/* ---- tell_words.c -------------------------------------------------------------------------- */

/* "aten.add (train.py:51)" */
void tc_tell_op(struct tc_strbuf *out, const struct tc_plan_op *op);
/* A line for each operand, with its layout. */
const char *tc_tell_operands(struct tc_story *s, uint32_t op);
/* A finding about a result, at the line of an operator; TC_NO_OP: of none. */
struct tc_plan_finding tc_tell_new(struct tc_story *s, const struct tc_plan_judged *judged,
                                   uint32_t op);
/* Gives the finding its text, with the call of a helper that is meant. */
void tc_tell_keep(struct tc_story *s, struct tc_plan_finding *f, struct tc_strbuf *text);
/* Does a line, "train.py:51", stand in the plan of one device? */
bool tc_tell_is_single_line(const struct tc_story *s, const char *line, size_t size);
/* Of lines with ", " between them those that one device does not have; all if it has each. */
const char *tc_tell_own_lines(struct tc_story *s, const char *lines);
/* "; it reads what was chosen at train.py:51" */
void tc_tell_made(struct tc_story *s, uint32_t op, struct tc_strbuf *text);
/* The same of several operators. */
void tc_tell_made_of(struct tc_story *s, const uint32_t *ops, uint32_t n, struct tc_strbuf *text);

/* ---- tell_factor.c ------------------------------------------------------------------------- */

const char *tc_tell_factors(struct tc_story *s, uint32_t op);
void tc_tell_steps(struct tc_story *s, uint32_t value, uint32_t at, struct tc_strbuf *text);
void tc_tell_loss(const struct tc_story *s, struct tc_strbuf *text);
uint32_t tc_tell_factor_origin(struct tc_story *s, uint32_t op, const struct tc_related *r);
void tc_tell_number(struct tc_story *s, uint32_t op, struct tc_strbuf *text);
/* Does an operator add unlike multiples of single-device values? */
bool tc_tell_has_unlike_factors(struct tc_story *s, uint32_t op);
/* The operand that is a multiple of the single-device value; TC_NO_OP: none. */
uint32_t tc_tell_multiple_operand(struct tc_story *s, uint32_t op);
struct tc_plan_finding tc_tell_multiple(struct tc_story *s, const struct tc_plan_judged *judged,
                                        uint32_t op, uint32_t dep);
struct tc_plan_finding tc_tell_unlike(struct tc_story *s, const struct tc_plan_judged *judged,
                                      uint32_t op);

#endif /* TC_PLAN_TELL_H */
