/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relation.h - what inference and checking know about one form of a relation
 *
 * A source turns events into *examples*: a key (what they are about), a
 * situation, and an outcome. Inference folds examples into rows of evidence and
 * asks which hypotheses hold on them; checking asks the same question of each
 * new example. There is one definition of "holds" for both.
 *
 * Examples come from a source, which sees events and nothing else: no files, JSON, threads or
 * clocks. Events of one process come in order, those of different processes in any: which examples
 * a source makes must not depend on it.
 *
 * To add a claim on examples that are made already: a row of its form's claims, see claims.h. To
 * add a relation: one .c file that ends in a const struct tc_relation, one row in registry.c, one
 * folder in tests/relations/.
 */
#ifndef TC_RELATION_RELATION_H
#define TC_RELATION_RELATION_H

#include "base/map.h"
#include "invariant/invariant.h"
#include "relation/excuse.h"
#include "relation/situation.h"
#include "relation/support.h"

enum tc_outcome {
    TC_HELD,
    TC_BROKEN,
    TC_UNDECIDED, /* this example says nothing about the hypothesis */
/* ... as it is excused: TC_UNDECIDED and the number of the excuse. */
#define X(name, text, about, why, forced_by, test) TC_EXCUSED_##name,
    TC_EXCUSE_MAP(X)
#undef X
};

static inline bool tc_is_undecided(enum tc_outcome outcome)
{
    return outcome >= TC_UNDECIDED;
}

static inline enum tc_outcome tc_excused_by(enum tc_excuse excuse)
{
    return (enum tc_outcome)(TC_UNDECIDED + (unsigned)excuse);
}

/* Of one that is undecided; TC_EXCUSE_NONE where it has another subject. */
static inline enum tc_excuse tc_excuse_in(enum tc_outcome outcome)
{
    return (enum tc_excuse)(outcome - TC_UNDECIDED);
}

/* One occasion; everything is borrowed from the caller of the sink. */
struct tc_example {
    tc_sym key;
    const struct tc_situation *situation; /* sorted */
    const tc_sym *outcome;                /* a sequence, or a set in ascending order */
    size_t n_outcome;
    const struct tc_variable *variable;  /* that it is about, or NULL */
    const struct tc_place *place;        /* where it stood, if not where the event stands */
    const struct tc_member_call *member; /* the call of the window that breaks it, or NULL */
    const void *detail;                  /* what the form's own explain needs to know, or NULL */
    tc_excuses excuses;                  /* for what the outcome leaves out */
    const char *unchecked;               /* why nothing can be decided in this run, or NULL */
    uint64_t n;                          /* equal examples that this one stands for; 0 is one */
    tc_sym cause; /* key of the broken fact that this one follows from; 0 (no key) is none */
    struct tc_fact_windows windows; /* of a fact, learning; else none */
};

static inline uint64_t tc_example_times(const struct tc_example *example)
{
    return example->n ? example->n : 1;
}

struct tc_sink {
    void (*example)(void *context, const struct tc_event *event, const struct tc_example *example);
    /* An occasion that would have been an example of that key, had it not been excused; NULL:
     * nobody asks. */
    void (*excused)(void *context, tc_sym key, enum tc_excuse excuse);
    void *context;
};

/* An example without conditions, of which the outcome is one word. */
static inline void tc_sink_word(const struct tc_sink *sink, const struct tc_event *event,
                                tc_sym key, tc_sym word)
{
    const struct tc_example example = {
        .key = key, .situation = &tc_no_situation, .outcome = &word, .n_outcome = 1};

    sink->example(sink->context, event, &example);
}

static inline void tc_sink_excuse(const struct tc_sink *sink, tc_sym key, enum tc_excuse excuse)
{
    if (sink->excused && excuse != TC_EXCUSE_NONE)
        sink->excused(sink->context, key, excuse);
}

/* Distinct outcomes of one key, with how often each was seen. */
struct tc_outcomes {
    const tc_sym **outcome;
    size_t *n_outcome;
    size_t n;
};

/* A claim before its precondition is known. */
struct tc_hypothesis {
    struct tc_param params[TC_MAX_PARAMS];
    size_t n_params;
    struct tc_fact fact; /* the param of a claim that is one */
    enum tc_support support;
    unsigned min_examples; /* that must hold; 0: as the user asks */
    bool is_choice;        /* one pipeline alone teaches it only where a precondition explains it */
};

struct tc_hypotheses {
    TC_VEC(struct tc_hypothesis) items;
};

/* The situations in which examples of a key were met, and the outcomes: what a condense may ask. */
struct tc_rows {
    struct tc_strtab *symbols;
    void *context;
    /* Call visit with every row of that key, of which situation, outcome and their sizes are set.
     */
    void (*each)(const struct tc_rows *rows, tc_sym key,
                 void (*visit)(void *context, const struct tc_example *row), void *context);
};

