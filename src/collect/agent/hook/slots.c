/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.c - the vectorcall slot of a callable, and what a call through it costs and does
 *
 * Each redirected callable has a record with its own function and the hook, found by its address.
 * A call that is not traced (traced_call.c) passes straight through. The ways by which Python calls
 * past a slot are closed here one by one: specialised bytecode, tuples; by_code.c closes inlining.
 * Where a deep recursion has nearly used up the stack calls are inlined again and not traced. With
 * the interpreter's lock.
 */
#include "collect/agent/hook/slots.h"

#include "base/map.h"
#include "collect/agent/hook/calls.h"
#include "collect/agent/hook/deep.h"
#include "collect/agent/hook/own_names.h"
#include "collect/agent/hook/own_time.h"
#include "collect/agent/hook/thunks.h"
#include "collect/agent/hook/traced_call.h"
#include "collect/agent/say/frames.h"
#include "collect/agent/torch/identity.h"

struct tc_redirection {
    vectorcallfunc original; /* NULL: the callable is called by tp_call */
    struct tc_hook hook;
    PyMethodDef def; /* stands in for the builtin's own */
    PyObject *seen;  /* set of types, for once_per_type */
    PyObject *keep;  /* builtins are kept alive, as def must outlive them */
    bool has_thunk;  /* calls past the slot come back to it */
};

static struct tc_map by_callable;

/* Those that were asked for last: few callables make up most calls. */
#define N_LAST 64
static struct near {
    const PyObject *callable;
    struct tc_redirection *redirection;
} last[N_LAST];

static struct near *near_of(const PyObject *callable)
{
    return &last[(uintptr_t)callable / 16 % N_LAST];
}

static struct tc_redirection *find_redirection(PyObject *callable)
{
    struct near *near = near_of(callable);

    if (near->callable != callable)
        *near = (struct near){callable, tc_map_find(&by_callable, (uint64_t)(uintptr_t)callable)};
    return near->redirection;
}

static vectorcallfunc *slot_of(PyObject *callable)
{
    PyTypeObject *type = Py_TYPE(callable);

    if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0)
        return NULL;
    return (vectorcallfunc *)(void *)((char *)callable + type->tp_vectorcall_offset);
}

static PyObject *keywords(PyObject *const *values, PyObject *names)
{
    PyObject *dict = PyDict_New();

    for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, i), values[i]) < 0)
            Py_CLEAR(dict);
    return dict;
}

static PyObject *arguments(PyObject *const *args, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++)
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, Py_NewRef(args[i]));
    return tuple;
}

/* A builtin that takes a tuple and a dict has no vectorcall of its own. */
static PyObject *call_by_tuple(PyObject *callable, PyObject *const *args, size_t n, PyObject *names)
{
    PyObject *tuple = arguments(args, n);
    PyObject *dict = tuple && names ? keywords(args + n, names) : NULL;
    PyObject *result = NULL;

    if (tuple && (dict || !names))
        result = Py_TYPE(callable)->tp_call(callable, tuple, dict);
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    return result;
}

/* A class method of a C type: it has no slot; what is called is a builtin bound to the class. */
static PyObject *call_bound(const struct tc_redirection *r, PyObject *const *args, size_t n,
                            PyObject *names)
{
    PyObject *bound = PyCFunction_New((PyMethodDef *)&r->def, args[0]);
    PyObject *result = bound ? PyObject_Vectorcall(bound, args + 1, n - 1, names) : NULL;

    Py_XDECREF(bound);
    return result;
}

static PyObject *call_past_thunk(const struct tc_redirection *r, PyObject *callable,
                                 PyObject *const *args, size_t nargsf, PyObject *names)
{
    const void *before = tc_thunk_pass(r);
    PyObject *result;

    if (r->original)
        result = r->original(callable, args, nargsf, names);
    else
        result = call_bound(r, args, (size_t)PyVectorcall_NARGS(nargsf), names);
    tc_thunk_pass(before); /* arguments that do not fit never get there */
    return result;
}

/* ---- deep recursion: from 3.12 on, calls of Python functions need no stack of C ---- */

#if PY_VERSION_HEX >= 0x030C0000
/* 3.12 and 3.13 count calls of C, too: 1,500 or 10,000 may be open, and each of ours is two. */
static bool is_nearly_counted_out(const PyThreadState *state)
{
#    if PY_VERSION_HEX < 0x030E0000
    return state->c_recursion_remaining < 500;
#    else
    (void)state;
    return false;
#    endif
}

