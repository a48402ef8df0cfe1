/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - judging events by invariants
 *
 * The cost of an event does not depend on the number of invariants that do not speak of it, and
 * hardly on that of those that do: equal examples (same source, key, situation and outcome) are
 * judged once and the answer is remembered.
 */
#ifndef TC_CHECK_ENGINE_H
#define TC_CHECK_ENGINE_H

#include "check/timeline.h"
#include "check/violation.h"
#include "replay/replay.h"

enum tc_verdict {
    TC_VERDICT_FAILED,
    TC_VERDICT_PASSED,        /* its precondition held at least once, and the relation always did */
    TC_VERDICT_NOT_TRIGGERED, /* also: it was met only in contexts that were never learned */
    TC_VERDICT_UNCHECKED,     /* it cannot be judged, for a reason */
};

struct tc_judgement {
    const struct tc_invariant *invariant;
    const struct tc_relation *relation; /* NULL when unchecked */
    uint64_t held, broken;              /* examples judged */
    uint64_t out_of_context;            /* examples left alone: context never learned */
    uint64_t *excused;                  /* [TC_N_EXCUSES] left alone, by why; NULL: none was */
    const char *unchecked;              /* why a part of a run could not be judged, or NULL */
    bool is_sampled;                    /* some trace left out steps that might have decided */
    struct tc_violation *violation;     /* the first, with its repeats; NULL if there is none */
};

struct tc_engine;

/* set and symbols are borrowed; the set's words are interned in symbols. The set is given what its
 * invariants lack: sentences, and why one is not decided. */
struct tc_engine *tc_engine_new(struct tc_invariant_set *set, struct tc_strtab *symbols);
void tc_engine_free(struct tc_engine *engine);

/* Called once for each invariant, when it is first seen broken. The violation grows afterwards. */
typedef void tc_engine_found_fn(void *context, const struct tc_violation *violation);
void tc_engine_on_found(struct tc_engine *engine, tc_engine_found_fn *on_found, void *context);

/* Begin a run; its name stands in violations. States of sources start anew. */
void tc_engine_begin(struct tc_engine *engine, const char *trace);
/* A tc_event_fn with the engine as context. */
void tc_engine_judge(void *engine, const struct tc_event *event);

/* Does any invariant need what only tc_replay_look_closely tells? */
bool tc_engine_looks_closely(const struct tc_engine *engine);

/* Bytes of state that wait for processes which have not reported yet. */
size_t tc_engine_held(const struct tc_engine *engine);

/* Tell of no others in what follows, all of which is reported at first. */
typedef bool tc_engine_wanted_fn(void *context, const struct tc_judgement *judgement);
void tc_engine_tell_of(struct tc_engine *engine, tc_engine_wanted_fn *is_wanted, void *context);
/* What is reported, in the order of the set. */
size_t tc_engine_count(const struct tc_engine *engine);
const struct tc_judgement *tc_engine_judgement(const struct tc_engine *engine, size_t i);
enum tc_verdict tc_engine_verdict(const struct tc_judgement *judgement);

/* Violations in the order in which they should be read; the array is the caller's, its items the
 * engine's. */
struct tc_violation **tc_engine_violations(const struct tc_engine *engine, size_t *n);

const struct tc_timeline *tc_engine_timeline(const struct tc_engine *engine);

#endif /* TC_CHECK_ENGINE_H */
