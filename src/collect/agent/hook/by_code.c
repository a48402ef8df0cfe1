/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_code.c - functions that the script makes while it trains, known by their code
 *
 * A `def` in a loop makes a function in each turn, and all have one code. The hook is kept for that
 * code, and nothing for a function, which may be one of millions. From Python 3.12 on a watcher
 * sees a function when it is made, and leads its slot here. Before that the interpreter lets its
 * frames be evaluated by a function of ours, which sees each call of a Python function; the
 * arguments stand in the frame. That is also what keeps Python 3.11 from inlining calls past all
 * other slots. A default may be another one in each turn, so defaults are told as if they had been
 * given. With the interpreter's lock.
 */
#include "collect/agent/hook/by_code.h"

#include <frameobject.h>

#include "base/map.h"
#include "collect/agent/hook/deep.h"
#include "collect/agent/hook/own_names.h"

#define HAS_WATCHERS (PY_VERSION_HEX >= 0x030C0000)

/* What is known of a code; it is kept, so that its address stays its own. */
struct made {
    struct tc_redirection *redirection; /* NULL: its functions are not traced */
    bool is_awaited;                    /* the policy is to be asked for it */
    PyObject *names;                    /* of its variables, the arguments first */
};

static struct tc_map by_code;
static uint64_t filter; /* by address: almost all other code has none of these bits */

static struct made *find(const PyCodeObject *code)
{
    const uint64_t address = (uintptr_t)code;

    return filter >> (address / 32 % 64) & 1 ? tc_map_find(&by_code, address) : NULL;
}

/* Are the functions of the code traced, now that one of them is called? */
static bool is_traced(struct made *made)
{
    if (made->is_awaited && tc_own_names_look_now())
        made->is_awaited = false;
    return made->redirection != NULL;
}

/* ---- the arguments of a call, with what defaults give ---- */

struct given {
    TC_VEC(PyObject *) items; /* references: the function may let go of its arguments */
    size_t n;                 /* by position */
    PyObject *names;          /* a list, or NULL */
};

static void add(struct given *given, PyObject *value)
{
    tc_vec_push(&given->items, Py_NewRef(value));
}

static void add_named(struct given *given, PyObject *name, PyObject *value)
{
    if (!given->names)
        given->names = PyList_New(0);
    if (given->names && PyList_Append(given->names, name) == 0)
        add(given, value);
    else
        PyErr_Clear(); /* memory: it is not told */
}

static PyObject *lead(const struct made *made, PyObject *callable, struct given *given)
{
    PyObject *names = given->names ? PyList_AsTuple(given->names) : NULL;
    PyObject *result =
        tc_slot_lead(made->redirection, callable, given->items.items, given->n, names);

    for (size_t i = 0; i < given->items.n; i++)
        Py_DECREF(given->items.items[i]);
    tc_vec_release(&given->items);
    Py_XDECREF(given->names);
    Py_XDECREF(names);
    return result;
}

#if HAS_WATCHERS

static vectorcallfunc plain; /* what all functions have in their slot when they are made */

static bool is_given(PyObject *const *names, Py_ssize_t n, PyObject *name)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (names[i] == name || PyUnicode_Compare(names[i], name) == 0)
            return true;
    return false;
}

struct call {
    const PyFunctionObject *function;
    PyObject *const *args;
    Py_ssize_t n; /* by position */
    PyObject *names;
};

static bool is_named(const struct call *call, PyObject *name)
{
    return call->names &&
           is_given(&PyTuple_GET_ITEM(call->names, 0), PyTuple_GET_SIZE(call->names), name);
}

static PyObject *default_of(const struct call *call, const PyCodeObject *code, Py_ssize_t i)
{
    PyObject *defaults = call->function->func_defaults;
    const Py_ssize_t at = defaults ? i - (code->co_argcount - PyTuple_GET_SIZE(defaults)) : -1;

    return at < 0 ? NULL : PyTuple_GET_ITEM(defaults, at);
}

/* By position as far as nothing between is given by name: a parameter may have no name to a caller.
 */
static Py_ssize_t add_positions(struct given *given, const struct call *call,
                                const struct made *made, const PyCodeObject *code)
{
    Py_ssize_t i = call->n;
    PyObject *value;

    for (Py_ssize_t at = 0; at < call->n; at++)
        add(given, call->args[at]);
    for (; i < code->co_argcount && !is_named(call, PyTuple_GET_ITEM(made->names, i)); i++) {
        value = default_of(call, code, i);
        if (!value)
            break;
        add(given, value);
    }
    given->n = given->items.n;
    return i;
}