static bool is_deep(const PyThreadState *state)
{
    return state->py_recursion_limit - state->py_recursion_remaining > TC_DEEP;
}

/* Is too little left for a call that is not inlined? */
static bool is_at_bottom(PyObject *callable)
{
    const PyThreadState *state = PyThreadState_Get();

    return PyFunction_Check(callable) &&
           (is_nearly_counted_out(state) || (is_deep(state) && tc_deep_is_stack_low()));
}

/* Where the function calls itself, those calls are inlined, and not traced. */
static PyObject *call_inlining(const struct tc_redirection *r, PyObject *callable,
                               PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyFunctionObject *function = (PyFunctionObject *)callable;
    const vectorcallfunc entrance = function->vectorcall;
    PyObject *result;

    PyFunction_SetVectorcall(function, r->original);
    result = r->original(callable, args, nargsf, names);
    PyFunction_SetVectorcall(function, entrance);
    tc_deep_tell();
    return result;
}
#endif

/* Cython's functions look at their slot when they are called by a tuple, too. */
static PyObject *call_slotless(PyObject *callable, PyObject *const *args, size_t n, PyObject *names)
{
    vectorcallfunc *slot = PyCFunction_Check(callable) ? NULL : slot_of(callable);
    const vectorcallfunc entrance = slot ? *slot : NULL;
    PyObject *result;

    if (slot)
        *slot = NULL;
    result = call_by_tuple(callable, args, n, names);
    if (slot)
        *slot = entrance;
    return result;
}

static PyObject *call_original(const struct tc_redirection *r, PyObject *callable,
                               PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (r->has_thunk)
        return call_past_thunk(r, callable, args, nargsf, names);
#if PY_VERSION_HEX >= 0x030C0000
    if (callable && is_at_bottom(callable))
        return call_inlining(r, callable, args, nargsf, names);
#endif
    if (r->original)
        return r->original(callable, args, nargsf, names);
    return call_slotless(callable, args, (size_t)PyVectorcall_NARGS(nargsf), names);
}

/* ---- control hooks: rare events that the policy wants to hear of ---- */

static bool is_first_of_type(struct tc_redirection *r, PyObject *const *args, size_t n)
{
    PyObject *ref;
    int seen;

    if (!r->hook.once_per_type)
        return true;
    if (!n || (!r->seen && !(r->seen = PySet_New(NULL))))
        return false;
    ref = PyWeakref_NewRef((PyObject *)Py_TYPE(args[0]), NULL); /* one object per type */
    seen = ref ? PySet_Contains(r->seen, ref) : 1;
    if (seen == 0)
        PySet_Add(r->seen, ref);
    Py_XDECREF(ref);
    return seen == 0;
}

static void tell_listener(PyObject *listener, PyObject *const *args, size_t n, PyObject *result)
{
    PyObject *type, *value, *traceback, *tuple, *said, *hidden;

    PyErr_Fetch(&type, &value, &traceback);
    hidden = tc_frames_hide();
    tuple = arguments(args, n);
    said = tuple ? PyObject_CallFunctionObjArgs(listener, tuple, result, NULL) : NULL;
    Py_XDECREF(tuple);
    Py_XDECREF(said);
    if (!said)
        tc_agent_failed(NULL, "hook");
    tc_frames_unhide(hidden);
    PyErr_Restore(type, value, traceback);
}

static PyObject *call_control(struct tc_redirection *r, struct tc_thread *thread,
                              PyObject *callable, PyObject *const *args, size_t nargsf,
                              PyObject *names)
{
    size_t n = (size_t)PyVectorcall_NARGS(nargsf);
    bool wanted;
    PyObject *result;

    thread->guard++;
    wanted = is_first_of_type(r, args, n);
    if (wanted && r->hook.before)
        tell_listener(r->hook.before, args, n, NULL);
    thread->guard--;
    thread->muted += r->hook.mute;
    result = call_original(r, callable, args, nargsf, names);
    thread->muted -= r->hook.mute;
    thread->guard++;
    if (wanted && r->hook.after && result)
        tell_listener(r->hook.after, args, n, result);
    thread->guard--;
    return result;
}

/* ---- the slot ---- */

