/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - the extension module: what the policy may ask of the agent
 *
 * Each function is called by the policy, in Python, with the interpreter's lock. It takes the
 * arguments apart and calls the unit that does the work. methods[] has the names that the policy
 * uses.
 */
#include "collect/agent/agent.h"

#include "collect/agent/hook/by_code.h"
#include "collect/agent/hook/own_names.h"
#include "collect/agent/hook/policy.h"
#include "collect/agent/hook/process.h"
#include "collect/agent/hook/sampling.h"
#include "collect/agent/hook/slots.h"
#include "collect/agent/hook/steps.h"
#include "collect/agent/hook/variables.h"
#include "collect/agent/look/digest.h"
#include "collect/agent/look/owned.h"
#include "collect/agent/look/seen.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/scalar.h"
#include "collect/agent/say/scope.h"
#include "collect/agent/say/settings.h"
#include "collect/agent/say/sink.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/counts.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/layout.h"
#include "collect/agent/torch/ours.h"
#include "collect/agent/torch/storages.h"
#include "collect/agent/torch/tensor.h"
#include "collect/board.h"

PyMODINIT_FUNC PyInit__traincheck_agent(void);

static PyObject *add_api(PyObject *self, PyObject *args)
{
    const char *fn, *defaults;
    int role, group;
    unsigned flags;

    (void)self;
    if (!PyArg_ParseTuple(args, "siIiz", &fn, &role, &flags, &group, &defaults))
        return NULL;
    if (role < 0 || role >= TC_N_ROLES)
        return PyErr_Format(PyExc_ValueError, "no role %d", role);
    return PyLong_FromLong(tc_api_add(fn, (enum tc_role)role, flags, group, defaults));
}

static PyObject *none_to_null(PyObject *object)
{
    return object == Py_None ? NULL : Py_NewRef(object);
}

/* redirect(callable, api, params, before, after, once_per_type, mute) */
static PyObject *redirect(PyObject *self, PyObject *args)
{
    PyObject *callable, *params, *before, *after;
    long api;
    int once, mute;
    struct tc_hook hook;

    (void)self;
    if (!PyArg_ParseTuple(args, "OlOOOpp", &callable, &api, &params, &before, &after, &once, &mute))
        return NULL;
    if (!tc_slot_is_there(callable))
        return PyErr_Format(PyExc_TypeError, "%.100s has no vectorcall slot",
                            Py_TYPE(callable)->tp_name);
    hook.api = tc_api_get(api);
    hook.sig = tc_sig_new(params);
    if (!hook.sig)
        return NULL;
    hook.before = none_to_null(before);
    hook.after = none_to_null(after);
    hook.once_per_type = once;
    hook.mute = mute;
    (tc_by_code_is_expected(callable) ? tc_by_code_redirect : tc_slot_redirect)(callable, &hook);
    Py_RETURN_NONE;
}

/* redirect_item(type, api, params, is_set): type[index], or type[index] = value; is it done? */
static PyObject *redirect_item(PyObject *self, PyObject *args)
{
    PyObject *type, *params;
    struct tc_hook hook = {0};
    bool is_done;
    int is_set;
    long api;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!lOp", &PyType_Type, &type, &api, &params, &is_set))
        return NULL;
    hook.api = tc_api_get(api);
    hook.sig = tc_sig_new(params);
    if (!hook.sig)
        return NULL;
    is_done = is_set ? tc_slot_redirect_set_item((PyTypeObject *)type, &hook)
                     : tc_slot_redirect_item((PyTypeObject *)type, &hook);
    return PyBool_FromLong(is_done);
}

static PyObject *keep_init(PyObject *self, PyObject *type)
{
    (void)self;
    if (!PyType_Check(type))
        return PyErr_Format(PyExc_TypeError, "a class");
    tc_slot_keep_constructor((PyTypeObject *)type);
    Py_RETURN_NONE;
}

static PyObject *watch(PyObject *self, PyObject *dict)
{
    (void)self;
    if (!PyDict_Check(dict))
        return PyErr_Format(PyExc_TypeError, "a dict");
    tc_own_names_watch(dict);
    Py_RETURN_NONE;
}

static PyObject *scope_of(PyObject *self, PyObject *frame)
{
    (void)self;
    return tc_scope_of(frame);
}

/* is_withheld(text, is_outside) */
static PyObject *is_withheld(PyObject *self, PyObject *args)
{
    PyObject *text;
    int is_outside;

    (void)self;
    if (!PyArg_ParseTuple(args, "Up", &text, &is_outside))
        return NULL;
    return PyBool_FromLong(tc_text_is_withheld(text, is_outside));
}