static void gather(struct given *given, const struct call *call, const struct made *made)
{
    const PyCodeObject *code = (PyCodeObject *)call->function->func_code;
    Py_ssize_t i = add_positions(given, call, made, code), pos = 0;
    PyObject *name, *value;

    for (Py_ssize_t at = 0; call->names && at < PyTuple_GET_SIZE(call->names); at++)
        add_named(given, PyTuple_GET_ITEM(call->names, at), call->args[call->n + at]);
    for (; i < code->co_argcount; i++) {
        name = PyTuple_GET_ITEM(made->names, i);
        value = is_named(call, name) ? NULL : default_of(call, code, i);
        if (value)
            add_named(given, name, value);
    }
    while (call->function->func_kwdefaults &&
           PyDict_Next(call->function->func_kwdefaults, &pos, &name, &value))
        if (!is_named(call, name))
            add_named(given, name, value);
}

static PyObject *enter_by_slot(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    PyFunctionObject *function = (PyFunctionObject *)callable;
    struct made *made = find((PyCodeObject *)function->func_code);
    const struct call call = {function, args, PyVectorcall_NARGS(nargsf), names};
    struct given given = {0};

    if (!made || !is_traced(made))
        return plain(callable, args, nargsf, names);
    if (!function->func_defaults && !function->func_kwdefaults)
        return tc_slot_lead(made->redirection, callable, args, nargsf, names);
    gather(&given, &call, made);
    return lead(made, callable, &given);
}

static void lead_here(PyFunctionObject *function)
{
    if (function->vectorcall != enter_by_slot)
        plain = function->vectorcall;
    PyFunction_SetVectorcall(function, enter_by_slot);
}

static int meet(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *new_value)
{
    const struct made *made =
        event == PyFunction_EVENT_CREATE ? find((PyCodeObject *)function->func_code) : NULL;

    (void)new_value;
    if (made && (made->redirection || made->is_awaited))
        lead_here(function);
    return 0;
}

static bool watch_functions(void)
{
    static bool is_watched;

    if (!is_watched && PyFunction_AddWatcher(meet) < 0) { /* there are eight of them */
        tc_agent_failed(NULL, "functions that are made again");
        return false;
    }
    is_watched = true;
    return true;
}

/* Lines that have called a function of this code are specialised for its version, which a function
 * has from its code. */
static bool prepare(PyCodeObject *code)
{
    code->co_version = 0;
    return watch_functions();
}

static vectorcallfunc redirected_slot(PyObject *function)
{
    lead_here((PyFunctionObject *)function);
    return plain;
}

static bool leads_here(PyObject *function)
{
    return ((PyFunctionObject *)function)->vectorcall == enter_by_slot;
}

bool tc_by_code_init(void)
{
    return true;
}

#else

#    if PY_VERSION_HEX < 0x030B0000
typedef PyFrameObject frame_type;

/* A generator's frame is evaluated each time that it goes on. */
static bool is_called(const frame_type *frame)
{
    return !frame->f_gen && frame->f_lasti < 0;
}

/* One that inner functions use has been moved to a cell already. */
static PyObject *argument_of(const frame_type *frame, int i)
{
    const PyCodeObject *code = frame->f_code;

    for (Py_ssize_t cell = 0; code->co_cell2arg && cell < PyTuple_GET_SIZE(code->co_cellvars);
         cell++)
        if (code->co_cell2arg[cell] == i)
            return PyCell_GET(frame->f_localsplus[code->co_nlocals + cell]);
    return frame->f_localsplus[i];
}

#    else

/* As Python 3.11 has it in internal/pycore_frame.h. */
struct _PyInterpreterFrame {
    PyFunctionObject *f_func;
    PyObject *f_globals, *f_builtins, *f_locals;
    PyCodeObject *f_code;
    PyFrameObject *frame_obj;
    struct _PyInterpreterFrame *previous;
    _Py_CODEUNIT *prev_instr;
    int stacktop;
    bool is_entry;
    char owner; /* 0: the thread; a generator's frame is its own */
    PyObject *localsplus[1];
};
typedef struct _PyInterpreterFrame frame_type;

static bool is_called(const frame_type *frame)
{
    return frame->owner == 0;
}

static PyObject *argument_of(const frame_type *frame, int i)
{
    return frame->localsplus[i];
}
#    endif

static void gather(struct given *given, const frame_type *frame, const struct made *made)
{
    const PyCodeObject *code = frame->f_code;
    const int n_named = code->co_argcount + code->co_kwonlyargcount;
    const bool has_rest = code->co_flags & CO_VARARGS,
               has_options = code->co_flags & CO_VARKEYWORDS;
    PyObject *rest = has_rest ? argument_of(frame, n_named) : NULL, *name, *value;
    PyObject *options = has_options ? argument_of(frame, n_named + has_rest) : NULL;
    Py_ssize_t pos = 0;

    for (int i = 0; i < code->co_argcount; i++)
        add(given, argument_of(frame, i));
    for (Py_ssize_t i = 0; rest && i < PyTuple_GET_SIZE(rest); i++)
        add(given, PyTuple_GET_ITEM(rest, i));
    given->n = given->items.n;
    for (int i = code->co_argcount; i < n_named; i++)
        add_named(given, PyTuple_GET_ITEM(made->names, i), argument_of(frame, i));
    while (options && PyDict_Next(options, &pos, &name, &value))
        add_named(given, name, value);
}