/* begin: of our own time, which ends where the callable is called. */
static PyObject *call_traced(struct tc_redirection *r, struct tc_thread *thread, uint64_t begin,
                             PyObject *callable, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    struct tc_arguments a = {args, (size_t)PyVectorcall_NARGS(nargsf), names};
    struct tc_span span;
    PyObject *result;

    thread->guard++;
    tc_call_begin(thread, r->hook.api, r->hook.sig, &a, &span);
    thread->guard--;
    tc_own_time_end(begin);
    result = r->hook.after || r->hook.before
                 ? call_control(r, thread, callable, args, nargsf, names)
                 : call_original(r, callable, args, nargsf, names);
    begin = tc_own_time_begin();
    thread->guard++;
    tc_call_end(thread, &span, result);
    thread->guard--;
    tc_own_time_end(begin);
    return result;
}

static bool is_event(const struct tc_redirection *r, struct tc_thread *thread)
{
    return r->hook.api && tc_call_is_traced(thread, r->hook.api);
}

PyObject *tc_slot_lead(struct tc_redirection *r, PyObject *callable, PyObject *const *args,
                       size_t nargsf, PyObject *names)
{
    struct tc_thread *thread = tc_agent.enabled ? tc_thread_current() : NULL;
    uint64_t begin;

    if (!thread || thread->guard)
        return call_original(r, callable, args, nargsf, names);
    begin = tc_own_time_begin();
    if (is_event(r, thread)) {
        tc_own_names_look(thread);
        return call_traced(r, thread, begin, callable, args, nargsf, names);
    }
    if (r->hook.api)
        tc_frames_forget_place();
    tc_own_time_end(begin);
    return call_control(r, thread, callable, args, nargsf, names);
}

static PyObject *redirected(PyObject *callable, PyObject *const *args, size_t nargsf,
                            PyObject *names)
{
    struct tc_redirection *r = find_redirection(callable);

    if (!r) { /* cannot be: only redirected callables lead here */
        PyErr_SetString(PyExc_SystemError, "traincheck: lost redirection");
        return NULL;
    }
    return tc_slot_lead(r, callable, args, nargsf, names);
}

/* The same for calls that a step which sampling leaves out has no use for at all. */
static PyObject *redirected_in_sampled(PyObject *callable, PyObject *const *args, size_t nargsf,
                                       PyObject *names)
{
    const struct tc_redirection *r = tc_agent.is_skipped ? find_redirection(callable) : NULL;

    return r ? call_original(r, callable, args, nargsf, names)
             : redirected(callable, args, nargsf, names);
}

static vectorcallfunc entrance_of(const struct tc_hook *hook)
{
    bool is_told = hook->before || hook->after || hook->mute;

    return is_told || !hook->api || hook->api->in_skipped ? redirected : redirected_in_sampled;
}

static PyObject *enter_from_thunk(void *context, PyObject *const *args, size_t n, PyObject *names)
{
    struct tc_redirection *r = context;

    if (tc_agent.is_skipped && entrance_of(&r->hook) == redirected_in_sampled)
        return call_original(r, r->keep, args, n, names);
    return tc_slot_lead(r, r->keep, args, n, names);
}

/*
 * Specialised bytecode calls builtins past the slot when their flags are exactly those of one
 * calling convention. METH_COEXIST changes nothing for a callable that exists, and no convention
 * has it.
 */
static void stop_specialisation(struct tc_redirection *r, PyObject *callable)
{
    PyMethodDef **def = NULL;

    if (PyCFunction_CheckExact(callable))
        def = &((PyCFunctionObject *)callable)->m_ml;
    else if (Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
             Py_IS_TYPE(callable, &PyClassMethodDescr_Type))
        def = &((PyMethodDescrObject *)callable)->d_method;
    if (!def)
        return;
    r->def = **def;
    r->def.ml_flags |= METH_COEXIST;
    if (!PyCFunction_CheckExact(callable))
        r->has_thunk = tc_thunk_install(&r->def, enter_from_thunk, r);
    *def = &r->def;
}

bool tc_slot_is_redirected(PyObject *callable)
{
    vectorcallfunc *slot = slot_of(callable);

    return slot ? *slot == redirected || *slot == redirected_in_sampled
                : find_redirection(callable) != NULL;
}

static void replace_hook(struct tc_redirection *r, const struct tc_hook *hook)
{
    Py_XDECREF(r->hook.before);
    Py_XDECREF(r->hook.after);
    r->hook = *hook;
}

