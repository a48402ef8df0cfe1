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

#include "fact/attribute.h"
#include "fact/history.h"
#include "fact/operand_facts.h"
#include "relation/relation.h"

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
#define TC_FACT_WORD ((UINT64_C(1) << TC_FACT_ROOTS) - 1 - TC_FACT_COMPUTED)
/* And the models that had a part in it, by number; the last bit is for all that are more. */
#define TC_FACT_ROOTS   40
#define TC_FACT_N_ROOTS 24

/* The line that made a tensor, and another one that made what it was made of; or TC_SYM_EMPTY. */
struct tc_fact_origin {
    tc_sym line, before;
};

/* The last calls that made a tensor, the newest first: each made the first operand of the one
 * before. TC_NO_SYM after the last. */
#define TC_FACT_CHAIN 3
struct tc_fact_chain {
    tc_sym calls[TC_FACT_CHAIN];
};

/* Calls that say the same. */
struct tc_fact_class {
    struct tc_fact_entry *entries; /* those that break what is expected stand first */
    uint32_t n, n_broken;
    uint64_t count;
};

/* Of so many tensors of a result it is told whether they are operands. */
#define TC_FACT_ALIASES 2

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
    const char *seen;             /* where the batch that it returned was met before; or NULL */
    const char *beside;           /* how large the result is beside training's; or NULL */
    const char *rows;             /* how many of its rows came before in this pass; or NULL */
    enum tc_fact_again again, here, drawn; /* the operands; to this receiver; the result */
    bool is_computed;                      /* with a parameter, or with what was so computed */
    bool is_choice;                        /* of a model's choices alone */
    bool is_own;                           /* of a function that the script defines */
    char aliases[TC_FACT_ALIASES];         /* are the first tensors of the result operands? */
    bool is_chance;                        /* what it returns is a number that was drawn */
    uint32_t row;                          /* its place among calls of the API in a row, or 0 */
    uint32_t roots;                        /* models that had a part in it */
    uint32_t made_subject;       /* with the models that made its first operand, or UINT32_MAX */
    size_t first;                /* place of its first operand: the receiver, if that is a tensor */
    uint32_t by_subject;         /* with the call that did, or UINT32_MAX */
    uint32_t chain_subject;      /* with the calls that did, or UINT32_MAX */
    struct tc_fact_chain chain;  /* of its first operand */
    uint32_t inside, inside_own; /* what it calls, or TC_FACT_NO_INSIDE */
    int64_t latest;              /* the last tensor that was known before it */
    int64_t index;               /* of the row that all its operands are of; TC_NONE */
};

/* What is said of a counter at the end of a window. */
enum tc_fact_tally {
    TC_FACT_TALLY_ALL,
    TC_FACT_TALLY_FIRST,
    TC_FACT_TALLY_LATER,
    TC_FACT_TALLY_WHERE,
    TC_FACT_TALLY_EVEN,
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
    bool is_of_training;        /* there was one in a window that no evaluation began */
    bool is_uneven;             /* learning: in one that an evaluation began there were neither as
                                 * many as in the first window nor twice as many */
    bool is_reported;           /* counted in windows before */
    bool has_more;              /* learning: in this window nothing is claimed of the count */
    uint64_t counts;            /* learning: a bit for each count of a window, up to 126 */
    bool is_of_package;         /* a package makes such calls, as a solver does */
    tc_sym at;                  /* where the last of them was made */
    struct tc_fact_origin from; /* of a flow, and what flowed */
    struct tc_fact_sequence *sequence; /* learning; NULL: nothing but 0 */
    uint32_t slots[TC_FACT_N_TALLIES]; /* once looked up; UINT32_MAX: nothing is to be said */
};

struct tc_fact_label {
    tc_sym fn, of;
    uint64_t n; /* calls in all */
    bool is_operator;
    uint32_t n_results;    /* tensors that such a call returned, if any */
    uint64_t n_in_batches; /* calls that make items: of each batch the first alone are told */
    uint64_t n_in_window, window; /* of these those of the window in which the last was */
    uint32_t order; /* place of the first such call before the first step; 0, UINT32_MAX: none */
    tc_sym at;      /* and its line */
    bool is_drawn;  /* learning, at the end: called in steps that the script draws */
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
    double first, last;      /* as an optimizer first stepped with it, and now */
    unsigned n_values;       /* how often it has changed since */
    bool is_told;            /* the first */
    tc_fact_lead lead;       /* broke where it was set */
};