static PyObject *is_redirected(PyObject *self, PyObject *callable)
{
    (void)self;
    return PyBool_FromLong(tc_slot_is_redirected(callable) || tc_by_code_is_redirected(callable));
}

/* expect(code): functions of it will be made */
static PyObject *expect(PyObject *self, PyObject *code)
{
    (void)self;
    if (!PyCode_Check(code))
        return PyErr_Format(PyExc_TypeError, "a code");
    tc_by_code_expect(code);
    Py_RETURN_NONE;
}

/* start(output_dir, buffer_size, keep, drop, closing_line, is_injected, budget, track, settings) */
static PyObject *start(PyObject *self, PyObject *args)
{
    struct tc_process_config config;
    PyObject *dir;
    unsigned long long buffer_size, keep, budget;
    int drop, closing_line, is_injected, track, settings;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&KKpppKpp", PyUnicode_FSConverter, &dir, &buffer_size, &keep,
                          &drop, &closing_line, &is_injected, &budget, &track, &settings))
        return NULL;
    config.output_dir = tc_strdup(PyBytes_AS_STRING(dir));
    Py_DECREF(dir);
    config.buffer_size = buffer_size;
    config.keep = keep;
    config.drop = drop;
    config.closing_line = closing_line;
    config.is_injected = is_injected;
    if (budget)
        tc_seen_set_budget(budget);
    tc_process_start(&config);
    (void)tc_thread_current();
    tc_agent.track = track;
    tc_agent.settings = settings;
    tc_agent.enabled = tc_by_code_init();
    Py_RETURN_NONE;
}

/* join(board, progress): board is the path of the run's board or None */
static PyObject *join(PyObject *self, PyObject *args)
{
    const char *path;
    int has_progress;

    (void)self;
    if (!PyArg_ParseTuple(args, "zp", &path, &has_progress))
        return NULL;
    tc_process_join(path, has_progress);
    Py_RETURN_NONE;
}

/* detail(stack_depth, stats, narrowed, content): what is recorded beyond the usual, and short of it
 */
static PyObject *detail(PyObject *self, PyObject *args)
{
    int stats, narrowed, content;

    (void)self;
    if (!PyArg_ParseTuple(args, "ippi", &tc_agent.stack_depth, &stats, &narrowed, &content))
        return NULL;
    tc_agent.stats = stats;
    tc_agent.is_narrowed = narrowed;
    tc_agent.content = (enum tc_content)content;
    Py_RETURN_NONE;
}

/* set_sampling(interval, warm_up, budget) */
static PyObject *set_sampling(PyObject *self, PyObject *args)
{
    unsigned interval, warm_up, budget;

    (void)self;
    if (!PyArg_ParseTuple(args, "III", &interval, &warm_up, &budget))
        return NULL;
    tc_sampling_set(interval, warm_up, budget);
    Py_RETURN_NONE;
}

static PyObject *open_file(PyObject *self, PyObject *args)
{
    PyObject *path;
    const char *record;
    bool is_open;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&s", PyUnicode_FSConverter, &path, &record))
        return NULL;
    is_open = tc_process_open(PyBytes_AS_STRING(path), record);
    Py_DECREF(path);
    return is_open ? Py_NewRef(Py_None) : NULL;
}

static PyObject *set_torch(PyObject *self, PyObject *torch)
{
    (void)self;
    if (!tc_torch_init(torch))
        return NULL;
    tc_storages_init(torch);
    tc_process_torch_met();
    Py_RETURN_NONE;
}

static PyObject *find_layout(PyObject *self, PyObject *args)
{
    PyObject *samples, *unlike;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &samples, &PyTuple_Type, &unlike))
        return NULL;
    return PyBool_FromLong(tc_layout_find(samples, unlike));
}

/* find_flag(tensors, n_yes) */
static PyObject *find_flag(PyObject *self, PyObject *args)
{
    PyObject *tensors;
    Py_ssize_t n_yes;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &tensors, &n_yes))
        return NULL;
    return PyBool_FromLong(tc_layout_find_flag(tensors, n_yes));
}

static PyObject *find_counts(PyObject *self, PyObject *tensor)
{
    (void)self;
    return PyBool_FromLong(tc_counts_find(tensor));
}

static PyObject *set_dynamo(PyObject *self, PyObject *function)
{
    (void)self;
    Py_XDECREF(tc_agent.dynamo);
    tc_agent.dynamo = Py_NewRef(function);
    Py_RETURN_NONE;
}