typedef PyObject *evaluate_fn(PyThreadState *state, frame_type *frame, int raised);

static evaluate_fn *evaluate_next = _PyEval_EvalFrameDefault;

struct open {
    PyThreadState *state;
    frame_type *frame;
};

/* What a redirection calls in place of the function, whose frame is there already. */
static PyObject *go_on(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const struct open *open = (const void *)callable;

    (void)args;
    (void)nargsf;
    (void)names;
    return evaluate_next(open->state, open->frame, 0);
}

static PyObject *call(const struct made *made, PyThreadState *state, frame_type *frame)
{
    struct open open = {state, frame};
    struct given given = {0};

    gather(&given, frame, made);
    return lead(made, (PyObject *)&open, &given);
}

#    if PY_VERSION_HEX >= 0x030B0000
static PyObject *evaluate(PyThreadState *state, frame_type *frame, int raised);

/*
 * Inlined calls need no stack of C, all others do: where a deep recursion has used up most of the
 * stack, what is below is inlined again, and not traced.
 */
static PyObject *evaluate_inlining(PyThreadState *state, frame_type *frame, int raised)
{
    PyObject *result;

    _PyInterpreterState_SetEvalFrameFunc(state->interp, _PyEval_EvalFrameDefault);
    result = _PyEval_EvalFrameDefault(state, frame, raised);
    if (_PyInterpreterState_GetEvalFrameFunc(state->interp) == _PyEval_EvalFrameDefault)
        _PyInterpreterState_SetEvalFrameFunc(state->interp, evaluate);
    tc_deep_tell();
    return result;
}

static bool is_frame_too_deep(const PyThreadState *state)
{
    return state->recursion_limit - state->recursion_remaining > TC_DEEP &&
           tc_deep_is_stack_low() &&
           _PyInterpreterState_GetEvalFrameFunc(state->interp) == evaluate;
}
#    endif

static PyObject *evaluate(PyThreadState *state, frame_type *frame, int raised)
{
    struct made *made;

#    if PY_VERSION_HEX >= 0x030B0000
    if (is_frame_too_deep(state))
        return evaluate_inlining(state, frame, raised);
#    endif
    made = find(frame->f_code);
    if (made && !raised && is_called(frame) && is_traced(made))
        return call(made, state, frame);
    return evaluate_next(state, frame, raised);
}

/* Compilers of frames may have put theirs there, which goes on after ours. */
static void evaluate_here(void)
{
    PyInterpreterState *state = PyInterpreterState_Get();
    evaluate_fn *present = _PyInterpreterState_GetEvalFrameFunc(state);

    if (present == evaluate)
        return;
    evaluate_next = present;
    _PyInterpreterState_SetEvalFrameFunc(state, evaluate);
}

static bool prepare(const PyCodeObject *code)
{
    static bool is_there;

    if (PY_VERSION_HEX < 0x030B0000 &&
        code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
        return false;
    if (PY_VERSION_HEX < 0x030B0000 && !is_there)
        evaluate_here();
    is_there = true;
    return true;
}

static vectorcallfunc redirected_slot(PyObject *function)
{
    (void)function;
    return go_on;
}

static bool leads_here(PyObject *function)
{
    (void)function;
    return true;
}

bool tc_by_code_init(void)
{
    if (PY_VERSION_HEX >= 0x030B0000)
        evaluate_here();
    return true;
}
#endif

void tc_by_code_expect(PyObject *code)
{
    const uint64_t address = (uintptr_t)code;
    PyObject *names = find((PyCodeObject *)code) ? NULL : tc_optional(code, "co_varnames");
    struct made *made;

    if (!names || !prepare((PyCodeObject *)code)) {
        Py_XDECREF(names);
        return;
    }
    Py_INCREF(code);
    made = tc_map_struct(&by_code, address, sizeof(*made));
    *made = (struct made){.is_awaited = true, .names = names};
    filter |= (uint64_t)1 << (address / 32 % 64);
}

static struct made *made_of(PyObject *callable)
{
    return PyFunction_Check(callable) ? find((PyCodeObject *)PyFunction_GET_CODE(callable)) : NULL;
}

bool tc_by_code_is_expected(PyObject *callable)
{
    return made_of(callable) != NULL;
}

void tc_by_code_redirect(PyObject *function, const struct tc_hook *hook)
{
    struct made *made = made_of(function);

    made->is_awaited = false;
    made->redirection = tc_redirection_new(redirected_slot(function), hook);
}

bool tc_by_code_is_redirected(PyObject *function)
{
    const struct made *made = made_of(function);

    return made && made->redirection && leads_here(function);
}
