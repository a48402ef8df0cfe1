/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role.h - what an API means in a training loop, as its api record says
 *
 * The roles are those of docs/trace-format.md. The agent writes them; nothing
 * after it decides by the name of an API, it decides by these.
 */
#ifndef TC_TRACE_ROLE_H
#define TC_TRACE_ROLE_H

#include <stdbool.h>

#include <traincheck/value.h>

/*
 * name, text, traits:
 *   MEMBER   belongs to the sequence of a training window when called at its top level
 *   NESTED   ... and also when called inside another member (closures, scalers)
 *   SUBJECT  what happens inside such a call is worth an invariant
 *   FOREIGN  its receiver and operands are the user's own: they enter no situation
 *   SETTER   it is there to change settings of an optimizer
 *   OUTER    a call around a training loop; what it contains counts as top level
 *   CLOSE    of the script's own lines: only what looks closely hears of it
 *   APART    around no other call, whatever is called before it ends
 *   OUTSIDE  of a package, where the script names it
 *   SPARE    a lean trace may do without it
 */
#define TC_ROLE_MAP(X)                                                                            \
    X(FUNCTION, "function", TC_TRAIT_SPARE)                                                       \
    X(FORWARD, "forward", TC_TRAIT_FOREIGN)                                                       \
    X(LAYER, "layer", TC_TRAIT_SPARE)                                                             \
    X(BACKWARD, "backward", TC_TRAIT_MEMBER | TC_TRAIT_NESTED | TC_TRAIT_SUBJECT)                 \
    X(STEP, "step", TC_TRAIT_MEMBER | TC_TRAIT_NESTED | TC_TRAIT_SUBJECT)                         \
    X(ZERO_GRAD, "zero_grad", TC_TRAIT_MEMBER | TC_TRAIT_NESTED | TC_TRAIT_SUBJECT)               \
    X(SCHEDULER, "scheduler", TC_TRAIT_MEMBER | TC_TRAIT_SUBJECT | TC_TRAIT_SETTER)               \
    X(SCALER, "scaler", TC_TRAIT_MEMBER | TC_TRAIT_SUBJECT)                                       \
    X(UNSCALE, "unscale", TC_TRAIT_MEMBER | TC_TRAIT_SUBJECT)                                     \
    X(CLIP, "clip", TC_TRAIT_MEMBER | TC_TRAIT_NESTED | TC_TRAIT_SUBJECT)                         \
    X(COLLECTIVE, "collective", TC_TRAIT_MEMBER | TC_TRAIT_SUBJECT)                               \
    X(DATA, "data", 0)                                                                            \
    X(MODE, "mode", 0)                                                                            \
    X(LOAD, "load", TC_TRAIT_SUBJECT)                                                             \
    X(SAVE, "save", 0)                                                                            \
    X(INIT, "init", TC_TRAIT_SPARE)                                                               \
    X(FILL, "fill", TC_TRAIT_SPARE)                                                               \
    X(UNEVEN, "uneven", 0)                                                                        \
    X(REPLAY, "replay", 0)                                                                        \
    X(SEED, "seed", 0)                                                                            \
    X(OPERATOR, "operator", TC_TRAIT_CLOSE | TC_TRAIT_SPARE)                                      \
    X(DRAW, "draw", TC_TRAIT_CLOSE | TC_TRAIT_SPARE)                                              \
    X(OWN, "own", TC_TRAIT_CLOSE | TC_TRAIT_APART | TC_TRAIT_SPARE)                               \
    X(MAKE, "make", TC_TRAIT_CLOSE | TC_TRAIT_APART | TC_TRAIT_OUTSIDE | TC_TRAIT_SPARE)          \
    X(PACKAGE, "package", TC_TRAIT_CLOSE | TC_TRAIT_APART | TC_TRAIT_OUTSIDE | TC_TRAIT_SPARE)    \
    X(LIBRARY, "library", TC_TRAIT_MEMBER | TC_TRAIT_SUBJECT | TC_TRAIT_FOREIGN | TC_TRAIT_OUTER) \
    X(METHOD, "method", TC_TRAIT_FOREIGN | TC_TRAIT_OUTER)

enum tc_role {
#define X(name, text, traits) TC_ROLE_##name,
    TC_ROLE_MAP(X)
#undef X
    TC_N_ROLES
};

enum tc_trait {
    TC_TRAIT_MEMBER = 1,
    TC_TRAIT_NESTED = 2,
    TC_TRAIT_SUBJECT = 4,
    TC_TRAIT_FOREIGN = 8,
    TC_TRAIT_OUTER = 16,
    TC_TRAIT_SETTER = 32,
    TC_TRAIT_CLOSE = 64,
    TC_TRAIT_APART = 128,
    TC_TRAIT_OUTSIDE = 256,
    TC_TRAIT_SPARE = 512,
};

/* Of what one place of the user's code computes in one step (OPERATOR) so many calls are recorded.
 * A loop over the moments of an episode makes thousands of them, each of which takes longer to tell
 * than to make. */
#define TC_ROLE_MAX_AT_A_PLACE 256
/* And of one function that the script defines, or names of a package. */
#define TC_ROLE_MAX_OF_A_FUNCTION 32
/* Of what makes the items of one batch so many operators, and so many calls of such functions: a
 * script has the same few lines for all of them. What comes later is reported where its place has
 * not been: an item may begin with a loop. */
#define TC_ROLE_MAX_IN_BATCH     32
#define TC_ROLE_MAX_OWN_IN_BATCH 8

/* FUNCTION for a text that is no known role. */
enum tc_role tc_role_parse(struct tc_str text);
const char *tc_role_text(enum tc_role role);
bool tc_role_has(enum tc_role role, enum tc_trait trait);

#endif /* TC_TRACE_ROLE_H */