static PyObject *note(PyObject *self, PyObject *args)
{
    const char *code, *text;
    long long count = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "sz|L", &code, &text, &count))
        return NULL;
    if (tc_agent_ready())
        tc_agent_note(code, text, count);
    Py_RETURN_NONE;
}

/* put(line): a record that the policy has made, with its '\n' */
static PyObject *put(PyObject *self, PyObject *line)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(line, &size);

    (void)self;
    if (!text)
        return NULL;
    if (tc_agent_ready())
        tc_queue_put(text, (size_t)size, 0);
    Py_RETURN_NONE;
}

static PyObject *failed(PyObject *self, PyObject *text)
{
    (void)self;
    (void)tc_agent_ready();
    tc_agent_switched_off(PyUnicode_AsUTF8(text));
    PyErr_Clear(); /* a text that UTF-8 cannot carry */
    Py_RETURN_NONE;
}

static PyObject *annotate(PyObject *self, PyObject *value)
{
    (void)self;
    Py_XDECREF(tc_agent.annotation);
    tc_agent.annotation = none_to_null(value);
    Py_RETURN_NONE;
}

static PyObject *optimizer_born(PyObject *self, PyObject *optimizer)
{
    (void)self;
    if (tc_thread_current()->number == 0) {
        tc_steps_optimizer_born(tc_identity(optimizer));
        tc_owned_meet(optimizer);
        tc_settings_meet_optimizer(optimizer, false);
    }
    Py_RETURN_NONE;
}

static PyObject *let_go(PyObject *self, PyObject *tensor)
{
    (void)self;
    tc_tracked_let_go(tensor);
    Py_RETURN_NONE;
}

static PyObject *set_worker(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_agent.worker = true;
    tc_agent.track = false;
    Py_RETURN_NONE;
}

static PyObject *flush(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_queue_drain();
    tc_sink_flush();
    Py_RETURN_NONE;
}

static PyObject *finish_windows(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_process_finish_windows();
    Py_RETURN_NONE;
}

/* The last exit handler; no function of Python's own, which the user's tracer would see. */
static PyObject *ending(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return tc_policy_call("ending", NULL);
}

static PyObject *finish(PyObject *self, PyObject *status)
{
    long exit_status = PyLong_AsLong(status);

    (void)self;
    if (PyErr_Occurred())
        PyErr_Clear();
    tc_process_finish_windows();
    tc_process_finish((int)exit_status);
    Py_RETURN_NONE;
}

static PyObject *has_file(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(tc_sink_is_open());
}

/* Has any process of the run lost a record or switched something off? */
static PyObject *has_losses(PyObject *self, PyObject *unused)
{
    struct tc_board_totals totals;

    (void)self;
    (void)unused;
    tc_board_sum(&totals);
    return PyBool_FromLong(tc_board_has_losses(&totals));
}

static PyObject *pass_by(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_board_pass_by();
    Py_RETURN_NONE;
}

/* What children would each tell for themselves. */
static void tell_sources(void)
{
    struct tc_thread *thread = tc_thread_current();
    PyObject *told;

    if (!tc_agent.enabled || !tc_sink_is_open())
        return;
    thread->guard++;
    told = tc_policy_call("before_fork", NULL);
    thread->guard--;
    if (!told)
        tc_agent_failed(NULL, "sources");
    Py_XDECREF(told);
}

static PyObject *before_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tell_sources();
    tc_process_before_fork();
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_process_after_fork();
    Py_RETURN_NONE;
}

static PyObject *forked(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_process_forked();
    Py_RETURN_NONE;
}

/* hold(), release(): no call of this thread is an event in between. */
static PyObject *hold(PyObject *self, PyObject *unused)
{
    struct tc_thread *thread = tc_thread_current();

    (void)self;
    (void)unused;
    if (thread)
        thread->guard++;
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *self, PyObject *unused)
{
    struct tc_thread *thread = tc_thread_current();

    (void)self;
    (void)unused;
    if (thread && thread->guard)
        thread->guard--;
    Py_RETURN_NONE;
}

static PyObject *load_plans(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (!tc_policy_load_plans())
        return NULL;
    Py_RETURN_NONE;
}

/* mute(is_on): what this thread calls is not traced, or is again */
static PyObject *mute(PyObject *self, PyObject *is_on)
{
    struct tc_thread *thread = tc_thread_current();

    (void)self;
    thread->is_capturing = is_on == Py_True;
    Py_RETURN_NONE;
}

