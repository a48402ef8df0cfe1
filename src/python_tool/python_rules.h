/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_rules.h - invariants of the Python TrainCheck, judged by its own rules; private to this
 * folder
 *
 * Its rules speak of whole traces (when a state ended, how often a function is called in a row), so
 * the lines they need are kept and judged when the run is over. docs/python-tool.md has the rules.
 */
#ifndef TC_PYTHON_TOOL_PYTHON_RULES_H
#define TC_PYTHON_TOOL_PYTHON_RULES_H

#include "import/torch_apis.h"
#include "relation/relation.h"

/* ---- values -------------------------------------------------------------------------------- */

/* Values that Python calls equal have one number: 1, 1.0 and True; lists by their elements, objects
 * whatever their order. TC_NO_SYM for NaN, which the tool takes for absent. */
tc_sym tc_python_key(struct tc_strtab *keys, const struct tc_value *value);
/* A field of a line as the tool flattens it: "attributes.data.mean". NULL if absent. */
const struct tc_value *tc_python_field(const struct tc_value *line, struct tc_str path);
/* The type name and payload of {"int": 3}; NULL if it is no typed value. */
const struct tc_member *tc_python_typed_value(const struct tc_value *value);
bool tc_python_is_number(const struct tc_value *value, double *out);
/* a - b by Python's order of numbers, as -1, 0 or 1. */
int tc_python_compare(const struct tc_value *a, const struct tc_value *b);

/* ---- the trace ----------------------------------------------------------------------------- */

struct tc_python_record {
    const struct tc_value *line; /* in the arena of the trace */
    int64_t time, process, thread;
    uint64_t order; /* among records of equal time */
    const struct tc_process *of;
};

struct tc_python_call {
    struct tc_python_record pre, post;
    bool has_post, raised;
};

struct tc_python_function {
    struct tc_str name;
    TC_VEC(struct tc_python_call *) calls; /* by the time of their beginning */
};

/* One function on one thread: enough to say whether two functions ever stand side by side. */
struct tc_python_presence {
    int64_t process, thread;
    uint64_t function; /* hash of its name */
    int64_t first_end, last_begin;
};

/* A run of equal values of an attribute. */
struct tc_python_state {
    tc_sym value;
    const struct tc_value *raw;
    int64_t begin, end;
    struct tc_python_record last; /* of the run */
};

/* One variable of one process. */
struct tc_python_variable {
    int64_t process;
    struct tc_str name;
    TC_VEC(struct tc_python_state) states; /* empty: it never had the attribute */
};

struct tc_python_variables {
    struct tc_str type, attr;
    TC_VEC(struct tc_python_variable) items; /* in order of first appearance */
};

struct tc_python_trace {
    struct tc_arena arena;
    struct tc_strtab *symbols; /* of the run */
    struct tc_strtab *keys;    /* of values */
    struct tc_torch_apis *apis;
    struct tc_map functions; /* hash of a name that is asked for → struct tc_python_function * */
    struct tc_map types;     /* hashes of types of variables that are asked for */
    struct tc_map open;      /* hash of func_call_id → struct tc_python_call * */
    struct tc_map rows;      /* hash of function → longest run of its records in a row */
    struct tc_map runs;      /* hash of thread → struct tc_python_run * */
    struct tc_map present;   /* hash of thread and function → place in presence, plus 1 */
    TC_VEC(struct tc_python_presence) presence;
    TC_VEC(struct tc_python_record) changes;     /* state changes of those types */
    TC_VEC(struct tc_python_variables *) states; /* what was asked of them */
    bool has_stages, is_foreign;
    int64_t last_time;
    uint64_t n_kept;
};

uint64_t tc_python_hash(struct tc_str name);
void tc_python_trace_want_function(struct tc_python_trace *trace, struct tc_str name);
void tc_python_trace_want_type(struct tc_python_trace *trace, struct tc_str type);
void tc_python_trace_add(struct tc_python_trace *trace, const struct tc_process *process,
                         const struct tc_record *record);
/* After the last record: sorts. */
void tc_python_trace_finish(struct tc_python_trace *trace);
void tc_python_trace_release(struct tc_python_trace *trace);

/* NULL if it was never called. */
const struct tc_python_function *tc_python_trace_function(const struct tc_python_trace *trace,
                                                          struct tc_str name);
/* Records of the function that follow each other, at most. */
uint64_t tc_python_trace_in_a_row(const struct tc_python_trace *trace, struct tc_str name);
/* Has the thread a call of another function, short of those with long rows, beside one of this? */
bool tc_python_trace_has_neighbour(const struct tc_python_trace *trace, int64_t process,
                                   int64_t thread, struct tc_str name, uint64_t max_row);
/* The value that an argument of a call has, typed; NULL if it was not given, and *is_known is then
 * false if it may have been given by a position whose name is not known. */
