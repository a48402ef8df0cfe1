/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - what the parts of the agent share
 *
 * The agent is an extension module that lives once in the user's interpreter.
 * All its state is guarded by the interpreter's lock; only the sink has a lock
 * of its own. What its thread tells the board of is atomic. Policy - what is traced and what it is
 * called - is Python (python/traincheck_agent); what runs at every traced call is C.
 *
 * The parts lie in four rooms, whose main headers say what they are for: torch/torch.h,
 * look/look.h, say/line.h, hook/slots.h. Each may use those before it in this row; tests/law/law.py
 * holds them to it. What stands beside them, as this header, uses none.
 */
#ifndef TC_COLLECT_AGENT_H
#define TC_COLLECT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "collect/agent/cpython.h"
#include "trace/role.h"

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

/* What a weak reference, or NULL, refers to: borrowed; NULL if it died. */
static inline PyObject *tc_ref_get(PyObject *ref)
{
    PyObject *object = ref ? ((PyWeakReference *)ref)->wr_object : NULL;

    return object == Py_None ? NULL : object;
}

/* The same as PyErr_Clear(), in a tenth of the instructions where there is no error. */
static inline void tc_error_clear(void)
{
    if (PyErr_Occurred())
        PyErr_Clear();
}

/* An attribute that a release may lack: a new reference, or NULL without an error. NULL has none.
 */
static inline PyObject *tc_optional(PyObject *from, const char *name)
{
    PyObject *found = from ? PyObject_GetAttrString(from, name) : NULL;

    PyErr_Clear();
    return found;
}

enum tc_stage {
    TC_STAGE_INIT,
    TC_STAGE_TRAINING,
    TC_STAGE_EVALUATION,
    TC_STAGE_CHECKPOINTING
};

/* How the calls of an API are treated; set by the policy's table. */
#define TC_API_METHOD     0x01u   /* the first argument is the receiver */
#define TC_API_OUTERMOST  0x02u   /* recursion of the API (or of its group) is no event */
#define TC_API_RECEIVER   0x04u   /* recursion on the same receiver is no event */
#define TC_API_TOP        0x08u   /* an event only where no traced call encloses it */
#define TC_API_LOOK       0x10u   /* variables are looked at before and after */
#define TC_API_CHECKPOINT 0x20u   /* its inside is the stage checkpointing */
#define TC_API_MUTE       0x40u   /* nothing is traced inside; no event itself */
#define TC_API_MODULE     0x80u   /* Module.__call__: named by the class of the receiver */
#define TC_API_CONTENT    0x100u  /* digests of tensor arguments are recorded */
#define TC_API_ASK        0x200u  /* `same` and `finite` are asked of what it returns */
#define TC_API_UNWRITTEN  0x400u  /* what it returns is memory that is still to be written */
#define TC_API_OWN        0x800u  /* an event only where a line of the user's own calls it */
#define TC_API_PARTIAL    0x1000u /* of an operand that it returns it may have written a part */
#define TC_API_SECRET     0x2000u /* of a text that it returns or raises the length alone is told */
#define TC_API_NOISE      0x4000u /* what it returns was drawn: its digest is recorded */

struct tc_api {
    char *fn;    /* as JSON string */
    size_t n_fn; /* bytes of it */
    char *head;  /* how its `call` records begin (say/call_record.c), or NULL */
    size_t n_head;
    char *defaults; /* as JSON object, or NULL */
    enum tc_role role;
    unsigned flags;
    int group;          /* APIs that recurse into each other; 0: none */
    unsigned announced; /* the trace file (by generation) that has its `api` record */
    bool off;           /* switched off after an error of ours */
    bool in_skipped;    /* also met in steps that sampling leaves out */
    bool is_running;    /* of role OWN: a call of it is open, whose recursion is no event */
    int64_t told_step;  /* and how often it was told of in which step */
    unsigned n_told;
};

/* --content */
enum tc_content {
    TC_CONTENT_OFF,
    TC_CONTENT_BATCHES,
    TC_CONTENT_FULL,
};

struct tc_holes;

struct tc_open_call {
    int64_t id;
    bool is_recorded;
    const struct tc_api *api;
    PyObject *receiver; /* borrowed: the caller keeps it while the call is open */
};

struct tc_thread {
    int guard;           /* above 0: our own work */
    int muted;           /* above 0: a region that is not traced */
    bool is_capturing;   /* nor is this: what it calls is not done, but kept to be done later */
    int64_t number;      /* 0 is the main thread */
    unsigned generation; /* the process (forks count up) that the stack belongs to */
    TC_VEC(struct tc_open_call) stack;
    int n_modules; /* open forwards of modules that own a parameter */
    int n_core; /* open calls that are neither library nor method: what a window is not cut inside
                   of */
    enum tc_stage stage;
    struct tc_strbuf line;
    struct tc_holes *holes; /* of that line (line.h), or NULL */
    /* As the thread ends, between two lines, perhaps without the interpreter's lock. */
    void (*free_holes)(struct tc_holes *holes);
    size_t step_at; /* offset of the step number in line */
};

/* The one instance. */
struct tc_agent {
    bool enabled;
    bool opening;     /* a thread is opening the trace file */
    bool worker;      /* a DataLoader worker: no variables, no windows */
    bool track;       /* tensors are looked at as variables */
    bool is_narrowed; /* those of some models alone */
    bool settings;    /* and the settings of optimizers and scalers */
    enum tc_content content;
    bool stats;          /* ranges and means of tensors are recorded */
    int stack_depth;     /* frames of the user's that are recorded of a call; 0: the nearest line */
    bool is_skipped;     /* in a step that sampling leaves out (steps.h) */
    unsigned generation; /* counts forks */
    _Atomic int64_t next_call;
    uint64_t moment; /* counts begins and ends of calls: the user's code runs between two */
    int64_t anchor_ns;
    _Atomic int64_t step; /* that records made now are of (steps.h) */
    _Atomic uint64_t errors;
    char failure[128];    /* why no file can be written, or empty */
    PyObject *policy;     /* module traincheck_agent.policy */
    PyObject *dynamo;     /* sets dynamo's callback for frames, NULL before dynamo is imported */
    PyObject *package;    /* "traincheck_agent" */
    PyObject *annotation; /* what the script said of itself, a JSON object as str, or NULL */
};

extern struct tc_agent tc_agent;

/* Once, before all else. */
bool tc_agent_init(void);
struct tc_thread *tc_thread_current(void);
int64_t tc_agent_now(void);

/* ---- what any room may say of the agent itself: say/notes.c ---- */

/* Make sure that a trace file is open. False where none can be. */
bool tc_agent_ready(void);
/*
 * An error of ours: the Python exception (if any) is cleared, counted and noted once, the API (may
 * be NULL) is switched off.
 */
void tc_agent_failed(struct tc_api *api, const char *what);
/* Count an error of ours, and note it. */
void tc_agent_switched_off(const char *text);
void tc_agent_note(const char *code, const char *text, int64_t count);

/* ---- the policy ---- */

/*
 * Call a function of the policy, as PyObject_CallMethod. Tracers and profilers of the user's, and
 * dynamo while it compiles, look at every frame that runs; the policy's are hidden from them.
 */
PyObject *tc_policy_call(const char *function, const char *format, ...);
/* The same for parts of it: what hide returned is given to unhide. The Python error is kept. */
PyObject *tc_frames_hide(void);
void tc_frames_unhide(PyObject *hidden);

const char *tc_stage_name(enum tc_stage stage);

#endif /* TC_COLLECT_AGENT_H */
