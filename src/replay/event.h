/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - what a trace means: calls with all that happened inside them,
 * variables, windows
 *
 * Everything here is owned by the replay and valid during the callback that
 * delivers it.
 */
#ifndef TC_REPLAY_EVENT_H
#define TC_REPLAY_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "trace/role.h"
#include <traincheck/record.h>

/* Phases that have passed in the current window. */
enum tc_phase {
    TC_PHASE_FORWARD = 1,
    TC_PHASE_BACKWARD = 2, /* since the last optimizer step */
    TC_PHASE_UNSCALE = 4,
    TC_PHASE_GRAPH = 8,     /* a forward of a root module with gradients */
    TC_PHASE_NO_GRAPH = 16, /* the last such forward was without, maybe in a window before */
};

/* One thing inside a call that an invariant may speak of, the symbol of its words:
 * "call ROLE FN" or "change KIND ATTR FROM TO". */
typedef tc_sym tc_atom;

/* What became of an optimizer's parameter since the optimizer stepped last. */
enum tc_since_step {
    TC_SINCE_UNKNOWN, /* it has not stepped, or not in the step before this one */
    TC_SINCE_KEPT,
    TC_SINCE_MOVED, /* its data is another, and no call that loads or initialises made it so */
};

struct tc_call {
    int64_t id, step, th;
    int64_t t, end_t; /* ns since the anchor of the process */
    uint64_t window;  /* number of the window it began in */
    tc_sym fn;
    tc_sym descriptor; /* fn, or "root.forward" */
    tc_sym stage, at, by;
    enum tc_role role;
    bool is_root; /* forward of a root module */
    bool is_look; /* looks at training, or is part of what does: training_look.h */
    bool raised;
    bool has_step;          /* an optimizer stepped inside it */
    bool is_partial;        /* sampling left out something inside it: no event tells of it */
    unsigned after;         /* enum tc_phase bits at entry */
    struct tc_call *parent; /* NULL at the top of its thread */
    unsigned n_open;        /* calls open directly inside */
    unsigned n_asked;       /* models asked in it, or set to evaluation: stage_end.h */
    unsigned depth;         /* calls around it, at most as many as count */
    const struct tc_value *self, *args, *ctx; /* NULL when absent; owned by the call */
    const struct tc_value *equal, *alias;     /* pairs of operands, or NULL */
    const struct tc_value *defaults;          /* of the API's signature, or NULL */
    /* What the script's function never reads: an object of its parameters, true where nothing else
     * reads what calls give them; of others: the last name of the call whose result its line drops,
     * and under "=" what it computes in vain. NULL: no source has told. */
    const struct tc_value *unread;
    const int64_t *params, *uncleared;
    size_t n_params, n_uncleared;
    bool is_pause; /* a step without gradients after others that had some, and not for long */
    const unsigned char *since_step; /* enum tc_since_step of params at entry, or NULL */
    tc_sym grads,
        frozen; /* how many of params have a gradient, and are frozen, at entry: all, some, none */
    const struct tc_record *end; /* the return record, during its event */
    TC_VEC(tc_atom) contents;    /* sorted, each once */
    size_t member;               /* its place in the window, SIZE_MAX if it has none */
    struct tc_arena arena;
};

struct tc_variable {
    int64_t serial, root; /* root TC_NONE while none owns it */
    tc_sym name, kind, owner;
    tc_sym grad, grad_before; /* class now, and before its last change */
    tc_sym dtype, shape;      /* shape as JSON text */
    tc_sym first_dtype;       /* TC_SYM_NULL before one is reported */
    tc_sym first_shape;       /* the first that has elements; TC_NO_SYM before */
    uint64_t data;            /* digest */
    uint64_t algorithm;       /* of the digest, as of its process */
    uint64_t first_data;      /* digest when it was first seen */
    bool has_first;
    uint64_t left_data; /* digest that the last optimizer step, or a load, left */
    int64_t left_step;  /* step of that optimizer step; TC_NONE before the first */
    int64_t data_cause,
        grad_cause;    /* id of the call in which it last changed; -1 outside of calls */
    int64_t grad_made; /* id of the call in which the gradient last came to be */
    int64_t stepped;   /* id of the last optimizer step that owned it; -1 before the first */
    int64_t grad_used; /* grad_made when that step ended; -1 before the first */
    bool has_data, is_sampled, requires_grad, is_leaf, is_matrix;
    bool is_empty;         /* it has no element, and so no content that could change */
    bool is_zero_computed; /* a backward made the gradient zero */
    bool was_tiny;         /* a gradient was next to nothing once */
    bool is_sharded;       /* other processes hold other parts of it */
    tc_sym part;      /* which part this is, as JSON text; TC_NO_SYM where that is not reported */
    uint64_t used;    /* window in which it was last told or stepped, see rest.h */
    bool is_setting;  /* an example about one: it has a name and a kind alone */
    tc_sym training;  /* true, false or null: mode of the owner */
    struct tc_write { /* the last call that wrote to it in place; fn TC_NO_SYM: none */
        tc_sym fn, at;
        tc_sym in, in_at; /* the function of the script around it, or TC_NO_SYM */
        int64_t id;
    } written;
    /* Framework attributes that are true, as fields "v.attr.NAME". */
    struct tc_pair {
        tc_sym field, value;
    } * attrs;
    size_t n_attrs;
};

