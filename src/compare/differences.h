/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differences.h - what differs between two runs, each difference once
 */
#ifndef TC_COMPARE_DIFFERENCES_H
#define TC_COMPARE_DIFFERENCES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"

/* What is compared, in the order in which it is reported: name, word, title. */
#define TC_DIFFERENCE_MAP(X)                     \
    X(ENVIRONMENT, "environment", "environment") \
    X(COMMAND, "command", "command line")        \
    X(DRAWS, "draws", "random numbers")          \
    X(WEIGHTS, "weights", "initial weights")     \
    X(DATA, "data", "data")                      \
    X(CALLS, "calls", "calls")                   \
    X(ARGUMENTS, "arguments", "arguments")       \
    X(RESULTS, "results", "results")             \
    X(VARIABLES, "variables", "variables")

enum tc_difference_kind {
#define X(name, word, title) TC_DIFFERENCE_##name,
    TC_DIFFERENCE_MAP(X)
#undef X
    TC_N_DIFFERENCE_KINDS
};

/* name, word: what it is. */
#define TC_DIFFERENCE_WHAT_MAP(X)                                                               \
    X(OTHER, "other")           /* another value at `path` */                                   \
    X(MISSING, "missing")       /* the reference makes the call, the run does not */            \
    X(NEW, "new")               /* the other way round */                                       \
    X(REPLACED, "replaced")     /* another call stands there */                                 \
    X(MOVED, "moved")           /* it is made earlier or later in its window */                 \
    X(KEPT, "kept")             /* a variable that changes in one of them alone */              \
    X(UNRESTORED, "unrestored") /* what the reference saved by this call the run never loads */ \
    X(EDITED, "edited") /* lines of the script; made by who looks for a cause (src/finding) */

enum tc_difference_what {
#define X(name, word) TC_IS_##name,
    TC_DIFFERENCE_WHAT_MAP(X)
#undef X
};

/* Why a difference is counted and not among what differs. */
enum tc_set_aside {
    TC_ASIDE_NO,
    TC_ASIDE_HEALTHY, /* healthy runs differ there, too */
    TC_ASIDE_DATA,    /* values had parted before: it may follow from them */
    TC_ASIDE_RANKS,   /* another number of ranks is started and served so */
    TC_ASIDE_RESUMED, /* a run is resumed by its command line */
    TC_ASIDE_DRAWN,   /* it follows from another seed */
    TC_ASIDE_SILENT,  /* whole steps were equal after it: it has no effect */
};

#define TC_NO_SITE UINT32_MAX

struct tc_script; /* script_text.h */

/* The edited lines that a difference comes from (edited_line.h). */
struct tc_edited_lines {
    bool is_place; /* its own place was edited: no other is searched for */
    bool is_guess; /* no value says so: the only edit, or the one with most words in common */
    const struct tc_script *script_a, *script_b; /* NULL: no line of that run */
    size_t line_a, line_b;                       /* from 0 */
};

struct tc_difference {
    enum tc_difference_kind kind;
    enum tc_difference_what what;
    enum tc_set_aside aside;
    uint32_t site_a, site_b; /* of the reference, of the run; or TC_NO_SITE */
    struct {
        uint32_t was, is; /* where a moved call was made, and is: sites of calls that both make */
        bool is_later;    /* was before `was`, is after `is`; or the other way round */
    } passed;             /* was is TC_NO_SITE: unknown */
    tc_sym path;          /* leaf, or name of a variable; TC_SYM_EMPTY: none */
    const char *was, *is; /* values as text, or NULL */
    const char *said;     /* the whole sentence, where it is none of a call or value; or NULL */
    struct tc_edited_lines edited;
    int64_t rank, step; /* of the run, where it was first seen */
    tc_sym stage;
    bool is_worker;
    uint64_t order;          /* among what its process does */
    uint64_t window;         /* number of the window where it was first seen */
    uint64_t steps_before;   /* step windows that were compared before it */
    bool is_after;           /* values had parted when it was first seen */
    bool is_number;          /* a floating point number of Python */
    bool has_equal_operands; /* of a result */
    bool is_seed;            /* what a generator is seeded with */
    uint64_t hash_a, hash_b; /* of the first values */
    bool is_constant;        /* the same two values each time */
    uint64_t n, n_windows, last_window;
};

struct tc_differences {
    struct tc_arena arena;
    struct tc_map by_key;                 /* hash -> struct tc_difference * */
    TC_VEC(struct tc_difference *) items; /* in the order in which they were first seen */
    uint64_t n_dropped;                   /* kinds of difference beyond the limit */
};

/* At most so many are kept apart. */
#define TC_MAX_DIFFERENCES 20000

/* The key by which equal differences are one. */
uint64_t tc_difference_key(const struct tc_difference *difference);

/* Count the difference; *is_first says that it was not seen before: then what was added lives on
 * and may be filled in. NULL beyond the limit. was and is are not copied. */
struct tc_difference *tc_differences_add(struct tc_differences *differences,
                                         const struct tc_difference *seen, bool *is_first);
void tc_differences_release(struct tc_differences *differences);

const char *tc_difference_word(enum tc_difference_kind kind);
const char *tc_difference_title(enum tc_difference_kind kind);
const char *tc_difference_what_word(enum tc_difference_what what);

#endif /* TC_COMPARE_DIFFERENCES_H */
