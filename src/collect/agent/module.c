/*
 * module.c - the extension module: what the policy may ask of the agent
 */
#include "collect/agent/agent.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"
#include "collect/agent/embedded.h"
#include "collect/agent/identity.h"
#include "collect/agent/modules.h"
#include "collect/agent/process.h"
#include "collect/agent/sink.h"
#include "collect/agent/slots.h"
#include "collect/agent/steps.h"
#include "collect/agent/tensor.h"
#include "collect/agent/variables.h"
#include "collect/board.h"

#define MAX_NOTED 200 /* notes of errors in one trace */

PyMODINIT_FUNC PyInit__traincheck_agent(void);

struct tc_agent tc_agent;

static __thread struct tc_thread *current;
static pthread_key_t thread_end;

const char *tc_stage_name(enum tc_stage stage)
{
    static const char *const names[] = {"init", "training", "evaluation", "checkpointing"};

    return names[stage];
}

const char *tc_role_name(enum tc_role role)
{
    static const char *const names[] = {
#define X(name, text) text,
        TC_ROLE_MAP(X)
#undef X
    };

    return names[role];
}

/* ---- threads ---- */

static void free_thread(void *p)
{
    struct tc_thread *thread = p;

    tc_vec_release(&thread->stack);
    tc_strbuf_release(&thread->line);
    tc_free(thread);
    current = NULL;
}

static void forget_calls(struct tc_thread *thread)
{
    thread->stack.n = 0;
    thread->n_modules = thread->n_core = 0;
    thread->generation = tc_agent.generation;
}

struct tc_thread *tc_thread_current(void)
{
    static int64_t n_threads;

    if (!current) {
        current = tc_calloc(1, sizeof(*current));
        current->number = n_threads++; /* the first is the main thread: it starts the agent */
        current->generation = tc_agent.generation;
        pthread_setspecific(thread_end, current);
    }
    if (current->generation != tc_agent.generation)
        forget_calls(current);
    return current;
}

/* ---- notes and errors of ours ---- */

void tc_agent_note(const char *code, const char *text, int64_t count)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_strbuf_adds(&line, "{\"type\":\"note\",\"code\":");
    tc_strbuf_add_json(&line, code, strlen(code));
    if (text) {
        tc_strbuf_adds(&line, ",\"text\":");
        tc_strbuf_add_json(&line, text, strlen(text));
    }
    if (count)
        tc_strbuf_addf(&line, ",\"count\":%lld", (long long)count);
    tc_strbuf_addf(&line, ",\"t\":%lld}\n", (long long)tc_agent_now());
    tc_sink_put(line.text, line.size, 0);
    tc_strbuf_release(&line);
}

/* ": ValueError: text" of the Python error, which is cleared. */
static void describe_error(struct tc_strbuf *out)
{
    PyObject *type, *value, *traceback, *text;

    PyErr_Fetch(&type, &value, &traceback);
    text = value ? PyObject_Str(value) : NULL;
    if (type)
        tc_strbuf_addf(out, ": %s", ((PyTypeObject *)type)->tp_name);
    if (text && PyUnicode_AsUTF8(text))
        tc_strbuf_addf(out, ": %.200s", PyUnicode_AsUTF8(text));
    Py_XDECREF(text);
    if (getenv("TRAINCHECK_DEBUG")) {
        PyErr_Restore(type, value, traceback);
        PyErr_Print();
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
}

void tc_agent_failed(struct tc_api *api, const char *what)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, what);
    if (api) {
        tc_strbuf_addf(&text, " of %s", api->fn);
        api->off = true;
    }
    describe_error(&text);
    if (tc_agent.errors++ < MAX_NOTED)
        tc_agent_note("switched-off", text.text, 0);
    tc_strbuf_release(&text);
}

PyObject *tc_dynamo_hide(void)
{
    PyObject *old =
        tc_agent.dynamo ? PyObject_CallFunctionObjArgs(tc_agent.dynamo, Py_None, NULL) : NULL;

    if (!old)
        PyErr_Clear();
    return old;
}

void tc_dynamo_unhide(PyObject *hidden)
{
    PyObject *type, *value, *traceback, *done;

    if (!hidden)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    done = PyObject_CallFunctionObjArgs(tc_agent.dynamo, hidden, NULL);
    Py_XDECREF(done);
    Py_DECREF(hidden);
    PyErr_Restore(type, value, traceback);
}

PyObject *tc_policy_call(const char *function, const char *format, ...)
{
    PyObject *callable = PyObject_GetAttrString(tc_agent.policy, function);
    PyObject *args = NULL, *result = NULL, *hidden;
    va_list list;

    va_start(list, format);
    if (callable)
        args = format ? Py_VaBuildValue(format, list) : PyTuple_New(0);
    va_end(list);
    hidden = tc_dynamo_hide();
    if (args)
        result = PyObject_CallObject(callable, args);
    tc_dynamo_unhide(hidden);
    Py_XDECREF(args);
    Py_XDECREF(callable);
    return result;
}

