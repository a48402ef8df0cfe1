/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - the facts of one run while its events pass; private to src/fact
 *
 * A call is looked at when it begins (receiver, operands, where they come from) and when it returns
 * (its result). What it says is packed; equal bytes in equal contexts are one class, read as slots
 * and values the first time and counted ever after. So a call of a loop costs a packing and a look-
 * up, whatever the number of facts.
 *
 * Judging also follows causes: a tensor that a call returned which broke a fact is tainted with the
 * first fact that broke there, and what breaks later with such a tensor among its operands follows
 * from it.
 */
#ifndef TC_FACT_FACTS_H
#define TC_FACT_FACTS_H

#include <string.h>

#include "fact/operand_pack.h"
#include "fact/table.h"
#include "fact/trend_rule.h"
#include "relation/relation.h"
#include "replay/symbols.h"

/* A broken fact that others follow from: its slot plus one, and whether it is a changed setting; 0
 * for none. */
typedef uint32_t tc_fact_lead;
#define TC_FACT_LEAD_SETTING (UINT32_C(1) << 31)

static inline bool tc_fact_lead_is_law(tc_fact_lead lead)
{
    return lead && !(lead & TC_FACT_LEAD_SETTING);
}

/* Beside the word for a call: a parameter had a part in the tensor; and which result it was of how
 * many calls of that API in a row, as flow.c says. */
#define TC_FACT_COMPUTED (UINT64_C(1) << 32)
#define TC_FACT_WHICH    33
#define TC_FACT_N_STARTS 128
/* What of a word tells calls of a script apart. */
#define TC_FACT_WORD (~TC_FACT_COMPUTED)

/* The line that made a tensor, and another one that made what it was made of; or TC_SYM_EMPTY. */
struct tc_fact_origin {
    tc_sym line, before;
};

/* Calls that say the same. */
struct tc_fact_class {
    struct tc_fact_entry *entries; /* those that break what is expected stand first */
    uint32_t n, n_broken;
    uint64_t count;
    const struct tc_process *met_in; /* learning, in which process it was met last, */
    uint64_t met_at;                 /* and in which of its windows */
};

/* The last call at a place, and its stage; TC_NO_SYM: there was none. */
struct tc_fact_last {
    tc_sym fn, stage;
};

/* A call that is open. */
struct tc_fact_open {
    int64_t id;
    uint32_t label; /* the API and the class of its receiver */
    uint32_t subject;
    struct tc_fact_pack operands; /* serials alone are kept */
    tc_fact_lead lead;            /* broke here */
    tc_fact_lead outer;           /* broke where a call around this one began */
    tc_fact_lead inner;           /* broke first inside */
    tc_fact_lead flow;            /* came in with an operand */
    bool is_computed;             /* with a parameter, or with what was so computed */
    bool is_choice;               /* of a model's choices alone */
    bool is_own;                  /* of a function that the script defines */
    bool is_chance;               /* what it returns is a number that was drawn */
    uint32_t row;                 /* its place among calls of the API in a row, or 0 */
    size_t first;             /* place of its first operand: the receiver, if that is a tensor */
    uint32_t by_subject;      /* with the call that did, or UINT32_MAX */
    struct tc_fact_last last; /* inside */
    int64_t latest;           /* the last tensor that was known before it */
};

/* What is said of a counter at the end of a window. */
enum tc_fact_tally {
    TC_FACT_TALLY_ALL,
    TC_FACT_TALLY_FIRST,
    TC_FACT_TALLY_LATER,
    TC_FACT_TALLY_WHERE,
    TC_FACT_N_TALLIES,
};

/* What is counted in each window: calls of an API with a class of receivers at one stage, or which
 * of their operands came from which call. */
/* What the first of the steps after the first had, as hashes; 0: nothing. */
#define TC_FACT_SEQUENCE 64
struct tc_fact_sequence {
    uint32_t values[TC_FACT_SEQUENCE];
};

