/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - the interned words of one run of inference or checking
 *
 * Well-known words have fixed numbers, so that code can name them; all others
 * are interned as they appear. Values of fields are interned as JSON text:
 * `"training"`, `true`, `null`.
 */
#ifndef TC_REPLAY_SYMBOLS_H
#define TC_REPLAY_SYMBOLS_H

#include <stdbool.h>

#include "base/strtab.h"
#include "trace/role.h"
#include <traincheck/value.h>

#define TC_SYM_MAP(X)                               \
    /* values */                                    \
    X(EMPTY, "")                                    \
    X(NULL, "null")                                 \
    X(TRUE, "true")                                 \
    X(FALSE, "false")                               \
    X(ZERO, "\"zero\"")                             \
    X(TINY, "\"tiny\"")                             \
    X(POSITIVE, "\"positive\"")                     \
    X(NEGATIVE, "\"negative\"")                     \
    X(NAN_OR_INF, "\"nan_or_inf\"")                 \
    X(NON_ZERO, "\"non_zero\"")                     \
    X(GRAD_NULL, "\"null\"")                        \
    X(ALL, "\"all\"")                               \
    X(SOME, "\"some\"")                             \
    X(NONE, "\"none\"")                             \
    X(ONE, "\"one\"")                               \
    X(MANY, "\"many\"")                             \
    X(TOP, "\"top\"")                               \
    X(USER, "\"user\"")                             \
    /* attributes and classes of change */          \
    X(DATA, "data")                                 \
    X(GRAD, "grad")                                 \
    X(DTYPE, "dtype")                               \
    X(REQUIRES_GRAD, "requires_grad")               \
    X(CLEARED, "cleared")                           \
    X(KEPT, "kept")                                 \
    X(OPTIMIZER, "optimizer")                       \
    X(CHANGED, "changed")                           \
    X(UNCHANGED, "unchanged")                       \
    X(CLEAR, "clear")                               \
    X(NOT_CLEAR, "non_zero")                        \
    X(OBSERVED, "observed")                         \
    X(COMPUTES, "computes")                         \
    X(GRAD_ABSENT, "grad_absent")                   \
    X(GRAD_PRESENT, "grad_present")                 \
    X(NO_UPDATE, "no_update")                       \
    X(AS_TAKEN, "as_taken")                         \
    X(OVERFLOW, "overflow")                         \
    X(FLAT, "flat")                                 \
    X(TRAINING, "training")                         \
    X(INIT, "init")                                 \
    X(EVALUATION, "evaluation")                     \
    X(CHECKPOINTING, "checkpointing")               \
    X(OWNED, "owned")                               \
    X(SETTINGS, "settings")                         \
    X(SEED, "seed")                                 \
    X(DECAY, "decay")                               \
    X(SHAPE, "shape")                               \
    X(EQUAL, "equal")                               \
    X(DIFFERS, "differs")                           \
    X(DISTINCT, "distinct")                         \
    X(REPEATED, "repeated")                         \
    X(CONTENT, "content")                           \
    X(GRAPHED, "graphed")                           \
    X(UNGRAPHED, "ungraphed")                       \
    X(APART, "apart")                               \
    X(ATTACHED, "attached")                         \
    X(WHOLE, "whole")                               \
    X(DETACHED, "detached")                         \
    X(NESTED, "nested")                             \
    /* first words of atoms */                      \
    X(CALL, "call")                                 \
    X(CHANGE, "change")                             \
    X(SET, "set")                                   \
    X(SET_IDLE, "set_idle")                         \
    X(SWAP, "swap")                                 \
    X(KNOWN, "known")                               \
    X(DONE, "done")                                 \
    X(DEFAULT, "default")                           \
    X(ABSENT, "-")                                  \
    X(ANY, "*")                                     \
    /* what a statement says */                     \
    X(IS, "is")                                     \
    X(EQUALS, "equals")                             \
    X(DIFFERS_FROM, "differs_from")                 \
    X(AT_MOST, "at_most")                           \
    X(EXCEEDS, "exceeds")                           \
    X(AT_LEAST, "at_least")                         \
    X(BELOW, "below")                               \
    X(REACHES, "reaches")                           \
    X(SELF, "self")                                 \
    X(RARE, "rare")                                 \
    X(USERS, "users")                               \
    X(NOT_ZERO, "\"not_zero\"")                     \
    X(LEFT, "\"left\"")                             \
    X(FINITE, "\"finite\"")                         \
    X(NOT_FINITE, "\"not_finite\"")                 \
    X(DISTINCT_VALUE, "\"distinct\"")               \
    X(GRAPHED_VALUE, "\"graphed\"")                 \
    X(APART_VALUE, "\"apart\"")                     \
    X(ATTACHED_VALUE, "\"attached\"")               \
    X(NOT_NEGATIVE, "\"not_negative\"")             \
    X(EXACT, "\"exact\"")                           \
    X(ROUNDED, "\"rounded\"")                       \
    X(NOT_BLANK, "\"not_blank\"")                   \
    X(EQUAL_VALUE, "\"equal\"")                     \
    X(LEARNED, "\"learned\"")                       \
    X(VISIBLE, "\"visible\"")                       \
    X(NEXT, "\"next\"")                             \
    X(VARIED, "\"varied\"")                         \
    X(MASKED, "\"masked\"")                         \
    X(SCALED, "\"scaled\"")                         \
    X(OFF, "\"off\"")                               \
    X(READ, "\"read\"")                             \
    /* kinds of variables */                        \
    X(PARAMETER, "Parameter")                       \
    X(BUFFER, "buffer")                             \
    X(FROZEN_BUFFER, "frozen_buffer")               \
    X(MOVING_BUFFER, "moving_buffer")               \
    X(PARAM_GROUP, "param_group")                   \
    X(BATCH, "batch")                               \
    X(VALUE, "value")                               \
    X(SAMPLER, "sampler")                           \
    X(TERM, "term")                                 \
    X(COLUMN, "column")                             \
    X(SCALE, "scale")                               \
    X(ATTENTION, "attention")                       \
    X(DRAWN, "drawn")                               \
    /* descriptors */                               \
    X(ROOT_FORWARD, "root.forward")                 \
    X(TRAINING_FORWARD, "root.forward[train,grad]") \
    X(FROZEN_NORMS, "root.forward.frozen_norms")    \
    X(STEP_WINDOW, "step window")                   \
    X(LOSS, "loss")                                 \
    X(ZERO_GRAD, "zero_grad")                       \
    X(CLIP, "clip")                                 \
    X(CLIP_SUM, "clip sum")                         \
    X(BETWEEN, "between")                           \
    X(OUTSIDE, "outside")                           \
    /* fields of situations */                      \
    X(F_STAGE, "stage")                             \
    X(F_CTX_GRAD, "ctx.grad")                       \
    X(F_CTX_INFERENCE, "ctx.inference")             \
    X(F_CTX_AUTOCAST, "ctx.autocast")               \
    X(F_WORLD, "world")                             \
    X(F_IN_ROLE, "in.role")                         \
    X(F_IN, "in")                                   \
    X(F_AFTER_BACKWARD, "after.backward")           \
    X(F_AFTER_FORWARD, "after.forward")             \
    X(F_AFTER_UNSCALE, "after.unscale")             \
    X(F_CLOSURE, "closure")                         \
    X(F_SELF_CLASS, "self.class")                   \
    X(F_SELF_TRAINING, "self.training")             \
    X(F_SELF_LR, "self.lr")                         \
    X(F_PADDING_MASK, "args.key_padding_mask")      \
    X(F_SELF_REQUIRES_GRAD, "self.requires_grad")   \
    X(F_ARGS, "args")                               \
    X(F_TARGETS, "args.targets")                    \
    X(F_TARGET, "args.target")                      \
    X(F_INPUT, "args.input")                        \
    X(F_DROPOUT_P, "args.dropout_p")                \
    X(F_ATTENTION_MASK, "args.attention_mask")      \
    X(F_SELF_GRADS, "self.grads")                   \
    X(F_SELF_FROZEN, "self.frozen")                 \
    X(F_OWNER_TRAINING, "owner.training")           \
    X(F_V_REQUIRES_GRAD, "v.requires_grad")         \
    X(F_V_IS_LEAF, "v.is_leaf")                     \
    X(F_V_GRAD, "v.grad")                           \
    X(F_V_DTYPE, "v.dtype")                         \
    X(F_V_MATRIX, "v.matrix")                       \
    X(F_V_OWNER, "v.owner")                         \
    X(F_V_OWNER_TRAINING, "v.owner.training")

