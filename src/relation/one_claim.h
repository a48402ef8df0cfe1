/* SPDX-License-Identifier: Apache-2.0 */
/*
 * one_claim.h - rules: forms with one claim, which a judge decides when something happens
 *
 * A rule is a row: a name, words, what it needs of a trace, and a judge. one_claim.c asks the judge
 * of the events that the row names, and makes an example of each answer, held or broken. What is
 * proposed, judged and said follows from the claim in the row (claims.h). To add a rule: a file
 * with a judge and a row, and its name in registry.c, twice.
 */
#ifndef TC_RELATION_ONE_CLAIM_H
#define TC_RELATION_ONE_CLAIM_H

#include "relation/claims.h"
#include "relation/form.h"

/* When a judge is asked; never of what a worker of a DataLoader does, but by TC_AT_WORKER. */
#define TC_AT(role)  (UINT32_C(1) << TC_ROLE_##role) /* a call of that role returned */
#define TC_AT_CALL   (TC_AT_ROOT - 1)                /* any call did */
#define TC_AT_ROOT   (UINT32_C(1) << TC_N_ROLES)     /* a root forward did, whatever its role */
#define TC_AT_WINDOW (UINT32_C(2) << TC_N_ROLES)     /* a window with an optimizer step closed */
#define TC_AT_CHANGE (UINT32_C(4) << TC_N_ROLES)     /* a variable changed */
#define TC_AT_RAISED (UINT32_C(8) << TC_N_ROLES)     /* a call as above raised */
#define TC_AT_WORKER (UINT32_C(16) << TC_N_ROLES)    /* the same in a worker */
_Static_assert(TC_N_ROLES + 4 < 32, "when a judge is asked has 32 bits");

/* What a judge is asked about; all is borrowed. */
struct tc_hearing {
    const struct tc_relation_rule *rule;
    void *state; /* of the source */
    struct tc_strtab *symbols;
    const struct tc_event *event;
    const struct tc_sink *sink;
};

struct tc_relation_rule {
    struct tc_relation form; /* its name, words and needs */
    struct tc_source source; /* its name in evidence, and what it keeps of each process */
    struct tc_claim claim;
    uint32_t at; /* TC_AT..., joined by | */
    void (*judge)(const struct tc_hearing *h);
};

/* Ties the parts of a rule together; stands first in its row. */
#define TC_RULE(self)                                                                \
    .form.source = &(self).source, .form.claims = &(self).claim, .form.n_claims = 1, \
    .source.rule = &(self), .source.is_set = true

/* Parts of the claim in a row, see struct tc_claim: calls of its params by role; what else the
 * params speak of; words of an example. An atom of two words is a TC_WORDS(). */
#define TC_CLAIM_ROLES(...)                                                        \
    .claim.n_roles = sizeof((enum tc_role[]){__VA_ARGS__}) / sizeof(enum tc_role), \
    .claim.roles = {__VA_ARGS__}
#define TC_CLAIM_OF(of_, kind_, attr_, to_) \
    .claim.of = (of_), .claim.kind = (kind_), .claim.attr = (attr_), .claim.to = (to_)
#define TC_CLAIM_ATOMS(key_, held_, broken_) \
    .claim.key = {key_}, .claim.held = {held_}, .claim.broken = {broken_}
#define TC_WORDS(...) __VA_ARGS__

/* Does the rule name events of that sort? */
bool tc_rule_hears(const struct tc_relation_rule *rule, const struct tc_event *event);
/* What source.observe is for other sources. */
void tc_rule_observe(const struct tc_relation_rule *rule, void *state, struct tc_strtab *symbols,
                     const struct tc_event *event, const struct tc_sink *sink);

/* What the rule keeps of the process in which it happened: zeros at first. */
void *tc_hearing_state(const struct tc_hearing *h);
/* It holds, or is broken. */
void tc_answer(const struct tc_hearing *h, bool holds);
/* ... of this variable, at this place, in this situation: what is set of the example. A key of its
 * own is that of a call before this one. */
void tc_answer_of(const struct tc_hearing *h, bool holds, struct tc_example of);
/* Several atoms at once, in ascending order: the same of one call after another. */
void tc_answer_set(const struct tc_hearing *h, const tc_sym *outcome, size_t n,
                   struct tc_example of);
/* It is not decided, for that reason; variable is what it is about, or NULL. */
void tc_answer_excused(const struct tc_hearing *h, const struct tc_variable *variable,
                       enum tc_excuse excuse);

#endif /* TC_RELATION_ONE_CLAIM_H */
