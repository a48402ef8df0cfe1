/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - tables of function names, filled from the library that the process has
 *
 * The policy gives the paths; a library that must be the process's own is only looked for and not
 * loaded. Each failure is kept for its thread, to be told later. tc_driver_enter() makes the
 * device current and lets the thread call freely while another captures a graph; tc_driver_leave()
 * undoes both and must follow. Only the finding of libraries needs the interpreter's lock.
 */
#include "collect/agent/look/driver.h"

#include <dlfcn.h>
#include <string.h>

/* Numbers of both vendors' interfaces. */
#define NO_MEMORY       2
#define NOT_READY       600
#define FIRST_OF_GRAPHS 900 /* errors of captures */
#define LAST_OF_GRAPHS  908
#define CAPTURE_RELAXED 2 /* what the thread does is no part of any capture */

struct tc_driver tc_driver;
struct tc_compiler tc_compiler;

struct call {
    const char *cuda, *hip;
    void *to; /* a pointer to a function */
};

static const struct call of_driver[] =
    {
#define X(member, cuda, hip, parameters) {cuda, hip, &tc_driver.member},
        TC_DRIVER_MAP(X)
#undef X
},
                         of_compiler[] = {
#define X(member, cuda, hip, parameters) {cuda, hip, &tc_compiler.member},
                             TC_COMPILER_MAP(X)
#undef X
};

#define N_OF_DRIVER   (sizeof(of_driver) / sizeof(of_driver[0]))
#define N_OF_COMPILER (sizeof(of_compiler) / sizeof(of_compiler[0]))

static bool is_hip;
static int (*error_name)(int error, const char **name);
static const char *(*error_name_of_hip)(int error);
static void *contexts[TC_CUDA_MAX_DEVICES]; /* of CUDA */
static __thread struct tc_failure last;

bool tc_driver_is_hip(void)
{
    return is_hip;
}

/* ---- failures ---- */

static const char *name_of(enum tc_driver_call call)
{
    const struct call *c;

    if (call == TC_LACKS_DRIVER)
        return is_hip ? "libamdhip64" : "libcuda.so.1";
    if (call == TC_LACKS_COMPILER)
        return is_hip ? "libhiprtc" : "libnvrtc";
    if (call == TC_LACKS_ARCHITECTURE)
        return "the device's architecture";
    c = call < N_OF_DRIVER ? &of_driver[call] : &of_compiler[call - N_OF_DRIVER];
    return is_hip ? c->hip : c->cuda;
}

int tc_driver_said(int code)
{
    if (code && tc_driver.last_error)
        tc_driver.last_error();
    return code;
}

bool tc_driver_ok(int code, enum tc_driver_call call)
{
    if (tc_driver_said(code))
        last = (struct tc_failure){call, code};
    return !code;
}

struct tc_failure tc_driver_failure(void)
{
    return last;
}

static const char *name_of_error(struct tc_failure failure)
{
    const char *name = NULL;

    if (failure.code <= 0 || failure.call >= N_OF_DRIVER)
        return NULL;
    if (error_name_of_hip)
        return error_name_of_hip(failure.code);
    if (error_name)
        error_name(failure.code, &name);
    return name;
}

void tc_failure_describe(struct tc_failure failure, struct tc_strbuf *out)
{
    const char *call = name_of(failure.call), *version = strstr(call, "_v2");
    const char *name = name_of_error(failure);

    tc_strbuf_addf(out, "%.*s", (int)(version ? (size_t)(version - call) : strlen(call)), call);
    if (name)
        tc_strbuf_addf(out, " said %s", name);
    else if (failure.code > 0)
        tc_strbuf_addf(out, " said %d", failure.code);
    else
        tc_strbuf_adds(out, " was not found");
}

bool tc_driver_is_captured(int code)
{
    return code >= FIRST_OF_GRAPHS && code <= LAST_OF_GRAPHS;
}

bool tc_driver_is_full(struct tc_failure failure)
{
    return failure.code == NO_MEMORY && failure.call == TC_CALL_allocate;
}

/* ---- libraries ---- */

static bool is_needed(const struct call *call)
{
    return is_hip ? call->hip : call->cuda;
}

static void look_up(void *library, const struct call *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *(void **)calls[i].to =
            is_needed(&calls[i]) ? dlsym(library, is_hip ? calls[i].hip : calls[i].cuda) : NULL;
}