const struct tc_value *tc_python_argument(const struct tc_python_trace *trace,
                                          const struct tc_python_call *call, struct tc_str name,
                                          bool *is_known);

/* What an attribute of all variables of a type held, over time; the trace keeps it. */
const struct tc_python_variables *tc_python_trace_states(struct tc_python_trace *trace,
                                                         struct tc_str type, struct tc_str attr);
void tc_python_variables_release(struct tc_python_variables *variables);

/* ---- preconditions ------------------------------------------------------------------------- */

/* A context manager while it was active, on the thread of its __init__. */
struct tc_python_manager {
    const struct tc_python_call *init;
    int64_t begin, end;
    int64_t last_end; /* of those before it, too */
};

struct tc_python_managers {
    TC_VEC(struct tc_python_manager) items; /* by thread and begin */
};

/* Is it "meta_vars.context_managers.NAME"? */
bool tc_python_is_manager(struct tc_str field);
void tc_python_managers_want(struct tc_python_trace *trace, struct tc_str field);
void tc_python_managers_find(struct tc_python_trace *trace, struct tc_str field,
                             struct tc_python_managers *out);
/* __init__ of the innermost that is active at a record, NULL if none is. */
const struct tc_python_call *tc_python_managers_active(const struct tc_python_managers *managers,
                                                       const struct tc_python_record *at);

struct tc_python_column {
    struct tc_str field;
    const struct tc_value *path; /* array or NULL */
    bool is_manager;             /* a context manager, looked for at the first record */
    struct tc_python_managers managers;
};

enum tc_python_clause_kind {
    TC_PYTHON_CONSTANT,
    TC_PYTHON_CONSISTENT,
    TC_PYTHON_UNEQUAL,
    TC_PYTHON_EXIST,
};

struct tc_python_clause {
    enum tc_python_clause_kind kind;
    size_t column;
    tc_sym *values; /* of CONSTANT */
    size_t n_values;
};

struct tc_python_conjunction {
    TC_VEC(struct tc_python_clause) clauses;
};

struct tc_python_when {
    bool inverted, is_unconditional;
    TC_VEC(struct tc_python_column) columns;
    TC_VEC(struct tc_python_conjunction) any_of;
};

/* What the columns of one record hold. */
#define TC_PYTHON_UNHASHABLE (TC_NO_SYM - 1)

/* Take a group of a precondition apart; NULL, or why it cannot be. */
const char *tc_python_when_parse(struct tc_python_trace *trace, const struct tc_value *definition,
                                 const char *group, struct tc_python_when *out);
void tc_python_when_release(struct tc_python_when *when);
/* Functions that the precondition of a definition needs: those of its context managers. */
void tc_python_when_want(struct tc_python_trace *trace, const struct tc_value *definition);
/* Fill cells, one for each column; managers are those at the time of `at`. */
void tc_python_when_row(struct tc_python_trace *trace, const struct tc_python_when *when,
                        const struct tc_python_record *record, const struct tc_python_record *at,
                        tc_sym *cells);
bool tc_python_when_holds(const struct tc_python_when *when, const tc_sym *const *rows, size_t n);
/* The two above for one record. */
bool tc_python_when_met(struct tc_python_trace *trace, const struct tc_python_when *when,
                        const struct tc_python_record *record);

/* ---- judging ------------------------------------------------------------------------------- */

/* One invariant being judged on a finished trace. */
struct tc_python_judge {
    struct tc_python_trace *trace;
    const struct tc_value *params; /* array */
    struct tc_python_when when;
    const struct tc_sink *sink;
    const struct tc_event *event;
    tc_sym key;
    uint64_t order;
    const char *unchecked; /* set by a rule that cannot judge */
};

/* The step that the tool counted, -1 where it is not known. */
int64_t tc_python_step(const struct tc_python_record *record);

/* A decision on `record`; seen, where it broke, is a sentence. */
void tc_python_held(struct tc_python_judge *judge, const struct tc_python_record *record);
void tc_python_broken(struct tc_python_judge *judge, const struct tc_python_record *record,
                      const char *seen);

struct tc_str tc_python_param(const struct tc_python_judge *judge, size_t i, const char *key);
const struct tc_value *tc_python_param_value(const struct tc_python_judge *judge, size_t i,
                                             const char *key);

/* The rules. Each finds out what it can and sets judge->unchecked where it cannot. */
void tc_python_judge_consistency(struct tc_python_judge *judge);
void tc_python_judge_contain(struct tc_python_judge *judge);
void tc_python_judge_cover(struct tc_python_judge *judge);
void tc_python_judge_lead(struct tc_python_judge *judge);
void tc_python_judge_distinct(struct tc_python_judge *judge);
void tc_python_judge_output(struct tc_python_judge *judge);
void tc_python_judge_input_output(struct tc_python_judge *judge);
void tc_python_judge_threshold(struct tc_python_judge *judge);

#endif /* TC_PYTHON_TOOL_PYTHON_RULES_H */
