/*
 * violation.h - an invariant that was broken: what was expected, what was seen, where
 */
#ifndef TC_CHECK_VIOLATION_H
#define TC_CHECK_VIOLATION_H

#include "relation/relation.h"

/* A variable concerned, as it was when the invariant broke. Texts are JSON where they are values.
 */
struct tc_violation_variable {
    const char *name, *kind, *grad, *dtype, *shape, *owner;
    bool requires_grad;
};

#define TC_VIOLATION_STEPS     10
#define TC_VIOLATION_VARIABLES 16
#define TC_VIOLATION_BEFORE    4

struct tc_violation {
    const struct tc_invariant *invariant;
    const struct tc_relation *relation;
    uint64_t order; /* of the event, within the run */
    uint64_t window;
    int64_t step, rank, unix_ns; /* rank -1 when unknown; unix_ns 0 when unknown */
    const char *trace, *file;    /* folder, file of the process */
    const char *stage, *at;      /* "" when unknown */
    const char *call;            /* the call it is about; "" for a window */
    const char *seen;            /* one sentence */
    const char **inside;         /* enclosing calls, outermost first */
    size_t n_inside;
    const char *before[TC_VIOLATION_BEFORE]; /* the calls before it, newest last */
    size_t n_before;
    struct tc_violation_variable variables[TC_VIOLATION_VARIABLES];
    size_t n_variables, n_more_variables;
    struct tc_arena *arena; /* in which all this lives */
    uint64_t *more_names;   /* names among n_more_variables, a bit for each symbol */
    size_t more_words;
    uint64_t count;                    /* how often, the first time included */
    int64_t steps[TC_VIOLATION_STEPS]; /* the first distinct steps that are known */
    size_t n_steps;
    int64_t last_step; /* negative when unknown */
};

/* The last calls of a loop, to be shown before a violation. */
struct tc_recent {
    const char *calls[TC_VIOLATION_BEFORE];
    size_t n;
};

/* Write down a violation; everything in it lives in arena. */
struct tc_violation *tc_violation_new(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_invariant *invariant,
                                      const struct tc_relation *relation,
                                      const struct tc_event *event,
                                      const struct tc_example *example,
                                      const struct tc_recent *recent, const char *trace);

/* The same invariant broke again. */
void tc_violation_repeat(struct tc_violation *violation, const struct tc_strtab *symbols,
                         const struct tc_event *event, const struct tc_example *example);

/* Before b when it should be read first: step, window, a missing call before its effects, position.
 */
int tc_violation_compare(const struct tc_violation *a, const struct tc_violation *b);

#endif /* TC_CHECK_VIOLATION_H */