/* Another thread is opening the file, in Python code that lets others run. */
static void wait_for_opening(void)
{
    struct timespec one_ms = {0, 1000000};

    while (tc_agent.opening) {
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&one_ms, NULL);
        Py_END_ALLOW_THREADS;
    }
}

bool tc_agent_ready(void)
{
    struct tc_strbuf why = TC_STRBUF_INIT;
    PyObject *opened;

    if (!tc_sink_is_open())
        wait_for_opening();
    if (tc_sink_is_open())
        return true;
    if (!tc_agent.enabled)
        return false;
    tc_agent.opening = true;
    opened = tc_policy_call("open_trace", NULL);
    tc_agent.opening = false;
    Py_XDECREF(opened);
    if (opened)
        return true;
    tc_agent.enabled = false; /* nothing can be written: the job goes on alone */
    tc_strbuf_adds(&why, "no trace file");
    describe_error(&why);
    tc_process_cannot_open(why.text);
    tc_strbuf_release(&why);
    return false;
}

/* ---- functions ---- */

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
    hook.api = tc_api_get(api);
    hook.sig = tc_sig_new(params);
    if (!hook.sig)
        return NULL;
    hook.before = none_to_null(before);
    hook.after = none_to_null(after);
    hook.once_per_type = once;
    hook.mute = mute;
    if (!tc_slot_redirect(callable, &hook))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *is_redirected(PyObject *self, PyObject *callable)
{
    (void)self;
    return PyBool_FromLong(tc_slot_is_redirected(callable));
}

/* start(output_dir, buffer_size, drop, closing_line, is_injected, budget, track) */
static PyObject *start(PyObject *self, PyObject *args)
{
    struct tc_process_config config;
    const char *dir;
    unsigned long long buffer_size, budget;
    int drop, closing_line, is_injected, track;

    (void)self;
    if (!PyArg_ParseTuple(args, "sKpppKp", &dir, &buffer_size, &drop, &closing_line, &is_injected,
                          &budget, &track))
        return NULL;
    config.output_dir = tc_strdup(dir);
    config.buffer_size = buffer_size;
    config.drop = drop;
    config.closing_line = closing_line;
    config.is_injected = is_injected;
    if (budget)
        tc_variables_set_budget(budget);
    tc_process_start(&config);
    (void)tc_thread_current();
    tc_agent.track = track;
    tc_agent.enabled = tc_slots_init();
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

/* detail(stack_depth, stats): what is recorded beyond the usual */
static PyObject *detail(PyObject *self, PyObject *args)
{
    int stats;

    (void)self;
    if (!PyArg_ParseTuple(args, "ip", &tc_agent.stack_depth, &stats))
        return NULL;
    tc_agent.stats = stats;
    Py_RETURN_NONE;
}

/* set_sampling(interval, warm_up) */
static PyObject *set_sampling(PyObject *self, PyObject *args)
{
    unsigned interval, warm_up;

    (void)self;
    if (!PyArg_ParseTuple(args, "II", &interval, &warm_up))
        return NULL;
    tc_steps_set_sampling(interval, warm_up);
    Py_RETURN_NONE;
}

static PyObject *open_file(PyObject *self, PyObject *args)
{
    const char *path, *record;

    (void)self;
    if (!PyArg_ParseTuple(args, "ss", &path, &record) || !tc_process_open(path, record))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_torch(PyObject *self, PyObject *torch)
{
    (void)self;
    if (!tc_tensor_init(torch))
        return NULL;
    tc_process_torch_met();
    Py_RETURN_NONE;
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

static PyObject *failed(PyObject *self, PyObject *text)
{
    (void)self;
    if (tc_agent.errors++ < MAX_NOTED && tc_agent_ready())
        tc_agent_note("switched-off", PyUnicode_AsUTF8(text), 0);
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
        tc_variables_meet_optimizer(optimizer);
    }
    Py_RETURN_NONE;
}

static PyObject *let_go(PyObject *self, PyObject *tensor)
{
    (void)self;
    tc_variables_let_go(tensor);
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

static PyObject *before_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
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

/* digest(bytes, dtype, shape): as of tensors */
static PyObject *digest(PyObject *self, PyObject *args)
{
    const char *data, *dtype;
    Py_ssize_t size;
    PyObject *dims;
    int64_t shape[TC_MAX_DIMS];
    size_t n = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "y#sO!", &data, &size, &dtype, &PyTuple_Type, &dims))
        return NULL;
    for (; n < TC_MAX_DIMS && (Py_ssize_t)n < PyTuple_GET_SIZE(dims); n++)
        shape[n] = PyLong_AsLongLong(PyTuple_GET_ITEM(dims, (Py_ssize_t)n));
    return PyLong_FromUnsignedLongLong(
        tc_digest(data, (size_t)size, tc_digest_seed(dtype, shape, n)));
}

static PyMethodDef methods[] = {
    {"add_api",        add_api,        METH_VARARGS, NULL},
    {"redirect",       redirect,       METH_VARARGS, NULL},
    {"is_redirected",  is_redirected,  METH_O,       NULL},
    {"start",          start,          METH_VARARGS, NULL},
    {"join",           join,           METH_VARARGS, NULL},
    {"detail",         detail,         METH_VARARGS, NULL},
    {"set_sampling",   set_sampling,   METH_VARARGS, NULL},
    {"open_file",      open_file,      METH_VARARGS, NULL},
    {"set_torch",      set_torch,      METH_O,       NULL},
    {"set_dynamo",     set_dynamo,     METH_O,       NULL},
    {"note",           note,           METH_VARARGS, NULL},
    {"failed",         failed,         METH_O,       NULL},
    {"annotate",       annotate,       METH_O,       NULL},
    {"optimizer_born", optimizer_born, METH_O,       NULL},
    {"let_go",         let_go,         METH_O,       NULL},
    {"set_worker",     set_worker,     METH_NOARGS,  NULL},
    {"flush",          flush,          METH_NOARGS,  NULL},
    {"finish_windows", finish_windows, METH_NOARGS,  NULL},
    {"finish",         finish,         METH_O,       NULL},
    {"has_file",       has_file,       METH_NOARGS,  NULL},
    {"has_losses",     has_losses,     METH_NOARGS,  NULL},
    {"before_fork",    before_fork,    METH_NOARGS,  NULL},
    {"after_fork",     after_fork,     METH_NOARGS,  NULL},
    {"forked",         forked,         METH_NOARGS,  NULL},
    {"digest",         digest,         METH_VARARGS, NULL},
    {NULL,             NULL,           0,            NULL},
};

/* ---- the policy, from its embedded files ---- */

static bool add_roles(PyObject *module)
{
    for (int i = 0; i < TC_N_ROLES; i++) {
        char name[32] = "ROLE_";
        size_t n = 5;

        for (const char *p = tc_role_name((enum tc_role)i); *p && n < sizeof(name) - 1; p++)
            name[n++] = (char)Py_TOUPPER(*p);
        name[n] = '\0';
        if (PyModule_AddIntConstant(module, name, i) < 0)
            return false;
    }
    return true;
}

static bool add_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
        {"METHOD",         TC_API_METHOD    },
        {"OUTERMOST",      TC_API_OUTERMOST },
        {"RECEIVER",       TC_API_RECEIVER  },
        {"TOP",            TC_API_TOP       },
        {"LOOK",           TC_API_LOOK      },
        {"CHECKPOINT",     TC_API_CHECKPOINT},
        {"MODULE",         TC_API_MODULE    },
        {"CONTENT",        TC_API_CONTENT   },
        {"ASK",            TC_API_ASK       },
        {"ACCEPTS_ANY",    TC_ACCEPTS_ANY   },
        {"ACCEPTS_TENSOR", TC_ACCEPTS_TENSOR},
        {"ACCEPTS_INDEX",  TC_ACCEPTS_INDEX },
        {"ACCEPTS_SIZES",  TC_ACCEPTS_SIZES },
    };

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return false;
    return true;
}