struct tc_fact_counter {
    struct tc_subject subject;
    uint64_t n, n_all, n_first; /* in this window; in all; in the first one */
    bool is_reported;           /* counted in windows before */
    bool has_more;              /* learning: in this window nothing is claimed of the count */
    tc_sym at;                  /* where the last of them was made */
    struct tc_fact_origin from; /* of a flow, and what flowed */
    struct tc_fact_sequence *sequence; /* learning; NULL: nothing but 0 */
    uint32_t slots[TC_FACT_N_TALLIES]; /* once looked up; UINT32_MAX: nothing is to be said */
};

struct tc_fact_label {
    tc_sym fn, of;
    uint64_t n; /* calls in all */
    bool is_operator;
    uint64_t n_in_batches; /* calls that make items: of each batch the first alone are reported */
    uint64_t n_in_window, window; /* of these those of the window in which the last was */
};

/* A kind of call and what it did to variables in this window. */
struct tc_fact_changes {
    tc_sym by, number; /* number: within the window, as text; TC_NO_SYM: does not matter */
    bool is_gradient;
    TC_VEC(tc_sym) names;
    struct tc_fact_sequence *sequence; /* learning, of data: the names */
};

/* A number of a parameter group or a scaler, as it is before the first step of an optimizer. */
struct tc_fact_setting {
    int64_t serial;          /* of the group */
    tc_sym name, key, value; /* value: JSON text */
    bool is_told;            /* the first */
    tc_fact_lead lead;       /* broke where it was set */
};

/* A call, and all that came right after it. */
struct tc_fact_pair {
    struct tc_subject subject;
    TC_VEC(tc_sym) next; /* judging: that are expected */
    uint64_t n, window;  /* windows in which a pair was met, and the last of these */
    uint32_t slot;
};

/* Judging, a call out of its place, before there is a step. */
struct tc_fact_stray {
    uint32_t slot;
    tc_sym fn;
    tc_fact_lead cause;
    struct tc_place place;
};

struct tc_fact_nexts {
    struct tc_strtab *tuples; /* packed subjects */
    TC_VEC(struct tc_fact_pair) pairs;
    TC_VEC(struct tc_fact_stray) strays;
    struct tc_fact_last last; /* at the top */
};

/* An operand or a result of a call of the script, the first times that there was one. */
struct tc_fact_shared_occasion {
    uint32_t hash; /* of the number, or of the content */
    tc_sym at;
    int64_t step;
};

struct tc_fact_shared {
    uint32_t subject;
    tc_sym path;
    bool is_content, is_seed;
    TC_VEC(struct tc_fact_shared_occasion) occasions;
};

/* How often the script asks a model in evaluation in a window; expected is 0 where that is as it
 * was. */
struct tc_fact_pass {
    uint64_t expected, seen;
};

/* One process. */
struct tc_fact_watch {
    const struct tc_process *process;
    TC_VEC(struct tc_fact_open) open; /* outermost first */
    TC_VEC(struct tc_fact_open) own;  /* calls of the script's own functions, around no other */
    size_t n_open;                    /* of the items, which keep their memory */
    /* Serial of a tensor → word for the call, and TC_FACT_COMPUTED where a model did. */
    struct tc_map producers, old_producers;
    struct tc_map newest;  /* TC_FACT_WORD of a call → serial of its last result */
    int64_t latest;        /* serial of the newest tensor */
    int64_t horizon;       /* who made tensors up to this serial may be forgotten */
    struct tc_map choices; /* serials of what was made of a model's choices alone */
    struct tc_map loaded;  /* serials of what a loader made, to return it now or later */
    struct {
        int64_t id;              /* of the call that makes it */
        unsigned n_ops, n_apart; /* calls told of what makes its items: operators, and others */
    } batch;
    bool is_hazy;            /* in a batch, perhaps after calls that were not reported */
    struct tc_map stand_ins; /* functions that handed out what no call told of has made */
    struct tc_map
        cut; /* calls of which a step had more than were reported: names, plain and as JSON */
    int64_t cut_after;     /* serial of the newest tensor before the first of these */
    uint64_t cut_in;       /* the last window with such calls */
    struct tc_map taints;  /* serial of a tensor → tc_fact_lead */
    struct tc_map origins; /* serial of a tensor → its two lines, as origin.c packs them */
    struct tc_strtab *label_tuples, *counter_tuples; /* numbers of labels; counters by subject */
    TC_VEC(struct tc_fact_label) labels;
    TC_VEC(struct tc_fact_counter) counters;
    TC_VEC(struct tc_fact_changes) changes;
    TC_VEC(struct tc_fact_setting) settings;
    struct tc_map stepped; /* serials of optimizers that have */
    struct tc_map owners;  /* serial of a variable → the symbol of its module's name, plus one */
    uint32_t row_label, row;    /* the API called last by the script, and how often in a row */
    uint64_t n_windows;         /* with an optimizer step */
    unsigned n_backwards;       /* in this window */
    struct tc_fact_pass pass;   /* judging, while its counts are */
    tc_fact_lead gradient_lead; /* in the gradients as they are */
    tc_fact_lead setting_lead;  /* in what a step of this window is taken with */
    bool is_set_up;             /* training or evaluation has begun, */
    struct tc_place set_up;     /* here, */
    tc_fact_lead set_up_lead;   /* with this amiss */
    tc_fact_lead last_lead;     /* the last law that broke without a cause */
    struct tc_place last;       /* of its last window */
    struct tc_map met; /* learning, slot → the number of the window in which it was met last */
    struct tc_fact_nexts nexts;
    struct tc_map trend_places; /* subject and path → place */
    TC_VEC(struct tc_fact_trend) trends;
    struct tc_map shared_places;
    TC_VEC(struct tc_fact_shared) shared; /* with other ranks, to be compared in the end */
};