/* expect_ours(): the tool's own package has been imported */
static PyObject *expect_ours(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    tc_ours_expect();
    Py_RETURN_NONE;
}

/* leave_stream(): another one becomes current; does the script say so? */
static PyObject *leave_stream(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(tc_variables_leave_stream(tc_thread_current()));
}

/* digest(bytes, dtype, shape): as of tensors; without a dtype that of the bytes alone */
static PyObject *digest(PyObject *self, PyObject *args)
{
    const char *data, *dtype;
    Py_ssize_t size;
    PyObject *dims;
    int64_t shape[TC_MAX_DIMS];
    size_t n = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "y#zO!", &data, &size, &dtype, &PyTuple_Type, &dims))
        return NULL;
    for (; n < TC_MAX_DIMS && (Py_ssize_t)n < PyTuple_GET_SIZE(dims); n++)
        shape[n] = PyLong_AsLongLong(PyTuple_GET_ITEM(dims, (Py_ssize_t)n));
    return PyLong_FromUnsignedLongLong(
        tc_digest(data, (size_t)size, dtype ? tc_digest_seed(dtype, shape, n) : 0));
}

static PyMethodDef module_methods[] = {
    {"add_api",        add_api,        METH_VARARGS, NULL},
    {"redirect",       redirect,       METH_VARARGS, NULL},
    {"redirect_item",  redirect_item,  METH_VARARGS, NULL},
    {"is_redirected",  is_redirected,  METH_O,       NULL},
    {"keep_init",      keep_init,      METH_O,       NULL},
    {"expect",         expect,         METH_O,       NULL},
    {"expect_ours",    expect_ours,    METH_NOARGS,  NULL},
    {"watch",          watch,          METH_O,       NULL},
    {"scope_of",       scope_of,       METH_O,       NULL},
    {"is_withheld",    is_withheld,    METH_VARARGS, NULL},
    {"start",          start,          METH_VARARGS, NULL},
    {"join",           join,           METH_VARARGS, NULL},
    {"detail",         detail,         METH_VARARGS, NULL},
    {"set_sampling",   set_sampling,   METH_VARARGS, NULL},
    {"open_file",      open_file,      METH_VARARGS, NULL},
    {"set_torch",      set_torch,      METH_O,       NULL},
    {"find_layout",    find_layout,    METH_VARARGS, NULL},
    {"find_flag",      find_flag,      METH_VARARGS, NULL},
    {"find_counts",    find_counts,    METH_O,       NULL},
    {"set_dynamo",     set_dynamo,     METH_O,       NULL},
    {"note",           note,           METH_VARARGS, NULL},
    {"put",            put,            METH_O,       NULL},
    {"failed",         failed,         METH_O,       NULL},
    {"annotate",       annotate,       METH_O,       NULL},
    {"optimizer_born", optimizer_born, METH_O,       NULL},
    {"let_go",         let_go,         METH_O,       NULL},
    {"set_worker",     set_worker,     METH_NOARGS,  NULL},
    {"flush",          flush,          METH_NOARGS,  NULL},
    {"finish_windows", finish_windows, METH_NOARGS,  NULL},
    {"ending",         ending,         METH_NOARGS,  NULL},
    {"finish",         finish,         METH_O,       NULL},
    {"has_file",       has_file,       METH_NOARGS,  NULL},
    {"has_losses",     has_losses,     METH_NOARGS,  NULL},
    {"pass_by",        pass_by,        METH_NOARGS,  NULL},
    {"before_fork",    before_fork,    METH_NOARGS,  NULL},
    {"after_fork",     after_fork,     METH_NOARGS,  NULL},
    {"forked",         forked,         METH_NOARGS,  NULL},
    {"hold",           hold,           METH_NOARGS,  NULL},
    {"release",        release,        METH_NOARGS,  NULL},
    {"digest",         digest,         METH_VARARGS, NULL},
    {"load_plans",     load_plans,     METH_NOARGS,  NULL},
    {"mute",           mute,           METH_O,       NULL},
    {"leave_stream",   leave_stream,   METH_NOARGS,  NULL},
    {NULL,             NULL,           0,            NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_traincheck_agent", NULL, -1, module_methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__traincheck_agent(void)
{
    PyObject *module, *modules = PyImport_GetModuleDict();

    tc_process_reserve_memory();
    module = PyModule_Create(&definition);

    /* The policy's files import this module while it is being made. */
    if (module && tc_agent_init() &&
        PyDict_SetItemString(modules, "_traincheck_agent", module) == 0 && tc_policy_load(module))
        return module;
    Py_XDECREF(module);
    return NULL;
}