/* Specialised call sites let go of a function. */
static void set_slot(PyObject *callable, vectorcallfunc *slot, vectorcallfunc entrance)
{
    if (!PyFunction_Check(callable)) {
        *slot = entrance;
        return;
    }
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall((PyFunctionObject *)callable, entrance);
#else
#    if PY_VERSION_HEX >= 0x030B0000
    ((PyFunctionObject *)callable)->func_version = 0;
#    endif
    *slot = entrance;
#endif
}

bool tc_slot_is_there(PyObject *callable)
{
    return slot_of(callable) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type);
}

struct tc_redirection *tc_redirection_new(vectorcallfunc original, const struct tc_hook *hook)
{
    struct tc_redirection *r = tc_calloc(1, sizeof(*r));

    r->original = original;
    r->hook = *hook;
    return r;
}

void tc_slot_redirect(PyObject *callable, const struct tc_hook *hook)
{
    vectorcallfunc *slot = slot_of(callable);
    struct tc_redirection *r;

    if (tc_slot_is_redirected(callable)) {
        replace_hook(find_redirection(callable), hook);
        if (slot)
            *slot = entrance_of(hook);
        return;
    }
    r = tc_redirection_new(slot ? *slot : NULL, hook);
    if (!PyFunction_Check(callable)) {
        stop_specialisation(r, callable);
        r->keep = Py_NewRef(callable);
    }
    tc_map_put(&by_callable, (uint64_t)(uintptr_t)callable, (uint64_t)(uintptr_t)r);
    *near_of(callable) = (struct near){callable, r};
    if (slot)
        set_slot(callable, slot, entrance_of(hook));
}

/* ---- constructors ---- */

#if PY_VERSION_HEX >= 0x030D0000
/* The same in other words. */
static PyObject *allocate(PyTypeObject *type, Py_ssize_t n)
{
    return PyType_GenericAlloc(type, n);
}
#endif

void tc_slot_keep_constructor(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030D0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_alloc != PyType_GenericAlloc)
        return;
    type->tp_alloc = allocate;
    PyType_Modified(type); /* for lines that have called it already */
#else
    (void)type;
#endif
}

/* ---- x[i] and x[i] = y, which a C type answers by slots of its own and no function ---- */

static binaryfunc get_item;
static objobjargproc set_item;
static struct tc_redirection get_item_redirection, set_item_redirection;

static PyObject *call_get_item(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    (void)callable;
    (void)nargsf;
    (void)names;
    return get_item(args[0], args[1]);
}

static PyObject *redirected_get_item(PyObject *tensor, PyObject *index)
{
    PyObject *const args[2] = {tensor, index};

    return tc_slot_lead(&get_item_redirection, NULL, args, 2, NULL);
}

static PyObject *call_set_item(PyObject *callable, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    (void)callable;
    (void)nargsf;
    (void)names;
    return set_item(args[0], args[1], args[2]) ? NULL : Py_NewRef(Py_None);
}

static int redirected_set_item(PyObject *tensor, PyObject *index, PyObject *value)
{
    PyObject *const args[3] = {tensor, index, value};
    PyObject *result;

    if (!value) /* del x[i] */
        return set_item(tensor, index, value);
    result = tc_slot_lead(&set_item_redirection, NULL, args, 3, NULL);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static bool has_item_slots(PyTypeObject *type)
{
    const PyMappingMethods *methods = type->tp_as_mapping;

    return methods && methods->mp_subscript && methods->mp_ass_subscript &&
           PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

bool tc_slot_redirect_item(PyTypeObject *type, const struct tc_hook *hook)
{
    PyMappingMethods *methods = type->tp_as_mapping;

    if (!has_item_slots(type) || (get_item && methods->mp_subscript != get_item))
        return false;
    get_item = methods->mp_subscript;
    get_item_redirection.original = call_get_item;
    get_item_redirection.hook = *hook;
    methods->mp_subscript = redirected_get_item;
    return true;
}

bool tc_slot_redirect_set_item(PyTypeObject *type, const struct tc_hook *hook)
{
    PyMappingMethods *methods = type->tp_as_mapping;

    if (!has_item_slots(type) || (set_item && methods->mp_ass_subscript != set_item))
        return false;
    set_item = methods->mp_ass_subscript;
    set_item_redirection.original = call_set_item;
    set_item_redirection.hook = *hook;
    methods->mp_ass_subscript = redirected_set_item;
    return true;
}