enum tc_known_sym {
#define X(name, text) TC_SYM_##name,
    TC_SYM_MAP(X)
#undef X
    TC_SYM_KNOWN_COUNT
};

/* The atom of these words: what an outcome, the contents of a call and a key of examples are made
 * of. */
#define TC_ATOM(symbols, ...)                                \
    tc_strtab_join((symbols), (const tc_sym[]){__VA_ARGS__}, \
                   sizeof((const tc_sym[]){__VA_ARGS__}) / sizeof(tc_sym))

/* A table in which the well-known words already stand; free with tc_strtab_free. */
struct tc_strtab *tc_symbols_new(void);

tc_sym tc_symbols_str(struct tc_strtab *symbols, struct tc_str text);
/* prefix and text joined: "v.attr." + "tensor_model_parallel". */
tc_sym tc_symbols_join(struct tc_strtab *symbols, const char *prefix, struct tc_str text);
/* The text as a JSON string, as values of fields are interned. */
tc_sym tc_symbols_quote(struct tc_strtab *symbols, struct tc_str text);
/* For qsort and bsearch: by number. */
int tc_sym_compare(const void *a, const void *b);
/* By number: for the few that an outcome has. */
void tc_sym_sort(tc_sym *syms, size_t n);
/* The word of a role, as params and atoms have it. */
tc_sym tc_symbols_role(const struct tc_strtab *symbols, enum tc_role role);
/* The first word of an atom that was made of words; TC_NO_SYM of any other text. */
tc_sym tc_atom_first(const struct tc_strtab *symbols, tc_sym atom);
tc_sym tc_symbols_bool(bool value);
struct tc_str tc_symbols_text(const struct tc_strtab *symbols, tc_sym sym);

#endif /* TC_REPLAY_SYMBOLS_H */