static bool has_all(const struct call *calls, size_t n, enum tc_driver_call first)
{
    for (size_t i = 0; i < n; i++)
        if (is_needed(&calls[i]) && !*(void **)calls[i].to)
            return tc_driver_ok(-1, (enum tc_driver_call)(first + i));
    return true;
}

/* A list of paths: the first of those that can be loaded. */
static void *load_one_of(PyObject *paths, int flags)
{
    void *library = NULL;

    for (Py_ssize_t i = 0; !library && paths && i < PyList_GET_SIZE(paths); i++) {
        const char *path = PyUnicode_AsUTF8(PyList_GET_ITEM(paths, i));
        library = path ? dlopen(path, RTLD_NOW | flags) : NULL;
    }
    PyErr_Clear();
    return library;
}

static void load_driver(int flags)
{
    PyObject *told = tc_policy_call("driver_paths", NULL), *paths = NULL;
    int hip = 0;
    void *library = told && PyArg_ParseTuple(told, "pO!", &hip, &PyList_Type, &paths)
                        ? load_one_of(paths, flags)
                        : NULL;

    is_hip = hip;
    PyErr_Clear();
    if (library) {
        look_up(library, of_driver, N_OF_DRIVER);
        *(void **)&error_name = is_hip ? NULL : dlsym(library, "cuGetErrorName");
        *(void **)&error_name_of_hip = is_hip ? dlsym(library, "hipGetErrorName") : NULL;
    }
    Py_XDECREF(told);
}

bool tc_driver_find(bool is_loaded)
{
    if (!tc_driver.init)
        load_driver(is_loaded ? RTLD_NOLOAD : 0);
    if (!tc_driver.init)
        return tc_driver_ok(-1, TC_LACKS_DRIVER);
    return has_all(of_driver, N_OF_DRIVER, TC_CALL_init);
}

bool tc_compiler_find(void)
{
    PyObject *paths;
    void *library;

    if (!tc_compiler.create) {
        paths = tc_policy_call("compiler_paths", NULL);
        library = load_one_of(paths, 0);
        if (library)
            look_up(library, of_compiler, N_OF_COMPILER);
        Py_XDECREF(paths);
        PyErr_Clear();
    }
    if (!tc_compiler.create)
        return tc_driver_ok(-1, TC_LACKS_COMPILER);
    return has_all(of_compiler, N_OF_COMPILER, TC_CALL_create);
}

/* ---- where a thread works ---- */

/* The primary context, which torch's runtime uses too. */
bool tc_driver_open(int device)
{
    int handle;

    if (!tc_driver_ok(tc_driver.init(0), TC_CALL_init))
        return false;
    return is_hip || (tc_driver_ok(tc_driver.device_of(&handle, device), TC_CALL_device_of) &&
                      tc_driver_ok(tc_driver.retain(&contexts[device], handle), TC_CALL_retain));
}

static bool make_current(int device, struct tc_entry *entry)
{
    if (!is_hip)
        return tc_driver_ok(tc_driver.push(contexts[device]), TC_CALL_push);
    return tc_driver_ok(tc_driver.get_device(&entry->device), TC_CALL_get_device) &&
           tc_driver_ok(tc_driver.set_device(device), TC_CALL_set_device);
}

static void exchange_capture_mode(int *mode)
{
    tc_driver_said(tc_driver.exchange_capture_mode(mode));
}

bool tc_driver_enter(int device, struct tc_entry *entry)
{
    *entry = (struct tc_entry){CAPTURE_RELAXED, 0};
    exchange_capture_mode(&entry->mode);
    if (make_current(device, entry))
        return true;
    exchange_capture_mode(&entry->mode);
    return false;
}

void tc_driver_leave(const struct tc_entry *entry)
{
    int mode = entry->mode;
    void *context;

    tc_driver_said(is_hip ? tc_driver.set_device(entry->device) : tc_driver.pop(&context));
    exchange_capture_mode(&mode);
}

/* What a capture forbids to say is asked later. */
static int answer_of(int said)
{
    return said == 0 ? 1 : said == NOT_READY || tc_driver_is_captured(said) ? 0 : -1;
}

int tc_driver_ask(void *event)
{
    int mode = CAPTURE_RELAXED, said;

    exchange_capture_mode(&mode);
    said = tc_driver_said(tc_driver.query(event));
    exchange_capture_mode(&mode);
    return answer_of(said);
}
