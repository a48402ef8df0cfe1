/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/modules.h"

#include <string.h>

#include "collect/agent/encode.h"
#include "collect/agent/signature.h"

static TC_VEC(struct tc_api *) apis;

static char *quoted(const char *text)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    tc_strbuf_add_json(&out, text, strlen(text));
    return tc_strbuf_take(&out);
}

/* Windows must go on being cut, and what stands around later calls must be known. */
static bool is_needed_in_dark(enum tc_role role)
{
    switch (role) {
    case TC_ROLE_FORWARD:
    case TC_ROLE_STEP:
    case TC_ROLE_ZERO_GRAD:
    case TC_ROLE_DATA:
    case TC_ROLE_MODE:
    case TC_ROLE_LIBRARY:
    case TC_ROLE_METHOD:
        return true;
    default:
        return false;
    }
}

int tc_api_add(const char *fn, enum tc_role role, unsigned flags, int group, const char *defaults)
{
    struct tc_api *api = tc_calloc(1, sizeof(*api));

    api->fn = quoted(fn);
    api->defaults = defaults ? tc_strdup(defaults) : NULL;
    api->role = role;
    api->flags = flags;
    api->group = group;
    api->in_dark = is_needed_in_dark(role);
    tc_vec_push(&apis, api);
    return (int)apis.n - 1;
}

struct tc_api *tc_api_get(long index)
{
    return index >= 0 && (size_t)index < apis.n ? apis.items[index] : NULL;
}

struct tc_class *tc_module_describe_class(PyTypeObject *type)
{
    struct tc_class *class = tc_calloc(1, sizeof(*class));
    PyObject *said = NULL, *params;
    const char *name;
    long kind, layer, forward;
    int opaque, dispatches, distributed, part;

    class->ref = PyWeakref_NewRef((PyObject *)type, NULL);
    if (class->ref)
        said = tc_policy_call("describe_class", "(O)", type);
    if (!said || !PyArg_ParseTuple(said, "slppppllO", &name, &kind, &opaque, &dispatches,
                                   &distributed, &part, &layer, &forward, &params))
        goto fail;
    class->name = quoted(name);
    class->kind = (enum tc_class_kind)kind;
    class->opaque = opaque;
    class->dispatches = dispatches;
    class->distributed = distributed;
    class->part = part;
    class->layer = tc_api_get(layer);
    class->forward = tc_api_get(forward);
    class->sig = tc_sig_new(params);
    if (!class->sig)
        goto fail;
    Py_DECREF(said);
    return class;
fail:
    Py_XDECREF(said);
    Py_XDECREF(class->ref);
    tc_free(class->name);
    tc_free(class);
    return NULL;
}

PyObject *tc_module_entry(PyObject *module, enum tc_module_entry entry)
{
    static const char *const texts[] = {"_parameters", "_buffers", "_modules", "training"};
    static PyObject *names[sizeof(texts) / sizeof(texts[0])]; /* interned once */
    PyObject **dict = _PyObject_GetDictPtr(module), *found;

    if (!names[entry])
        names[entry] = PyUnicode_InternFromString(texts[entry]);
    if (!names[entry] || !dict || !*dict || !PyDict_Check(*dict))
        return NULL;
    found = PyDict_GetItemWithError(*dict, names[entry]);
    if (!found)
        PyErr_Clear();
    return found;
}

static bool owns(PyObject *module, int depth)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (depth > TC_MODULE_MAX_DEPTH)
        return false;
    while (parameters && PyDict_Check(parameters) && PyDict_Next(parameters, &pos, &key, &value))
        if (value != Py_None)
            return true;
    pos = 0;
    while (children && PyDict_Check(children) && PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None && owns(value, depth + 1))
            return true;
    return false;
}

bool tc_module_owns_parameter(PyObject *module)
{
    return owns(module, 0);
}

/* The one child of a module without parameters of its own; NULL of any other. */
static PyObject *wrapped(PyObject *module)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *child;
    Py_ssize_t pos = 0;

    if (!parameters || !PyDict_Check(parameters) || PyDict_GET_SIZE(parameters) || !children ||
        !PyDict_Check(children) || PyDict_GET_SIZE(children) != 1)
        return NULL;
    return PyDict_Next(children, &pos, &key, &child) && child != Py_None ? child : NULL;
}

/* Scripted modules keep it in C++. */
static bool asks_for_training(PyObject *module)
{
    PyObject *found = PyObject_GetAttrString(module, "training");

    Py_XDECREF(found);
    PyErr_Clear();
    return found == Py_True;
}

bool tc_module_is_training(PyObject *module)
{
    PyObject *entry = tc_module_entry(module, TC_MODULE_TRAINING), *inner = module;

    for (int depth = 0; !entry && depth < TC_MODULE_MAX_DEPTH && (inner = wrapped(inner)); depth++)
        entry = tc_module_entry(inner, TC_MODULE_TRAINING);
    return entry ? entry == Py_True : asks_for_training(module);
}

bool tc_module_root_is_training(PyObject *root)
{
    PyObject *inner = root;

    for (int depth = 0; (inner = wrapped(root)) && depth < TC_MODULE_MAX_DEPTH; depth++)
        root = inner;
    return tc_module_is_training(root);
}
