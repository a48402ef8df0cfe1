/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.c - signatures as the policy gives them, and the overload that a call fits
 *
 * A function with overloads is a chain; the first whose parameters accept the arguments is taken,
 * by their types alone. If none fits, arguments are named by their positions. Nothing of the
 * user's is called: exact checks of types.
 */
#include "collect/agent/torch/signature.h"

#include <string.h>

#include "collect/agent/torch/torch.h"

/* ---- as the policy describes them ---- */

static char *copy(const char *text)
{
    return text ? tc_strdup(text) : NULL;
}

static bool read_param(PyObject *item, struct tc_sig_param *out)
{
    PyObject *name, *shown;
    const char *fallback;
    int positional, accepts, required, secret;
    struct tc_strbuf key = TC_STRBUF_INIT, operand = TC_STRBUF_INIT;

    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "UzpipUp", &name, &fallback, &positional,
                                                  &accepts, &required, &shown, &secret))
        return false;
    out->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&out->name);
    out->shown = copy(PyUnicode_AsUTF8(shown));
    if (!out->shown)
        return false;
    tc_strbuf_add_json(&key, out->shown, strlen(out->shown));
    tc_strbuf_addc(&key, ':');
    out->key = tc_strbuf_take(&key);
    tc_strbuf_addf(&operand, "args.%s", out->shown);
    out->operand = tc_strbuf_take(&operand);
    out->fallback = copy(fallback);
    out->positional = positional;
    out->accepts = (enum tc_accepts)accepts;
    out->required = required;
    out->is_secret = secret;
    return true;
}

static bool read_params(PyObject *params, struct tc_sig *sig)
{
    if (!PyTuple_Check(params)) {
        PyErr_SetString(PyExc_TypeError, "parameters: a tuple");
        return false;
    }
    sig->params = tc_calloc((size_t)PyTuple_GET_SIZE(params) + 1, sizeof(*sig->params));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(params); i++) {
        if (!read_param(PyTuple_GET_ITEM(params, i), &sig->params[sig->n]))
            return false;
        sig->n_positional += sig->params[sig->n++].positional;
    }
    sig->is_variadic = sig->n_positional == 1 && sig->params[0].accepts == TC_ACCEPTS_SIZES;
    return true;
}

const struct tc_sig *tc_sig_new(PyObject *alternatives)
{
    struct tc_sig *sigs;
    Py_ssize_t n;

    if (!PyTuple_Check(alternatives)) {
        PyErr_SetString(PyExc_TypeError, "signature: a tuple");
        return NULL;
    }
    n = PyTuple_GET_SIZE(alternatives);
    sigs = tc_calloc((size_t)n + 1, sizeof(*sigs));
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!read_params(PyTuple_GET_ITEM(alternatives, i), &sigs[i]))
            return NULL;
        sigs[i].next = i + 1 < n ? &sigs[i + 1] : NULL;
    }
    return sigs;
}

/* ---- binding ---- */

static bool is_named(const struct tc_sig_param *param, PyObject *name)
{
    return param->name == name || PyUnicode_Compare(param->name, name) == 0;
}

PyObject *tc_sig_value_named(const struct tc_arguments *args, const struct tc_sig_param *param)
{
    for (Py_ssize_t i = 0; args->names && i < PyTuple_GET_SIZE(args->names); i++)
        if (is_named(param, PyTuple_GET_ITEM(args->names, i)))
            return args->items[args->n + (size_t)i];
    return NULL;
}

const struct tc_sig_param *tc_sig_named(const struct tc_sig *sig, PyObject *name)
{
    for (size_t i = 0; i < sig->n; i++)
        if (is_named(&sig->params[i], name))
            return &sig->params[i];
    return NULL;
}

const struct tc_sig_param *tc_sig_at(const struct tc_sig *sig, size_t position)
{
    for (size_t i = 0; i < sig->n; i++)
        if (sig->params[i].positional && position-- == 0)
            return &sig->params[i];
    return NULL;
}

bool tc_sig_is_gathered(const struct tc_sig *sig, const struct tc_arguments *args)
{
    return sig->is_variadic && args->n > 0 && PyLong_Check(args->items[0]);
}

/* ---- overloads ---- */

static bool is_accepted(enum tc_accepts accepts, PyObject *value)
{
    switch (accepts) {
    case TC_ACCEPTS_TENSOR:
        return tc_tensor_is(value);
    case TC_ACCEPTS_INDEX:
        return PyLong_Check(value) || tc_dtype_of(value);
    case TC_ACCEPTS_SIZES:
        return PyLong_Check(value) || PyTuple_Check(value) || PyList_Check(value);
    case TC_ACCEPTS_ANY:
        break;
    }
    return true;
}

static bool takes_param(const struct tc_sig_param *param, const struct tc_arguments *args,
                        size_t *position)
{
    PyObject *named = tc_sig_value_named(args, param);
    PyObject *value = named;

    if (param->positional && *position < args->n) {
        if (named)
            return false;
        value = args->items[(*position)++];
    }
    return value ? is_accepted(param->accepts, value) : !param->required;
}

/* Bindings add these to what the schema of an operator holds. */
static bool is_of_binding(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0;
}

PyObject *tc_arguments_at(const struct tc_arguments *args, const char *name, size_t position)
{
    if (position < args->n)
        return args->items[position];
    for (Py_ssize_t i = 0; args->names && i < PyTuple_GET_SIZE(args->names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(args->names, i), name) == 0)
            return args->items[args->n + (size_t)i];
    return NULL;
}

static bool takes(const struct tc_sig *sig, const struct tc_arguments *args)
{
    size_t position = 0;

    if (args->n > sig->n_positional && !tc_sig_is_gathered(sig, args))
        return false;
    for (size_t i = 0; i < sig->n; i++)
        if (!takes_param(&sig->params[i], args, &position))
            return false;
    for (Py_ssize_t i = 0; args->names && i < PyTuple_GET_SIZE(args->names); i++)
        if (!tc_sig_named(sig, PyTuple_GET_ITEM(args->names, i)) &&
            !is_of_binding(PyTuple_GET_ITEM(args->names, i)))
            return false;
    return true;
}

const struct tc_sig *tc_sig_choose(const struct tc_sig *sig, const struct tc_arguments *args)
{
    static const struct tc_sig by_position;

    if (!sig->next) /* nothing to choose from */
        return sig;
    while (sig && !takes(sig, args))
        sig = sig->next;
    return sig ? sig : &by_position;
}