/* Calls that stand in one call of the script, at one stage, or in its steps. */
#define TC_FACT_NO_INSIDE UINT32_MAX

/* What happened within one subject. */
struct tc_fact_inside {
    struct tc_subject subject;
    bool is_top;             /* of the script: an occasion is a step */
    bool is_own;             /* of functions that the script defines, whose order is told alone */
    struct tc_map calls;     /* API → the occasion, from 1 on, in which it was met last */
    TC_VEC(tc_sym) all;      /* all of them */
    TC_VEC(tc_sym) sequence; /* those of this occasion, in the order of their first calls */
    uint64_t occasion;
    struct tc_strtab *orders; /* sequences, as bytes; NULL before there is one */
    uint64_t n_ordered;       /* occasions of these */
    bool is_varied;           /* there were too many different ones */
    bool is_broken;           /* judging: a call was made that never was */
    bool is_expected;         /* judging: what follows was read */
    uint32_t calls_slot, order_slot;
    struct tc_map expected_calls, expected_order; /* API → its place from 1 on */
};

struct tc_fact_insides {
    struct tc_strtab *tuples; /* packed subjects */
    TC_VEC(struct tc_fact_inside) items;
    tc_sym stage[2]; /* the script's last one, and its number; of functions of its own */
    uint32_t top[2];
};

/* How a number went on from call to call. */
struct tc_fact_trend {
    uint32_t subject;
    tc_sym path;
    double before, last, by;
    uint64_t n, n_rises, n_falls;
    uint64_t n_between; /* it stayed, and then moved on */
    bool is_saved;      /* in a checkpoint */
    bool is_other;      /* it is no integer, or did not change by the same each time */
};

/* From the smallest to the largest, of so many. */
struct tc_fact_range {
    double low, high;
    uint64_t n;
};

/* A number that a call returned, or was given, in the first steps. */
struct tc_fact_scalar {
    uint32_t subject;
    tc_sym path;
    enum tc_attribute attribute;
    struct tc_fact_range range;
    double last; /* as it was seen last */
    bool leaps;  /* after these steps it leaps beyond the range */
};

