/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.c - the policy's table of APIs, and classes described once each
 *
 * A class is found by the address of its type, checked by a weak reference, as an address is used
 * again. It is never freed: readers may hold it. APIs are numbered in the order in which the
 * policy adds them. NULL leaves a Python error set.
 */
#include "collect/agent/torch/classes.h"

#include <string.h>

#include "base/map.h"

#define N_LAST_TYPES 64

static TC_VEC(struct tc_api *) apis;
static struct tc_map classes; /* address of the type to struct tc_class */

static char *quoted(const char *text)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    tc_strbuf_add_json(&out, text, strlen(text));
    return tc_strbuf_take(&out);
}

/* Windows must go on being cut, and what stands around later calls must be known. */
static bool is_needed_in_skipped(enum tc_role role)
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
    api->n_fn = strlen(api->fn);
    api->defaults = defaults ? tc_strdup(defaults) : NULL;
    api->role = role;
    api->flags = flags;
    api->group = group;
    api->in_skipped = is_needed_in_skipped(role);
    tc_vec_push(&apis, api);
    return (int)apis.n - 1;
}

struct tc_api *tc_api_get(long index)
{
    return index >= 0 && (size_t)index < apis.n ? apis.items[index] : NULL;
}

bool tc_api_is_container(const struct tc_api *api)
{
    return api->role == TC_ROLE_LIBRARY || api->role == TC_ROLE_METHOD;
}

static const char *behind_dot(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

/* Ask the policy what to call a class; NULL with a Python error set. */
static struct tc_class *describe(PyTypeObject *type)
{
    struct tc_class *class = tc_calloc(1, sizeof(*class));
    PyObject *said = NULL, *params;
    const char *name;
    long kind, layer, forward;
    int opaque, dispatches, distributed, part, ours;

    class->ref = PyWeakref_NewRef((PyObject *)type, NULL);
    if (class->ref)
        said = tc_policy_call("describe_class", "(O)", type);
    if (!said || !PyArg_ParseTuple(said, "slpppppllO", &name, &kind, &opaque, &dispatches,
                                   &distributed, &part, &ours, &layer, &forward, &params))
        goto fail;
    class->name = quoted(name);
    class->short_name = quoted(behind_dot(type->tp_name));
    class->n_short_name = strlen(class->short_name);
    class->kind = (enum tc_class_kind)kind;
    class->opaque = opaque;
    class->dispatches = dispatches;
    class->distributed = distributed;
    class->part = part;
    class->ours = ours;
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
    tc_free(class->short_name);
    tc_free(class);
    return NULL;
}

static bool is_of(const struct tc_class *class, PyTypeObject *type)
{
    return class && tc_ref_get(class->ref) == (PyObject *)type;
}

struct tc_class *tc_class_of(PyTypeObject *type)
{
    static struct tc_class *last[N_LAST_TYPES]; /* few types make up most calls */
    struct tc_class **place = &last[(uintptr_t)type / 64 % N_LAST_TYPES], *class;

    if (is_of(*place, type))
        return *place;
    class = tc_map_find(&classes, (uint64_t)(uintptr_t)type);
    if (is_of(class, type))
        return *place = class;
    class = describe(type);
    if (class) /* one that describes another class of that address is left to its readers */
        tc_map_put(&classes, (uint64_t)(uintptr_t)type, (uint64_t)(uintptr_t) class);
    return class;
}