/* Where examples come from. Several forms may ask different questions of the same examples. */
struct tc_source {
    const char *name;   /* in evidence files */
    const char *judged; /* at what its examples are made, for people */
    bool is_set;        /* outcomes are sets: their order means nothing */
    bool looks_closely; /* it sees TC_EVENT_BEGIN and TC_EVENT_VARIABLE, too */

    /* State across the events of one run: so many zeroed bytes, 0 for none; release frees what they
     * hold. Or open makes it, and close frees it. */
    size_t state_size;
    void (*release)(void *state);
    void *(*open)(void);
    void (*close)(void *state);
    /* State of each process, which tc_process_state() gives: so many zeroed bytes, 0 for none;
     * release_process frees what they hold, NULL for nothing. The state of the run then begins with
     * a struct tc_process_states; a source that needs no more than this has no state_size. */
    size_t process_size;
    void (*release_process)(void *of_process);
    /* For a source whose examples depend on what they are asked for: called for each invariant
     * before the first event. NULL: it needs to know nothing. */
    void (*expect)(void *state, struct tc_strtab *symbols, const struct tc_invariant *invariant);
    /* One of the two: see tc_source_observe(). */
    void (*observe)(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                    const struct tc_sink *sink);
    const struct tc_relation_rule *rule; /* one_claim.h */
    /* Bytes of state that wait for other processes; NULL: it never waits. */
    size_t (*held)(const void *state);

    /* Join and drop accepted invariants that say the same, of all forms that ask this source; NULL
     * if there is nothing to join. May change params and remove items; counts are taken again
     * afterwards. */
    void (*condense)(const struct tc_rows *rows, struct tc_invariant_set *accepted);
};

/* The states of processes of one source; the engine makes and frees them. */
struct tc_process_states {
    struct tc_map items; /* process → its state */
    size_t size;
    /* That was asked for last: a turn of a process has many events. */
    const struct tc_process *latest;
    void *state_of_latest;
};

struct tc_claim;         /* claims.h */
struct tc_relation_rule; /* one_claim.h */
struct tc_statement;     /* operand.h */

/* When that happened which makes an example break the invariant: causes come before effects. */
enum tc_fault {
    TC_FAULT_AT_END,   /* of the call or window judged: a result, a change, a state */
    TC_FAULT_AT_BEGIN, /* what the call judged was given */
    TC_FAULT_MISSING,  /* a call is missing or comes late: counts as the beginning, too */
};

struct tc_relation {
    const char *name;    /* family and form: "EventContain/some" */
    const char *summary; /* one line for --list-relations */
    const char *hint;    /* what to look at first when it is broken; NULL: see hint_of */
    enum tc_fault fault;
    bool is_specific;    /* says what is a fact of one script: learned on demand only */
    unsigned excused_by; /* 1 << enum tc_role: calls that excuse what would break it; a selection
                            holds them */
    /* Do they excuse what would break these params? NULL: always. */
    bool (*is_excused)(const struct tc_param *params);
    bool needs_content;   /* of tensors, in a trace that it is judged on */
    bool needs_operators; /* what lines of the script compute */
    unsigned lag;         /* steps by which it may tell of a fault late */
    const struct tc_source *source;

    /* Is this field no explanation of these params, because it is the property itself or is made
     * from it? NULL: none is. Such fields count neither as situation nor as context. */
    bool (*bans)(const struct tc_strtab *symbols, const struct tc_param *params, size_t n_params,
                 tc_sym field);
    /* Is this field, which is none in general, a context of these params, so that an unseen value
     * is not judged? NULL: none is. */
    bool (*has_context)(const struct tc_strtab *symbols, const struct tc_param *params,
                        tc_sym field);
    /* May only fields that say in which mode a call was made explain when it holds? */
    bool mode_only;

    /* A form whose claims are rows has these, and none of the functions below but `explain` for a
     * row that does not say what was seen: see claims.h. */
    const struct tc_claim *claims;
    size_t n_claims;

    /* A form of statements about operands says which it proposes and what supports them, in place
     * of `propose`: see operand_form.h. */
    bool (*states)(const struct tc_statement *statement);
    enum tc_support usual;

    /* All claims worth testing on examples of this key. */
    void (*propose)(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                    struct tc_hypotheses *out);
    /* The key of the examples that decide about an invariant with these params; TC_NO_SYM if none
     * can. */
    tc_sym (*key)(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params);
    /* Why no example can decide about an invariant with these params, which have a key; NULL if one
     * can. No function: one always can. */
    const char *(*undecidable)(const struct tc_strtab *symbols, const struct tc_param *params,
                               size_t n_params);
    enum tc_outcome (*holds)(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome);

    /* Is what was seen a number or a text of the script's own choice, so that another one is a
     * change and no violation of a law? NULL: it never is. */
    bool (*is_setting)(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                       const struct tc_example *example);