/* Learning, an operand of indices, the largest of which is the last of another one. */
struct tc_fact_covered {
    uint32_t subject;
    tc_sym path;
    uint64_t lasts; /* a bit for each such index, by its last six bits */
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

/* So many operands of a model are compared with those of other calls. */
#define TC_FACT_GIVEN 8

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
    struct tc_map writers; /* names of operators that write to the receiver and return nothing */
    struct tc_map newest;  /* TC_FACT_WORD of a call → serial of its last result */
    struct tc_map uneven;  /* names of what returned now more, now fewer tensors */
    int64_t latest;        /* serial of the newest tensor */
    int64_t horizon;       /* who made tensors up to this serial may be forgotten */
    struct tc_map choices; /* serials of what was made of a model's choices alone */
    struct {
        int64_t id;              /* of the call that makes it */
        unsigned n_ops, n_apart; /* calls told of what makes its items: operators, and others */
    } batch;
    bool is_hazy;            /* in a batch, perhaps after calls that were not told */
    struct tc_map stand_ins; /* functions that handed out what no call told of has made */
    struct tc_map cut; /* calls of which a step had more than were told: names, plain and as JSON */
    struct tc_map taints; /* serial of a tensor → tc_fact_lead */
    struct tc_map chains; /* serial of a tensor → number of its chain */
    struct tc_strtab *chain_tuples;
    struct tc_map origins; /* serial of a tensor → its two lines, as origin.c packs them */
    struct tc_strtab *label_tuples, *counter_tuples; /* numbers of labels; counters by subject */
    TC_VEC(struct tc_fact_label) labels;
    TC_VEC(struct tc_fact_counter) counters;
    TC_VEC(struct tc_fact_changes) changes;
    TC_VEC(struct tc_fact_setting) settings;
    struct tc_map starts;  /* slot → struct tc_fact_start *, unless the slot has it itself */
    struct tc_map stepped; /* serials of optimizers that have */
    struct tc_map owners;  /* serial of a variable → the symbol of its module's name, plus one */
    uint32_t n_ordered;
    uint32_t row_label, row;       /* the API called last by the script, and how often in a row */
    uint64_t n_windows;            /* with an optimizer step */
    unsigned n_backwards;          /* in this window */
    tc_sym begun_in;               /* the stage in which a model runs first in this window */
    struct tc_fact_pass pass;      /* judging, while its counts are */
    tc_fact_lead gradient_lead;    /* in the gradients as they are */
    tc_fact_lead setting_lead;     /* in what a step of this window is taken with */
    bool is_set_up;                /* training or evaluation has begun, */
    struct tc_place set_up;        /* here, */
    tc_fact_lead set_up_lead;      /* with this amiss */
    tc_fact_lead last_lead;        /* the last law that broke without a cause */
    struct tc_place last;          /* of its last window */
    uint64_t given[TC_FACT_GIVEN]; /* digests of what a model was given last */
    size_t n_given;
    double scalar;        /* the last number with a gradient that a call returned */
    tc_sym scalar_of;     /* that call; TC_NO_SYM: none yet */
    TC_VEC(tc_sym) roots; /* names of models whose parameters were operands */
    struct tc_map read;   /* hashes of receivers, and of what is told of them, in this window */
    struct tc_map rows;   /* serial of what is one row of a tensor → its index, in this window */
    struct tc_fact_history history;
    struct tc_fact_insides insides;
    struct tc_map scalar_places; /* subject and path → place */
    struct tc_map trend_places;
    TC_VEC(struct tc_fact_trend) trends;
    TC_VEC(struct tc_fact_scalar) scalars;
    TC_VEC(struct tc_fact_covered) covered;
    struct tc_map covered_places; /* (subject, path) → its place in covered */
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
    bool has_origin;                /* they are told, and not to be looked up */
    TC_VEC(tc_sym) sources;
    tc_sym ends[TC_FACT_SOURCES + 1], starts[2][TC_FACT_N_STARTS]; /* words of flow.c, once made */
    const struct tc_sink *sink; /* where examples go; set with each event */
    const struct tc_event *event;
};

struct tc_fact_watch *tc_fact_watch_of(struct tc_facts *facts, const struct tc_process *process);
void tc_fact_watch_free(struct tc_fact_watch *watch);

/* To facts that were learned without operators these are no calls. */
static inline bool tc_fact_passes_over(const struct tc_facts *facts, const struct tc_call *call)
{
    return facts->table.is_judging && !facts->has_operators && call->role == TC_ROLE_OPERATOR;
}

/* ---- occasion.c: what was seen is counted, or judged ---------------------------------------- */

/* The entries at hand, which something has said: count them n times, tell what they break. They
 * follow from `cause`; where that is 0, the first of them leads. Returns what leads them. */
tc_fact_lead tc_fact_settle(struct tc_facts *facts, const struct tc_fact_entry *entries, size_t n,
                            uint64_t times, tc_fact_lead cause, const struct tc_place *place);
/* At the end of a run, breaches that were too rare to be told, if the fact held on fewer occasions.
 */
void tc_fact_tell_rare(struct tc_facts *facts, uint32_t slot, tc_fact_lead cause);
/* A fact without an operand, said once. */
void tc_fact_say(struct tc_facts *facts, const struct tc_subject *subject, tc_sym path,
                 enum tc_attribute attribute, const char *json);
/* Settle and forget what was said. */
tc_fact_lead tc_fact_settle_said(struct tc_facts *facts, uint64_t times, tc_fact_lead cause,
                                 const struct tc_place *place);

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

/* Its stage. What makes the first batch is called before training shows, and belongs to it. */
static inline tc_sym tc_fact_stage_of(struct tc_facts *facts, const struct tc_call *call)
{
    const bool is_first = tc_fact_is_of_batch(call) &&
                          !strcmp(tc_strtab_text(facts->table.symbols, call->stage), "init");

    return is_first ? tc_strtab_intern_text(facts->table.symbols, "training") : call->stage;
}