/* One number, or a few, of a parameter group or a scaler. */
struct tc_setting {
    tc_sym attr;
    tc_sym path;                /* the name of the group, a dot, attr */
    uint64_t value;             /* digest of its JSON text */
    uint64_t used;              /* that which the last optimizer step found */
    bool has_used;              /* there has been one */
    double number, used_number; /* the same; NaN where they are no number */
};

/* A variable that is no tensor: a parameter group of an optimizer, a gradient scaler. */
struct tc_settings {
    int64_t serial;
    tc_sym name, kind;
    bool is_idle;                    /* its optimizer has not been at work yet */
    TC_VEC(struct tc_setting) items; /* in the order in which they were first told */
};

struct tc_member_call {
    tc_sym descriptor; /* fn, or root.forward[train,grad] */
    enum tc_role role;
    int64_t id;
    tc_sym at;
    bool is_void;      /* it raised: not a member after all */
    bool is_in_step;   /* an optimizer step made it: a closure */
    bool has_no_model; /* a step of parameters that stand in no model: a temperature */
};

/* A step window: what stood between two cuts on the main thread of one process. */
struct tc_window {
    uint64_t number;    /* counts all windows of the process */
    int64_t step;       /* counts those that held an optimizer step */
    int64_t t, begin_t; /* of the cut that closes it; of the one before */
    tc_sym stage;
    bool has_step, has_autocast;
    bool is_pause; /* as are all of its steps, see struct tc_call */
    tc_sym grads;  /* of the parameters stepped: all, some, none have a gradient */
    TC_VEC(struct tc_member_call)
    members;                             /* in order; what a step contains stands before the step */
    TC_VEC(struct tc_member_call) early; /* of windows before it, see window.h */
    size_t n_of_next;                    /* so many of the last members are the next step's */
};

/* As many of the last calls of a loop are remembered. */
#define TC_RECENT_CALLS 4

struct tc_recent_call {
    tc_sym descriptor, at;
};

struct tc_process {
    const char *file; /* name of the trace file */
    const struct tc_value *packages;
    const struct tc_value *selection; /* what was traced; NULL: everything */
    struct tc_strtab *left_out;       /* of that: APIs whose calls are none here; NULL: all stay */
    bool has_content;                 /* of tensors */
    bool has_full_content;            /* of all of them */
    bool has_operators;               /* what lines of the script compute was asked for */
    uint64_t digest; /* which algorithm its digests are of: those of two are never compared */
    struct tc_strtab *missing; /* names that the collector did not find; NULL: it found all */
    struct tc_str host;
    int64_t pid, rank, world; /* rank -1 when unknown */
    int64_t restart;          /* how often the job was restarted before; -1 when unknown */
    int64_t unix_ns;          /* wall clock of t == 0; 0 when unknown */
    int64_t parent_pid;
    int64_t first_t,
        last_t;       /* between them stand all its records so far; TC_NONE before the first */
    int64_t looked_t; /* when all variables were read last, in a process that no optimizer has
                         stepped in; TC_NONE: never */
    bool is_worker, has_ended;
    bool hides_owners;       /* a step did not tell what its optimizer owns */
    bool has_failed;         /* it ended with another exit status than 0 */
    int exit_status;         /* 0 as long as that is not known */
    bool has_samples;        /* variables were not looked at around calls */
    bool is_sampled;         /* by its first record: steps may be left out */
    bool is_skipped;         /* in steps that are left out */
    unsigned n_gaps;         /* such stretches so far */
    struct tc_map variables; /* serial → struct tc_variable * */
    struct tc_map resting;   /* the same of those that are out of use, see rest.h */
    uint64_t n_variables;    /* in both */
    struct tc_map called;    /* serial of a model → window of its last call */
    struct tc_map settings;  /* serial → struct tc_settings * */
    struct tc_map pauses;  /* optimizer → 0, or 1 + its steps in a row that had no gradient after
                               one that had */
    struct tc_map batches; /* root → struct tc_batches *, see training_look.h */
    bool has_evaluated;    /* a function of the script, which is over: stage_end.h */
    struct tc_window window; /* the open one */
    unsigned phases;
    bool has_run;                                  /* a root forward has returned, or a backward */
    struct tc_recent_call recent[TC_RECENT_CALLS]; /* what the loop called last, newest last */
    unsigned n_recent;
    const struct tc_call *own; /* the innermost open function of the script's own, or NULL */
};