/* The module object must stand in sys.modules before its text runs: the files import each other. */
static PyObject *load(const struct tc_embedded *file)
{
    PyObject *module = PyImport_AddModule(file->name); /* borrowed */
    PyObject *dict = module ? PyModule_GetDict(module) : NULL;
    PyObject *code, *done = NULL, *path;

    if (!dict)
        return NULL;
    if (!strchr(file->name, '.')) { /* the package itself */
        path = PyList_New(0);
        PyDict_SetItemString(dict, "__path__", path);
        Py_XDECREF(path);
    }
    PyDict_SetItemString(dict, "__package__", tc_agent.package);
    code = Py_CompileString(file->text, file->file, Py_file_input);
    if (code && PyDict_SetItemString(dict, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, dict, dict);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return done ? module : NULL;
}

static bool load_policy(void)
{
    PyObject *module = NULL;

    tc_agent.package = PyUnicode_InternFromString(tc_embedded[0].name);
    if (!tc_agent.package)
        return false;

    for (const struct tc_embedded *file = tc_embedded; file->name; file++) {
        module = load(file);
        if (!module)
            return false;
    }
    tc_agent.policy = module ? Py_NewRef(module) : NULL;
    return module != NULL;
}

static int exec_module(PyObject *module)
{
    if (pthread_key_create(&thread_end, free_thread) != 0)
        return -1;
    return add_roles(module) && add_constants(module) ? 0 : -1;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_traincheck_agent", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__traincheck_agent(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *modules = PyImport_GetModuleDict();

    /* The policy's files import this module while it is being made. */
    if (module && exec_module(module) == 0 &&
        PyDict_SetItemString(modules, "_traincheck_agent", module) == 0 && load_policy())
        return module;
    Py_XDECREF(module);
    return NULL;
}