/* ---- flow.c: from which call to which -------------------------------------------------------- */

void tc_fact_flow_init(struct tc_facts *facts);
/* The place of a call of the script's own among those of its API that come in a row. */
uint32_t tc_fact_place_in_row(struct tc_fact_watch *watch, const struct tc_fact_open *open);
/* What produced it: the word of a call that returned it as its i-th tensor. */
uint64_t tc_fact_word(uint32_t fn, uint32_t row, size_t i);
/* The operands of a packed call, of which the first n_args are no receiver, in this window. */
void tc_fact_flow(struct tc_facts *facts, struct tc_fact_watch *watch,
                  const struct tc_fact_label *label, const struct tc_call *call, size_t n_args);
/* Does the flow come from one of many results of a call that does not always return as many? */
bool tc_fact_is_uneven(const struct tc_facts *facts, const struct tc_fact_watch *watch,
                       const struct tc_subject *flow);
/* The models that the operands of a packed call are made by, and their rows; n_args as above. */
void tc_fact_made(struct tc_facts *facts, struct tc_fact_watch *watch, struct tc_fact_open *open,
                  const struct tc_call *call, size_t n_args);
/* The rows of what it returned. */
void tc_fact_give_row(struct tc_fact_watch *watch, const struct tc_fact_open *open,
                      const struct tc_call *call, const struct tc_fact_pack *result);
/* The modules whose variables a function is given, in this window. */
void tc_fact_use(struct tc_facts *facts, struct tc_fact_watch *watch, const struct tc_call *call);

/* ---- inside.c: which calls the script makes, and in which order ----------------------------- */

void tc_fact_insides_release(struct tc_fact_insides *insides);
/* A call of the script's own begins, in `around` (NULL: at the top), and follows from `cause`.
 * Returns what breaks by it. */
tc_fact_lead tc_fact_call_inside(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 struct tc_fact_open *around, const struct tc_call *call,
                                 tc_fact_lead cause);
/* A call with others inside ends, or a step of the script: say what is to be settled. */
void tc_fact_inside_ends(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t inside);
void tc_fact_tops_end(struct tc_facts *facts, struct tc_fact_watch *watch);
/* Learning, at the end of a run. */
void tc_fact_say_insides(struct tc_facts *facts, struct tc_fact_watch *watch);

/* ---- origin.c: at which lines tensors were made --------------------------------------------- */

struct tc_fact_origin tc_fact_origin(const struct tc_fact_watch *watch, int64_t serial);
/* Judging, a call returned this tensor, or wrote to it. */
void tc_fact_keep_origin(struct tc_fact_watch *watch, const struct tc_fact_open *open,
                         const struct tc_call *call, int64_t serial);
/* "; made at model.py:34 from data.py:17", lines other than `at`; or nothing. */
void tc_fact_print_origin(const struct tc_facts *facts, struct tc_fact_origin origin, tc_sym at,
                          struct tc_strbuf *out);
/* Words for where the operand was made by which the fact breaks now; NULL if that is not known. */
const char *tc_fact_origin_of(struct tc_facts *facts, const struct tc_fact *fact);
/* "model.py:34". */
void tc_fact_print_line(const struct tc_facts *facts, tc_sym line, struct tc_strbuf *out);

/* ---- covered_size.c ------------------------------------------------------------------------- */

/* The size of another operand of which the largest element of one, of integers, is the last index:
 * what a call's facts of it depend on, and these facts. */
void tc_fact_pack_covered(struct tc_fact_pack *pack, const struct tc_call *call);
void tc_fact_read_covered(struct tc_fact_reader *reader, const struct tc_call *call);
/* Learning: what a call of that subject was given is an occasion of this. */
void tc_fact_meet_covered(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t subject,
                          const struct tc_call *call);
/* The run is over: where it was one number all the time, as the words of a vocabulary that is
 * always used up, nothing is claimed. */
void tc_fact_doubt_covered(struct tc_facts *facts, struct tc_fact_watch *watch);

/* ---- missing.c ------------------------------------------------------------------------------ */

