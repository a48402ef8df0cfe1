/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h - how many pipelines must carry a claim before it is learned, and why so many
 *
 * With one pipeline, or runs of one script, one is enough for all but what says otherwise. With
 * several a claim names its row below: no number stands anywhere else. The order is from few to
 * many. docs/relations.md names the claims of each row.
 */
#ifndef TC_RELATION_SUPPORT_H
#define TC_RELATION_SUPPORT_H

#include <limits.h>

/* In place of a number: all that are given; the only one. */
#define TC_PIPELINES_ALL  (UINT_MAX - 1)
#define TC_PIPELINES_ONLY UINT_MAX

/* name, pipelines, why */
#define TC_SUPPORT_MAP(X)                                                                         \
    X(LAW, 2, "what torch does in any training: a second script confirms it")                     \
    X(USAGE, 4, "how torch is used: two or three scripts may agree by chance")                    \
    X(COIN, 7,                                                                                    \
      "one of two ways that are both right: a coin falls the same way seven times in "            \
      "less than one of a hundred")                                                               \
    X(HABIT, 20, "what an author may do by hand or leave out, as most do")                        \
    X(EVERY, TC_PIPELINES_ALL, "what nothing excuses: it holds in all pipelines, or is not said") \
    X(OWN, TC_PIPELINES_ONLY, "what one script does: never said of several")

enum tc_support {
#define X(name, pipelines, why) TC_SUPPORT_##name,
    TC_SUPPORT_MAP(X)
#undef X
    TC_N_SUPPORTS
};

/* Pipelines that must carry the claim, or TC_PIPELINES_ALL or _ONLY. */
unsigned tc_support_pipelines(enum tc_support support);

#endif /* TC_RELATION_SUPPORT_H */
