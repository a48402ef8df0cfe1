/* SPDX-License-Identifier: Apache-2.0 */
/*
 * violation.h - an invariant that was broken: what was expected, what was seen, where
 */
#ifndef TC_CHECK_VIOLATION_H
#define TC_CHECK_VIOLATION_H

#include "check/step_spread.h"
#include "relation/relation.h"

/*
 * When in a check something happened: what orders occasions of all processes without regard to the
 * order in which their files were read.
 */
struct tc_moment {
    uint64_t run; /* number of the trace */
    int64_t step;
    uint64_t window;
    int64_t unix_ns;
    const char *file; /* of the process; lives as long as its replay */
    uint64_t order;   /* of the event within the process */
    uint64_t example; /* within the event */
};

/* A variable concerned, as it was when the invariant broke. Texts are JSON where they are values.
 */
struct tc_violation_variable {
    const char *name, *kind, *grad, *dtype, *shape, *owner, *training;
    const char **attrs; /* framework attributes that are true */
    size_t n_attrs;
    bool requires_grad;
    bool is_setting;      /* name and kind are all there is */
    struct tc_moment met; /* when it was first met */
};

/* A call of the training loop, and the line of the script it was made from ("" when unknown). */
struct tc_violation_call {
    const char *call, *at;
};

#define TC_VIOLATION_STEPS     10
#define TC_VIOLATION_RANKS     16
#define TC_VIOLATION_RUNS      16
#define TC_VIOLATION_OUTCOME   32
#define TC_VIOLATION_VARIABLES 16
#define TC_VIOLATION_BEFORE    TC_RECENT_CALLS

struct tc_violation {
    const struct tc_invariant *invariant;
    const struct tc_relation *relation;
    struct tc_moment first;
    int64_t step, rank, unix_ns; /* rank -1 when unknown; unix_ns 0 when unknown */
    const char *trace, *file;    /* folder, file of the process */
    const char *stage, *at;      /* "" when unknown */
    const char *call;            /* the call it is about; "" for a window */
    bool is_worker;              /* in a worker of a DataLoader */
    bool is_setting;             /* no law was broken: the script's own choice is another */
    tc_sym key;                  /* of its examples */
    tc_sym cause;                /* key of the broken fact that it follows from, or TC_SYM_EMPTY */
    int64_t moment_ns;           /* when it went wrong, by the form's enum tc_fault */
    const char *seen;            /* one sentence */
    const char *hint;            /* what to look at first */
    const char **inside;         /* enclosing calls, outermost first */
    const char **inside_at;      /* their own lines, "" where it is that of the one around */
    size_t n_inside;
    struct tc_violation_call before[TC_VIOLATION_BEFORE]; /* newest last */
    size_t n_before;
    const struct tc_pair *situation; /* what decided: the fields of the example, */
    size_t n_situation;
    const tc_sym *outcome; /* and what it was, the first TC_VIOLATION_OUTCOME of n_outcome */
    size_t n_outcome;
    size_t n_concerned, n_frozen, n_without_grad; /* variables the first time; of these */
    struct tc_violation_variable variables[TC_VIOLATION_VARIABLES];
    size_t n_variables, n_more_variables;
    struct tc_arena *arena; /* in which all this lives */
    uint64_t *names;        /* of all variables met, a bit for each symbol */
    size_t n_words;
    size_t n_names;
    uint64_t count;                    /* how often, the first time included */
    uint64_t held;                     /* and how often it held */
    int64_t steps[TC_VIOLATION_STEPS]; /* the first distinct steps that are known */
    size_t n_steps;
    int64_t last_step;                 /* negative when unknown */
    struct tc_step_spread spread;      /* of all its times in known steps */
    int64_t ranks[TC_VIOLATION_RANKS]; /* the first distinct ranks */
    size_t n_ranks;
    uint64_t n_runs;                     /* in so many traces */
    uint64_t last_run;                   /* number of the last of these: they come in turn */
    const char *runs[TC_VIOLATION_RUNS]; /* folders of the first of them */
};

/* An example that broke an invariant. */
struct tc_breach {
    const struct tc_event *event;
    const struct tc_example *example;
    const char *trace; /* the run, and its number */
    uint64_t run;
    uint64_t n; /* of the example within the event */
};

/* Write down a violation; everything in it lives in arena. */
struct tc_violation *tc_violation_new(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_invariant *invariant,
                                      const struct tc_relation *relation,
                                      const struct tc_breach *breach);

/* By form, what is related and the variables; never NULL. */
const char *tc_violation_hint(const struct tc_violation *violation,
                              const struct tc_strtab *symbols);

/*
 * The same invariant broke again. What is told is the first moment, which need not be the one that
 * was read first; counts, steps and variables are the same in whatever order breaches come.
 */
void tc_violation_repeat(struct tc_violation *violation, struct tc_strtab *symbols,
                         const struct tc_breach *breach);

/* Before b when it should be read first: by step, then by the moment at which it went wrong. */
int tc_violation_compare(const struct tc_violation *a, const struct tc_violation *b);

#endif /* TC_CHECK_VIOLATION_H */
