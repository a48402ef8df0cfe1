/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h - how many pipelines must carry a claim before it is learned, and why so many
 *
 * With one pipeline, or runs of one script, one is enough for all but what says otherwise. With
 * several a claim names its row below: no number stands anywhere else. The order is from few to
 * many. scripts/relation_tables.py writes the table into docs/relations.md.
 */
#ifndef TC_RELATION_SUPPORT_H
#define TC_RELATION_SUPPORT_H

#include <limits.h>

/* Of so many elements, so many of them distinct, two contents are not alike by chance, nor are all
 * elements the same, nor of one sign. */
#define TC_MIN_ELEMENTS 16
#define TC_MIN_DISTINCT 8
/* Of so many a result does not equal an operand by chance, as tanh() of a small number does. */
#define TC_MIN_EQUAL 8

/* In place of a number: none can, as it is known; all that are given; the only one. */
#define TC_PIPELINES_NONE (UINT_MAX - 2)
#define TC_PIPELINES_ALL  (UINT_MAX - 1)
#define TC_PIPELINES_ONLY UINT_MAX

/* name, pipelines, why, where the number comes from, the claims */
#define TC_SUPPORT_MAP(X)                                                                          \
    X(LAW, 2, "what torch does in any training: a second script confirms it",                      \
      "the first forms had it; no measurement",                                                    \
      "EventContain, Consistent and `between`, but for those below; `distinct` of seeds")          \
    X(USAGE, 4, "how torch is used: two or three scripts may agree by chance",                     \
      "in since `owned` was added; no measurement",                                                \
      "`window`, `follow`, `owned`, `sets`, `constant`, `finite`, `rate`, `next`; that two whole " \
      "shapes agree")                                                                              \
    X(COIN, 7,                                                                                     \
      "one of two ways that are both right: a coin falls the same way seven times in "             \
      "less than one of a hundred",                                                                \
      "the chance, 1 in 128; switches that all pipelines had left alone",                          \
      "`peer`, `run`, `equal`, `lower`, `upper`, `restored`; the mode of a root, a switch among "  \
      "the arguments, the axis of a matrix; windows that are given a call, and those over "        \
      "collectives")                                                                               \
    X(HABIT, 20, "what an author may do by hand or leave out, as most do",                         \
      "choices that most of the pipelines made and healthy scripts did not; 20 itself was not "    \
      "measured",                                                                                  \
      "`within`, `kept`: only the optimizer writes to the weights; a schedule or a clipping in "   \
      "every step")                                                                                \
    X(EVERY, TC_PIPELINES_ALL, "what nothing excuses: it holds in all pipelines, or is not said",  \
      "the definition",                                                                            \
      "settings and facts of one script; a dimension that is counted from the end")                \
    X(OWN, TC_PIPELINES_ONLY, "what one script does: never said of several", "the definition",     \
      "that arrays differ between workers; operands of the user's own calls; that a root with "    \
      "gradients is in training mode; that a parameter keeps its optimizer; a default that is "    \
      "passed")                                                                                    \
    X(RULE, TC_PIPELINES_NONE,                                                                     \
      "what no right script does: known, and learned of none; the shipped set @rules has it",      \
      "the definition; healthy scripts that come close to it",                                     \
      "a rule that a loss, attention or a scaler is never right without")

enum tc_support {
#define X(name, pipelines, why, origin, claims) TC_SUPPORT_##name,
    TC_SUPPORT_MAP(X)
#undef X
    TC_N_SUPPORTS
};

/* Pipelines that must carry the claim, or TC_PIPELINES_ALL or _ONLY. */
unsigned tc_support_pipelines(enum tc_support support);

#endif /* TC_RELATION_SUPPORT_H */