struct tc_facts {
    struct tc_fact_table table;
    bool has_operators;    /* judging: some fact was learned with them; else they are passed over */
    struct tc_map own;     /* calls that are the script's own inside: symbol of the API → 1 */
    struct tc_map watches; /* process → struct tc_fact_watch * */
    TC_VEC(struct tc_fact_watch *) all; /* in the order in which they were met */
    struct tc_strtab *class_tuples;     /* packed calls; their numbers are those of classes */
    TC_VEC(struct tc_fact_class) classes;
    struct tc_map class_counts; /* subject → how many classes it has */
    struct tc_fact_pack pack;
    struct tc_fact_entries entries; /* of the occasion at hand */
    struct tc_strbuf origin;        /* of what breaks: words about its lines */
    bool has_origin;                /* they are reported, and not to be looked up */
    TC_VEC(tc_sym) sources;
    tc_sym ends[TC_FACT_SOURCES + 1], starts[2][TC_FACT_N_STARTS]; /* words of flow.c, once made */
    const struct tc_sink *sink; /* where examples go; set with each event */
    const struct tc_event *event;
};

struct tc_fact_watch *tc_fact_watch_of(struct tc_facts *facts, const struct tc_process *process);
void tc_fact_watch_free(struct tc_fact_watch *watch);
/* Where the run of a process ended. */
struct tc_place tc_fact_end_of(const struct tc_fact_watch *watch);

/* To facts that were learned without operators these are no calls. */
static inline bool tc_fact_passes_over(const struct tc_facts *facts, const struct tc_call *call)
{
    return facts->table.is_judging && !facts->has_operators && call->role == TC_ROLE_OPERATOR;
}

/* Does all of the process stand in the trace, and did it come to its end? */
static inline bool tc_fact_is_whole(const struct tc_process *process)
{
    return process->has_ended && !process->has_failed && !process->is_sampled;
}

/* Is the call one of the script's own, and not of torch inside of another? */
static inline bool tc_fact_is_of_script(const struct tc_call *call)
{
    return !call->parent || tc_role_has(call->parent->role, TC_TRAIT_FOREIGN);
}

/* Does it make the items of a batch, as the script's own DataSet does? */
static inline bool tc_fact_is_of_batch(const struct tc_call *call)
{
    return call->parent && call->parent->role == TC_ROLE_DATA;
}

/* Is the stage that before training? */
static inline bool tc_fact_is_init(tc_sym stage)
{
    return stage == TC_SYM_INIT;
}

/* Its stage. What makes the first batch is called before training shows, and belongs to it. */
static inline tc_sym tc_fact_stage_of(const struct tc_call *call)
{
    return tc_fact_is_of_batch(call) && tc_fact_is_init(call->stage) ? TC_SYM_TRAINING
                                                                     : call->stage;
}

#endif /* TC_FACT_FACTS_H */