/* The line to look at where calls, or flows, of the subject are others than they were, or gone;
 * TC_SYM_EMPTY where there is none. It leaves words on what stands there as the origin of what is
 * settled next, until has_origin is false again. */
tc_sym tc_fact_find_place(struct tc_facts *facts, const struct tc_fact_watch *watch,
                          const struct tc_subject *subject);

/* ---- walk.c: what stands in lists and dicts ------------------------------------------------- */

typedef void tc_fact_visitor(void *context, const char *path, const struct tc_value *value);
/* Visit what is neither a list nor a dict: the value, or what it holds, by its path, as "args.x[0]"
 * of what a call is given, path "args". */
void tc_fact_walk(const struct tc_value *value, const char *path, tc_fact_visitor *visit,
                  void *context);

/* ---- early_number.c: how large losses and norms are in the first steps ---------------------- */

/* The value of an operand or a result, that of path, if it is a number; returns what breaks by it.
 */
tc_fact_lead tc_fact_meet_scalar(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 uint32_t subject, const char *path, const struct tc_value *tensor,
                                 tc_fact_lead cause);
/* The same of the tensors of a batch, or of what a model is given: how large, how many distinct
 * elements; of what nothing has told yet that it is another batch. */
tc_fact_lead tc_fact_meet_batch_numbers(struct tc_facts *facts, struct tc_fact_watch *watch,
                                        uint32_t subject, const char *path,
                                        const struct tc_value *value);
/* Learning, at the end of a run. */
void tc_fact_say_scalars(struct tc_facts *facts, struct tc_fact_watch *watch);

/* ---- trend.c: how a number goes on from call to call ----------------------------------------- */

/* The numbers in what a call is given, path "args", or returns, "value"; returns what breaks by
 * them. */
tc_fact_lead tc_fact_meet_trends(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 uint32_t subject, const char *path, const struct tc_value *value,
                                 bool is_saved, tc_fact_lead cause);
/* Learning, at the end of a run. */
void tc_fact_say_trends(struct tc_facts *facts, struct tc_fact_watch *watch);

/* ---- between_ranks.c: what ranks have in common ---------------------------------------------- */

/* What a call is given, path "args" or "self", or returns, "value", if it is one of several ranks.
 */
void tc_fact_meet_ranks(struct tc_facts *facts, struct tc_fact_watch *watch, uint32_t subject,
                        const struct tc_call *call, const char *path, const struct tc_value *value);
/* At the end of a run. */
void tc_fact_compare_ranks(struct tc_facts *facts);
void tc_fact_ranks_release(struct tc_fact_watch *watch);

/* ---- one_value.c ---------------------------------------------------------------------------- */

/* What a value of one run says of the attribute. */
typedef tc_sym tc_fact_reading(struct tc_strtab *symbols, enum tc_attribute attribute,
                               tc_sym value);

/* The rule itself, for others. */
tc_sym tc_fact_propose_one(struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes);
bool tc_fact_holds_one(struct tc_strtab *symbols, const struct tc_fact *claim, tc_sym seen);
/* What all that was met says alike; TC_NO_SYM where it says several things. */
tc_sym tc_fact_only_value(struct tc_strtab *symbols, enum tc_attribute attribute,
                          const struct tc_outcomes *outcomes, tc_fact_reading *read);

/* ---- how_often.c: whether a call is made at all, and as often as there are steps ------------ */

/* What is met a few times a run may not be met in another one. */
#define TC_FACT_MIN_MET 8

/* So many of so many: calls and the steps of the run, or calls that differ and all of them.
 * Learning keeps one per run, as the text "3 of 20". */
struct tc_fact_part {
    uint64_t n, of;
};

void tc_fact_print_part(const struct tc_fact_part *part, struct tc_strbuf *out);
/* False of any other value. */
bool tc_fact_read_part(const struct tc_strtab *symbols, tc_sym value, struct tc_fact_part *part);

/* PRESENT or RATE of a run: judging that it holds or not, learning the two numbers. */
void tc_fact_say_met(struct tc_facts *facts, const struct tc_subject *subject,
                     enum tc_attribute attribute, const struct tc_fact_part *met);
