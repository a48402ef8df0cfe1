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
 *   "args.state_dict.some.known is true"    some key of what is loaded is one of the receiver's
 *   "args.parameters.some.given is true"    of a clipping, or of what it calls
 *   "self.last_epoch at_most self.T_max"    of the whole numbers that a schedule has
 *   "default is args.p"                     the argument has the default of its signature
 *   "call is rare"                          it loads or saves state: a run has few of these
 *
 * Magnitudes are facts of one script and never stated.
 */
#ifndef TC_RELATION_OPERAND_H
#define TC_RELATION_OPERAND_H

#include "relation/relation.h"

extern const struct tc_source tc_source_operands;

/* What is said of all operands together: the name of its root, the path, which of true and false is
 * claimed, as the other never is, and both in words. */
#define TC_OPERAND_WHOLE_MAP(X)                                                           \
    X(SOME_GRADIENT, "args.some.requires_grad", TC_SYM_TRUE,                              \
      "at least one operand requires a gradient", "no operand requires a gradient")       \
    X(ALL_GRADIENTS, "args.all.requires_grad", TC_SYM_FALSE,                              \
      "not all operands require a gradient", "all operands require a gradient")           \
    X(SOME_KNOWN, "args.state_dict.some.known", TC_SYM_TRUE,                              \
      "some of the names that are loaded are the module's",                               \
      "none of the names that are loaded is the module's: nothing was loaded")            \
    X(SOME_GIVEN, "args.parameters.some.given", TC_SYM_TRUE, "some parameters are given", \
      "no parameter was given: a generator that was used up before?")

/* Part of a path: the dimension that the operand before it names, where the tensor is a matrix. */
#define TC_PART_MATRIX ".matrix"

enum tc_path_root {
    TC_PATH_OTHER, /* "self", "ctx.autocast", "owner.training", "call", or a value */
    TC_PATH_ARGUMENT,
    TC_PATH_SETTING, /* of the receiver */
    TC_PATH_RESULT,
    TC_PATH_LENGTH, /* of the result */
#define X(name, path, claimed, held, broken) TC_PATH_##name,
    TC_OPERAND_WHOLE_MAP(X)
#undef X
};

struct tc_operand_whole {
    enum tc_path_root root;
    const char *path;
    tc_sym claimed;
    const char *held, *broken;
};

/* NULL: the root is no such. */
const struct tc_operand_whole *tc_operand_whole(enum tc_path_root root);

enum tc_path_part {
    TC_PART_NONE,
    TC_PART_CONTENT,
    TC_PART_SHAPE,
    TC_PART_SHAPE_FIRST,
    TC_PART_SHAPE_LAST,
    TC_PART_DTYPE,
    TC_PART_OF_MATRIX,
};

/* "args.input.shape[0]": the argument "input", of it shape[0]. */
struct tc_path {
    tc_sym sym; /* the whole */
    enum tc_path_root root;
    enum tc_path_part part;
    struct tc_str owner; /* without the part: "args.input" */
    struct tc_str name;  /* without the root: "input" */
};

/* An argument, or all of them together. */
static inline bool tc_path_is_argument(const struct tc_path *path)
{
    return path->root == TC_PATH_ARGUMENT || path->root >= TC_PATH_SOME_GRADIENT;
}

struct tc_path tc_path_read(const struct tc_strtab *symbols, tc_sym sym);
/* Of a tensor: ".shape[0]"; NULL of a path that ends in none, or is of a matrix. */
const char *tc_path_part_text(enum tc_path_part part);

/* One statement: what the left is to the right, by a verb from TC_SYM_IS to TC_SYM_REACHES. */
struct tc_statement {
    tc_sym sym; /* the whole */
    struct tc_path left;
    tc_sym verb, right;
};

bool tc_statement_read(struct tc_strtab *symbols, tc_sym sym, struct tc_statement *out);

/* The verb that says the contrary; TC_NO_SYM for "is", which any other value contradicts. */
tc_sym tc_statement_contrary(tc_sym verb);

/* ---- reading one call ---------------------------------------------------------------------- */

#define TC_MAX_STATEMENTS 160

/* All statements, sorted; returns how many. */
size_t tc_operand_read(struct tc_strtab *symbols, const struct tc_call *call,
                       tc_sym out[TC_MAX_STATEMENTS]);
/* Does an operand of this name tell a dimension of the first tensor? */
bool tc_operand_is_dimension(struct tc_str name);
/* Are two shapes the same? NULL is none. */
bool tc_operand_is_same_shape(const struct tc_value *a, const struct tc_value *b);
/* The mode of the module that makes the call; NULL if none does, or it has no mode. */
const struct tc_value *tc_operand_owner_training(const struct tc_call *call);

/* Why its result may hold a NaN or an infinity; TC_EXCUSE_NONE if it should not. Gradients overflow
 * in clipping, unscaling and a scaler, and a batch may mark by a NaN what is not known. */
enum tc_excuse tc_operand_may_be_infinite(const struct tc_call *call);
/* h with the value mixed in, but for identities and contents of tensors; v may be NULL. */
uint64_t tc_operand_mix(uint64_t h, const struct tc_value *v);

/* Drop what a stronger statement of the same call and precondition says: operand_condense.c. */
void tc_operand_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted);

#endif /* TC_RELATION_OPERAND_H */