    /* Does what was seen follow from a setting that was changed from one number to another? It is
     * an amount or a size that this accounts for, and was seen in this share of all cases, from 0
     * to 1. NULL: it never does. */
    bool (*follows)(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    tc_sym seen, double share, double from, double to);
    /* Does a healthy run break such an invariant now and then? NULL: no. */
    bool (*is_doubtful)(const struct tc_strtab *symbols, const struct tc_invariant *invariant);
    /* May another size of what the call is given break the invariant? NULL: never. */
    bool (*is_of_size)(const struct tc_invariant *invariant);

    /* Words: "Optimizer.step() changes data of at least one Parameter"; what was seen instead. */
    void (*describe)(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, struct tc_strbuf *out);
    void (*explain)(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out);
    /* What to look at first where this was seen; "" where nothing helps. NULL: the hint above. */
    const char *(*hint_of)(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           tc_sym seen);
};

/* All forms, ended by NULL; the order is that of reports. There are no more than so many. */
#define TC_MAX_RELATIONS 128
extern const struct tc_relation *const tc_relations[];
/* Relations of the Python tool, ended by NULL: judged, never learned; they propose nothing. Defined
 * in python_tool/, the room above this one. */
extern const struct tc_relation *const tc_python_relations[];
/* The i-th of all that can be judged: those above, in this order. NULL past the last. */
const struct tc_relation *tc_relation_judged(size_t i);

/* All sources, ended by NULL. */
#define TC_MAX_SOURCES 128
extern const struct tc_source *const tc_sources[];

/* UINT32_MAX if there is none of that name. */
uint32_t tc_source_find(const char *name);
uint32_t tc_source_number(const struct tc_source *source);
/* The state of one, which may be NULL. */
void *tc_source_open(const struct tc_source *source);
void tc_source_close(const struct tc_source *source, void *state);
/* May it make examples of such an event? Of one sort (kind, role, root's) the answer is the same.
 */
bool tc_source_hears(const struct tc_source *source, const struct tc_event *event);
/* Show it an event, which it may make examples of. */
void tc_source_observe(const struct tc_source *source, void *state, struct tc_strtab *symbols,
                       const struct tc_event *event, const struct tc_sink *sink);
/* Of a source with process_size, by its state: what it keeps of the process, zeros at first. */
void *tc_process_state(void *state, const struct tc_process *process);
/* Open and close the states of all sources, by number. */
void tc_sources_open(void *states[TC_MAX_SOURCES]);
void tc_sources_close(void *states[TC_MAX_SOURCES]);

/* NULL if there is none of that name. */
const struct tc_relation *tc_relation_find(const char *name);

/* Is any of its claims learned of healthy runs? Those of TC_SUPPORT_RULE are known. */
bool tc_relation_is_learned(const struct tc_relation *relation);

/* What the form's functions answer, or its rows. */
void tc_relation_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                         const struct tc_outcomes *outcomes, struct tc_hypotheses *out);
tc_sym tc_relation_key(const struct tc_relation *relation, struct tc_strtab *symbols,
                       const struct tc_param *params, size_t n_params);
enum tc_outcome tc_relation_holds(const struct tc_relation *relation, struct tc_strtab *symbols,
                                  const struct tc_param *params, size_t n_params,
                                  const tc_sym *outcome, size_t n_outcome);
void tc_relation_explain(const struct tc_relation *relation, struct tc_strtab *symbols,
                         const struct tc_invariant *invariant, const struct tc_event *event,
                         const struct tc_example *example, struct tc_strbuf *out);

/* The sentence of a claim without its precondition. */
void tc_relation_describe_claim(const struct tc_relation *relation, const struct tc_strtab *symbols,
                                const struct tc_param *params, size_t n_params,
                                struct tc_strbuf *out);
/* The whole sentence: description and precondition. */
void tc_relation_describe(const struct tc_relation *relation, const struct tc_strtab *symbols,
                          const struct tc_invariant *invariant, struct tc_strbuf *out);

/* A precondition on one situation: do all clauses hold? */
bool tc_when_holds(const struct tc_clause *when, size_t n_when, const struct tc_pair *pairs,
                   size_t n_pairs);
/* Is an unseen value of this field an unknown context for the invariant? */
bool tc_relation_has_context(const struct tc_relation *relation, const struct tc_strtab *symbols,
                             const struct tc_invariant *invariant, tc_sym field);
/* Was every context of this situation met among the positives? */
bool tc_context_is_known(const struct tc_relation *relation, const struct tc_strtab *symbols,
                         const struct tc_invariant *invariant, const struct tc_pair *pairs,
                         size_t n_pairs);
/* See `bans` above. */
bool tc_relation_bans(const struct tc_relation *relation, const struct tc_strtab *symbols,
                      const struct tc_param *params, size_t n_params, tc_sym field);

#endif /* TC_RELATION_RELATION_H */
