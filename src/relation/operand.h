/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand.h - what can be said of the operands and the result of one call
 *
 * The source "operands" gives one example for each call that returned. Its outcome is a set of
 * statements, interned as text of three words:
 *
 *   "args.dim is -1"                        a boolean, a dimension counted from the end, or the
 *                                           class zero / not_zero
 *   "args.dim.matrix is -1"                 the same, said of matrices alone
 *   "args.a.dtype equals args.b.dtype"      or "... differs_from ..."
 *   "value.shape[1] at_most args.max_size"  or "... exceeds ..."
 *   "value.shape[1] at_least args.size"     or "... below ..."; and "... reaches ..." where they
 *                                           are equal and more than one
 *   "args.some.requires_grad is true"       of what makes one number of several tensors, as losses
 *   "args.all.requires_grad is false"       do: at least one operand, not every one
 *   "default is args.p"                     the argument has the default of its signature
 *   "call is rare"                          it loads or saves state: a run has few of these
 *
 * Magnitudes are facts of one script and never stated.
 */
#ifndef TC_RELATION_OPERAND_H
#define TC_RELATION_OPERAND_H

#include "relation/relation.h"

extern const struct tc_source tc_source_operands;

/* Part of a path: the dimension that the operand before it names, where the tensor is a matrix. */
#define TC_PART_MATRIX ".matrix"

/* Of all floating operands together. */
#define TC_OPERAND_SOME_GRADIENT "args.some.requires_grad"
#define TC_OPERAND_ALL_GRADIENTS "args.all.requires_grad"

/* A statement taken apart; the parts point into the text of the symbol. */
struct tc_statement {
    struct tc_str left, verb, right;
};

bool tc_statement_split(const struct tc_strtab *symbols, tc_sym sym, struct tc_statement *out);
tc_sym tc_statement_intern(struct tc_strtab *symbols, const char *left, const char *verb,
                           const char *right);

/* The verb that says the contrary; NULL for "is", which any other value contradicts. */
const char *tc_statement_contrary(const char *verb);
/* ".dtype", ".shape[0]" or another part of a tensor that a path ends in; NULL if in none. */
const char *tc_statement_part(const char *path);

/* ---- reading one call ---------------------------------------------------------------------- */

#define TC_MAX_STATEMENTS 160

/* All statements, sorted; returns how many. */
size_t tc_operand_read(struct tc_strtab *symbols, const struct tc_call *call,
                       tc_sym out[TC_MAX_STATEMENTS]);
/* Does an operand of this name tell a dimension of the first tensor? */
bool tc_operand_is_dimension(struct tc_str name);
/* Equal, and a boolean, a number or null; either may be NULL. */
bool tc_operand_is_same_scalar(const struct tc_value *a, const struct tc_value *b);
/* The mode of the module that makes the call; NULL if none does, or it has no mode. */
const struct tc_value *tc_operand_owner_training(const struct tc_call *call);

/* Is it a part of clipping, unscaling or a scaler's call? That gradients overflow is what a scaler
 * is there for. */
bool tc_operand_is_of_gradients(const struct tc_call *call);
/* h with the value mixed in, but for identities and contents of tensors; v may be NULL. */
uint64_t tc_operand_mix(uint64_t h, const struct tc_value *v);

/* Drop what a stronger statement of the same call and precondition says: operand_condense.c. */
void tc_operand_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_RELATION_OPERAND_H */