/* Were runs of one length so different that another one may break the claim? */
bool tc_fact_met_by_chance(const struct tc_strtab *symbols, enum tc_attribute attribute,
                           const struct tc_outcomes *outcomes);

/* ---- varying_number.c: whether a number is another one now and then -------------------------- */

/* Is the slot one of numbers at the top of the script, or of its own functions? */
bool tc_fact_is_told_number(const struct tc_facts *facts, const struct tc_fact *fact);
/* Learning, what a slot of numbers says of that; false where nothing is. */
bool tc_fact_varied(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                    struct tc_fact *fact, struct tc_strbuf *out);
bool tc_fact_spans(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                   struct tc_fact *fact, struct tc_strbuf *out);
/* And whether its numbers are all on one side of zero. */
bool tc_fact_signs(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                   struct tc_fact *fact, struct tc_strbuf *out);

/* ---- chain.c: by which calls a first operand was made ------------------------------------------
 */

/* The place of the first operand among those of facts->pack, whose sources have been found. */
void tc_fact_chain_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                          struct tc_fact_open *open, const struct tc_call *call, size_t first);
/* The call made this tensor. */
void tc_fact_chain_gives(struct tc_fact_watch *w, const struct tc_fact_open *open, int64_t serial,
                         bool is_operand);

/* ---- reached_bound.c: bounds that are met and never passed ------------------------------------
 */

/* Learning, the bound that the numbers of a slot meet; false where there is none. */
/* Learning: a number of an occasion, n times; those with which a process starts are counted apart.
 */
void tc_fact_meet_start(struct tc_facts *facts, const struct tc_fact_entry *entry, uint64_t n);
bool tc_fact_floor(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                   struct tc_fact *fact, struct tc_strbuf *out);
bool tc_fact_ceiling(const struct tc_facts *facts, const struct tc_fact_slot *slot,
                     struct tc_fact *fact, struct tc_strbuf *out);

/* ---- call.c, window.c, setting.c, finish.c -------------------------------------------------- */

/* The record of a group, which its first one names, and what broke by it; what the first step
 * begins with. */
void tc_fact_keep_settings(struct tc_facts *facts, struct tc_fact_watch *watch,
                           const struct tc_record *record, tc_sym name, tc_fact_lead lead);
void tc_fact_say_start(struct tc_facts *facts, struct tc_fact_watch *watch,
                       const struct tc_call *step);
/* How far a schedule has come by the end of a run. */
void tc_fact_say_courses(struct tc_facts *facts, struct tc_fact_watch *watch,
                         const struct tc_place *end);
void tc_fact_finish(struct tc_facts *facts);
/* Where the run of a process ended. */
struct tc_place tc_fact_end_of(const struct tc_fact_watch *watch);
/* needs.c: tell of the operators that the process called, and how much of contents is recorded. */
void tc_fact_tell_needs(struct tc_facts *facts, const struct tc_fact_watch *watch);
/* Which calls came before which, of those that came before the end of the first step. */
void tc_fact_say_order(struct tc_facts *facts, struct tc_fact_watch *watch, struct tc_place place);
/* Learning, at the end of a run: those of calls that are drawn are none. */
void tc_fact_take_back_order(struct tc_facts *facts, const struct tc_fact_watch *watch);
bool tc_fact_is_init(const struct tc_facts *facts, tc_sym stage);

/* ---- pass.c: how many batches an evaluation has ---------------------------------------------- */

/* Judging, of the window as far as it has come. */
struct tc_fact_pass tc_fact_pass_of(struct tc_facts *facts, struct tc_fact_watch *watch);
/* Of a fact that this breaks: is it once for each batch, of which there are more or fewer? */
bool tc_fact_is_of_pass(struct tc_facts *facts, const struct tc_fact *fact, tc_sym seen);

/* ---- drawn.c: what a script does in steps that it draws ------------------------------------- */

/* In place of a value: it was drawn. */
#define TC_FACT_DRAWN "\"drawn\""
/* Learning, what a window had, from 0 on; the sequence is made if there is none. */
void tc_fact_sequence_add(struct tc_facts *facts, struct tc_fact_sequence **sequence,
                          uint64_t window, const void *bytes, size_t size);
void tc_fact_take_back_drawn(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_FACTS_H */
