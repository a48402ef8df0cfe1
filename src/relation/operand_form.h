/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_form.h - what the forms of APIArg and APIOutput have in common: one statement about a
 * call
 *
 * An invariant has two params, the call and the operand. It holds on an example whose outcome has
 * the statement, breaks on one that says otherwise of the same operands, and is undecided where
 * nothing is said of them.
 */
#ifndef TC_RELATION_OPERAND_FORM_H
#define TC_RELATION_OPERAND_FORM_H

#include "relation/operand.h"
#include "relation/support.h"

/* What stands in the struct tc_relation of a form on the source "operands": it adds which
 * statements it proposes. */
#define TC_OPERAND_FORM                                                            \
    .source = &tc_source_operands, .bans = tc_operand_bans, .key = tc_operand_key, \
    .holds = tc_operand_holds, .describe = tc_operand_describe, .explain = tc_operand_explain

/* Those that the form states. */
void tc_operand_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                        const struct tc_outcomes *outcomes, struct tc_hypotheses *out);
tc_sym tc_operand_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params);
/* Of a constant: is its value of a form that is ever stated? */
const char *tc_operand_undecidable(const struct tc_strtab *symbols, const struct tc_param *params,
                                   size_t n_params);
enum tc_outcome tc_operand_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome);
/* The operands themselves explain nothing about the statement made of them. */
bool tc_operand_bans(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, tc_sym field);
/* For constants, which modes explain: a script without an evaluation teaches nothing of how things
 * are without gradients. */
bool tc_operand_has_context(const struct tc_strtab *symbols, const struct tc_param *params,
                            tc_sym field);
void tc_operand_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out);
void tc_operand_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                        const struct tc_event *event, const struct tc_example *example,
                        struct tc_strbuf *out);

#endif /* TC_RELATION_OPERAND_FORM_H */