enum tc_event_kind {
    TC_EVENT_CALL,    /* a call returned or raised; everything inside it is known */
    TC_EVENT_WINDOW,  /* a window closed */
    TC_EVENT_CHANGE,  /* the content of a variable of a main process is another */
    TC_EVENT_FOREIGN, /* a line of another tool, before what it means to us */
    TC_EVENT_PASS,    /* what waits for other processes has waited long enough */
    TC_EVENT_FINISH,  /* the run is over */
    /* For those who look closely alone (tc_replay_look_closely): */
    TC_EVENT_BEGIN,    /* a call was entered: its operands are known, nothing of what follows */
    TC_EVENT_VARIABLE, /* a record of a variable was applied: `record`, and `variable` if it is a
                          tensor; `call` is the cause */
    TC_N_EVENT_KINDS,
};

struct tc_event {
    enum tc_event_kind kind;
    const struct tc_process *process;   /* NULL for PASS and FINISH */
    const struct tc_call *call;         /* CALL; CHANGE: the open call in which it was, or NULL */
    const struct tc_window *window;     /* WINDOW; CHANGE: the open one */
    const struct tc_variable *variable; /* CHANGE */
    const struct tc_record *record;     /* FOREIGN, VARIABLE */
    bool is_new;                        /* VARIABLE: the first of its variable */
    uint64_t order;                     /* position among the events of its process */
    int64_t step;                       /* PASS: what waits in steps before this one */
};

/* Is it one of those that only a close look is told of? */
static inline bool tc_event_is_close(const struct tc_event *event)
{
    return event->kind >= TC_EVENT_BEGIN ||
           (event->kind == TC_EVENT_CALL && tc_role_has(event->call->role, TC_TRAIT_CLOSE));
}

/* t as ns since 1970; 0 when unknown, and also where a trace names a time beyond all clocks. */
int64_t tc_process_wall_time(const struct tc_process *process, int64_t t);

/*
 * Where in a run an event stood, to be kept after it. It depends on the trace of one process alone,
 * never on what other processes did meanwhile or on when their files were read.
 */
struct tc_place {
    const char *file; /* lives as long as the replay */
    bool is_worker;
    int64_t rank, step;
    int64_t unix_ns;          /* 0 when unknown */
    int64_t begin_ns, end_ns; /* of the call or window; of the process's own clock if that is all */
    uint64_t window, order;
    tc_sym stage, at, call; /* call is TC_SYM_EMPTY for a window */
    tc_sym in, in_at;       /* the function of the script around it, or TC_NO_SYM */
    struct tc_recent_call before[TC_RECENT_CALLS];
    unsigned n_before;
};

/* Of an event of kind CALL or WINDOW. */
void tc_place_of(const struct tc_event *event, struct tc_place *out);

/* Nanoseconds of the wall clock at t; of the process's own clock where the wall's is unknown; 0
 * where the trace names a time beyond all clocks. */
int64_t tc_process_time(const struct tc_process *process, int64_t t);

/* Line of the script from which the call was made, itself or as part of another; or empty. */
tc_sym tc_call_at(const struct tc_call *call);

/* Was it given a closure that computes the gradients? */
bool tc_call_has_closure(const struct tc_call *call);

/* Is the receiver a module in training mode? NULL has no receiver. */
bool tc_call_is_training(const struct tc_call *call);

/* The parameter group that the call hands to an optimizer, as a dictionary; NULL if none. */
const struct tc_value *tc_call_group(const struct tc_call *call);
/* The serials of the tensors in it; start with *pos = 0. TC_NONE at the end. */
int64_t tc_call_next_in_group(const struct tc_call *call, uint32_t *pos);

/* The tensors among the arguments; start with *pos = 0. NULL at the end. */
const struct tc_value *tc_call_next_tensor(const struct tc_call *call, uint32_t *pos);

/* Is it a tensor, or an operand, that requires a gradient? NULL requires none. */
bool tc_requires_gradient(const struct tc_value *operand);

/* Of a tensor of that shape, no more than can be counted; 0 where there is no shape. */
uint32_t tc_count_elements(const struct tc_value *shape);

/* Has the call, or one that it is a part of, that role? NULL has none. */
bool tc_call_is_within(const struct tc_call *call, enum tc_role role);

/* Its first and its last record so far, by the wall clock. */
int64_t tc_process_began(const struct tc_process *process);
int64_t tc_process_lived_until(const struct tc_process *process);

const struct tc_variable *tc_process_variable(const struct tc_process *process, int64_t serial);

#endif /* TC_REPLAY_EVENT_H */
