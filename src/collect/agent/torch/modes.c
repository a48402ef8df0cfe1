/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modes.c - finds the functions of torch's libraries by their mangled names
 *
 * Four questions are asked at each traced call, and a binding of Python answers each in some 130
 * instructions. Autocast excludes a dispatch key for each kind of device that it is not on for:
 * where all that torch began with are excluded, it is on for none. What a function says is held
 * against its binding in both states before it is believed.
 */
#include "collect/agent/torch/modes.h"

#include <dlfcn.h>

/* By Python's bindings: builtins, NULL where a release lacks one. */
static struct {
    PyObject *grad, *inference, *autocast, *function_modes;
} bindings;

/* C++; NULL where torch does not show it, or where it said otherwise. */
static struct {
    bool (*grad)(void);
    bool (*inference)(void);
    int64_t (*n_function_modes)(void);
    bool (*are_excluded)(uint64_t keys);
} direct;

static uint64_t autocast_keys; /* excluded while autocast is off */

/* ---- bindings ---- */

static bool ask(PyObject *function, bool fallback)
{
    PyObject *answer = function ? PyObject_CallNoArgs(function) : NULL;

    PyErr_Clear();
    Py_XDECREF(answer); /* a singleton */
    return answer ? answer == Py_True : fallback;
}

/* Where torch cannot say it cheaply, the policy is asked each time. */
static bool ask_autocast(void)
{
    return ask(bindings.autocast, bindings.grad != NULL);
}

static int64_t ask_n_function_modes(void)
{
    PyObject *n = bindings.function_modes ? PyObject_CallNoArgs(bindings.function_modes) : NULL;
    int64_t number = n ? PyLong_AsLongLong(n) : 0;

    Py_XDECREF(n);
    PyErr_Clear();
    return number;
}

/* ---- C++ ---- */

static void *symbol(const char *library, const char *name)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD); /* torch keeps it */

    return handle ? dlsym(handle, name) : NULL;
}

static bool set(PyObject *from, const char *setter, const char *device, bool value)
{
    PyObject *flag = value ? Py_True : Py_False;
    PyObject *done = device ? PyObject_CallMethod(from, setter, "sO", device, flag)
                            : PyObject_CallMethod(from, setter, "O", flag);

    PyErr_Clear();
    Py_XDECREF(done);
    return done != NULL;
}

static bool is_grad_right(PyObject *c)
{
    const bool was = ask(bindings.grad, true);
    bool is_right = direct.grad && direct.grad() == was;

    is_right = is_right && set(c, "_set_grad_enabled", NULL, !was) && direct.grad() == !was;
    set(c, "_set_grad_enabled", NULL, was);
    return is_right;
}

/* Call a method without arguments that are of matter; is it done? */
static bool is_done(PyObject *from, const char *method, const char *format, PyObject *argument)
{
    PyObject *done =
        from ? PyObject_CallMethod(from, method, format, argument, argument, argument) : NULL;

    PyErr_Clear();
    Py_XDECREF(done);
    return done != NULL;
}

static bool is_inference_right(PyObject *torch)
{
    PyObject *mode;
    bool is_right = direct.inference && !direct.inference() && !ask(bindings.inference, true);

    if (!is_right)
        return false;
    mode = PyObject_CallMethod(torch, "inference_mode", NULL);
    PyErr_Clear();
    is_right = is_done(mode, "__enter__", NULL, NULL);
    if (is_right) {
        is_right = direct.inference() && ask(bindings.inference, false);
        is_right = is_done(mode, "__exit__", "OOO", Py_None) && is_right;
    }
    Py_XDECREF(mode);
    return is_right && !direct.inference();
}

/* What stands on the stack is not called here. */
static bool is_number_right(PyObject *c)
{
    bool is_right = direct.n_function_modes && direct.n_function_modes() == 0 &&
                    ask_n_function_modes() == 0 &&
                    is_done(c, "_push_on_torch_function_stack", "O", Py_True);

    if (!is_right)
        return false;
    is_right = direct.n_function_modes() == 1 && ask_n_function_modes() == 1;
    return is_done(c, "_pop_torch_function_stack", NULL, NULL) && is_right &&
           direct.n_function_modes() == 0;
}

static bool is_autocast_off(void)
{
    return direct.are_excluded(autocast_keys);
}

static bool is_autocast_right(PyObject *torch)
{
    bool is_right = direct.are_excluded && !ask_autocast();

    autocast_keys = 0;
    for (unsigned i = 0; is_right && i < 64; i++)
        if (direct.are_excluded(UINT64_C(1) << i))
            autocast_keys |= UINT64_C(1) << i;
    is_right = is_right && set(torch, "set_autocast_enabled", "cpu", true);
    if (is_right) {
        is_right = !is_autocast_off();
        set(torch, "set_autocast_enabled", "cpu", false);
    }
    return is_right && is_autocast_off();
}

static void find_direct(PyObject *torch, PyObject *c)
{
    *(void **)&direct.grad = symbol("libc10.so", "_ZN3c108GradMode10is_enabledEv");
    *(void **)&direct.inference = symbol("libc10.so", "_ZN3c1013InferenceMode10is_enabledEv");
    *(void **)&direct.are_excluded =
        symbol("libc10.so", "_ZN3c104impl31tls_is_dispatch_keyset_excludedENS_14DispatchKeySetE");
    *(void **)&direct.n_function_modes =
        symbol("libtorch_cpu.so", "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv");
    if (!is_grad_right(c))
        direct.grad = NULL;
    if (!is_inference_right(torch))
        direct.inference = NULL;
    if (!is_autocast_right(torch))
        direct.are_excluded = NULL;
    if (!is_number_right(c))
        direct.n_function_modes = NULL;
}

void tc_modes_find(PyObject *torch)
{
    PyObject *c = tc_optional(torch, "_C");

    bindings.grad = tc_optional(torch, "is_grad_enabled");
    bindings.inference = tc_optional(torch, "is_inference_mode_enabled");
    bindings.autocast = tc_optional(c, "_is_any_autocast_enabled");
    bindings.function_modes = tc_optional(c, "_len_torch_function_stack");
    if (c)
        find_direct(torch, c);
    Py_XDECREF(c);
}

bool tc_grad_enabled(void)
{
    return direct.grad ? direct.grad() : ask(bindings.grad, true);
}

bool tc_inference_enabled(void)
{
    return direct.inference ? direct.inference() : ask(bindings.inference, false);
}

bool tc_autocast_any(void)
{
    return !(direct.are_excluded && is_autocast_off()) && ask_autocast();
}

bool tc_function_mode_any(void)
{
    return (direct.n_function_modes ? direct.n_function_modes() : ask_n_function_modes()) > 0;
}
