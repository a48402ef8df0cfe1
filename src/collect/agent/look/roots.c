/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roots.c - names of variables, from the tree of modules below each root
 *
 * A walk first only looks for something new, which costs a visit of each member; only then a
 * second walk makes paths and names. Modules of torch are read by their dicts, never by attribute,
 * so no code of the user runs. One that a root calls but does not hold is named by the innermost
 * open call of a module that does.
 */
#include "collect/agent/look/roots.h"

#include <string.h>

#include "base/map.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/modules.h"

/* A module that a root holds, or calls. */
struct module_place {
    int64_t root;
    char *path;
};

static TC_VEC(int64_t) roots; /* serials */
static TC_VEC(struct module_place) module_places;
static struct tc_map place_of; /* serial of a module to the index of its place */
static struct tc_strbuf path;

struct walk {
    int64_t root;
    struct tc_strbuf *path; /* of the module, NULL while only looking for something new */
    bool found_new;
};

static void meet_member(struct walk *w, PyObject *module, PyObject *key, PyObject *tensor,
                        bool is_buffer)
{
    int64_t serial = tc_identity_tensor(tensor);
    struct tc_tracked *v = serial ? tc_tracked_find(serial) : NULL;
    size_t size;

    if (!serial || (v && v->root && tc_ref_get(v->ref)))
        return;
    if (is_buffer && tc_tensor_is_wrapped(tensor))
        return;
    if (!w->path) {
        w->found_new = true;
        return;
    }
    v = tc_tracked_meet(tensor, serial);
    if (!v)
        return;
    size = w->path->size;
    tc_strbuf_addf(w->path, ".%s", PyUnicode_AsUTF8(key));
    tc_tracked_set_name(v, w->path->text, w->root);
    w->path->size = size;
    w->path->text[size] = '\0';
    v->is_buffer = is_buffer;
    Py_XDECREF(v->owner);
    v->owner = PyWeakref_NewRef(module, NULL);
}

/* torch.func.functional_call() puts other tensors in the place of parameters while it runs. */
static bool is_member(PyObject *value, bool is_buffer)
{
    return is_buffer ? tc_tensor_is(value) : tc_tensor_is_parameter(value);
}

static void walk_members(struct walk *w, PyObject *module, enum tc_module_entry entry,
                         bool is_buffer)
{
    PyObject *dict = tc_module_entry(module, entry);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (dict && PyDict_Check(dict) && PyDict_Next(dict, &pos, &key, &value))
        if (PyUnicode_Check(key) && is_member(value, is_buffer))
            meet_member(w, module, key, value, is_buffer);
}

/* What the module that held the buffer has under its name now; borrowed. */
static PyObject *buffer_now(const struct tc_tracked *v)
{
    PyObject *owner = tc_ref_get(v->owner);
    PyObject *buffers = owner ? tc_module_entry(owner, TC_MODULE_BUFFERS) : NULL;
    const char *key = v->name ? strrchr(v->name, '.') : NULL;
    PyObject *found =
        key && buffers && PyDict_Check(buffers) ? PyDict_GetItemString(buffers, key + 1) : NULL;

    return found && is_member(found, true) && !tc_tensor_is_wrapped(found) ? found : NULL;
}

PyObject *tc_roots_take_successor(struct tc_tracked *v)
{
    PyObject *tensor = v->is_buffer ? buffer_now(v) : NULL, *ref;

    if (!tensor || tc_tracked_find(tc_identity_tensor(tensor)))
        return NULL;
    ref = PyWeakref_NewRef(tensor, NULL);
    if (!ref) {
        PyErr_Clear();
        return NULL;
    }
    Py_XDECREF(v->ref);
    v->ref = ref;
    tc_identity_restore(tensor, v->serial);
    return tensor;
}

static const struct module_place *find_module(PyObject *module)
{
    uint64_t i;

    return tc_map_get(&place_of, (uint64_t)tc_identity(module), &i) ? &module_places.items[i]
                                                                    : NULL;
}

static void add_place(const struct walk *w, PyObject *module)
{
    struct module_place fresh = {.root = w->root};
    bool is_new;
    uint64_t *at = tc_map_at(&place_of, (uint64_t)tc_identity(module), &is_new);

    if (!is_new)
        return;
    fresh.path = tc_strdup(w->path->text);
    *at = module_places.n;
    tc_vec_push(&module_places, fresh);
}

static void walk_module(struct walk *w, PyObject *module, int depth)
{
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    size_t size = w->path ? w->path->size : 0;

    if (w->path)
        add_place(w, module);
    walk_members(w, module, TC_MODULE_PARAMETERS, false);
    walk_members(w, module, TC_MODULE_BUFFERS, true);
    while (depth < TC_MODULE_MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value)) {
        if (value == Py_None || !PyUnicode_Check(key))
            continue;
        if (w->path)
            tc_strbuf_addf(w->path, ".%s", PyUnicode_AsUTF8(key));
        walk_module(w, value, depth + 1);
        if (w->path) {
            w->path->size = size;
            w->path->text[size] = '\0';
        }
    }
}

static bool is_root(PyObject *module)
{
    int64_t serial = tc_identity(module);

    for (size_t i = 0; i < roots.n; i++)
        if (roots.items[i] == serial)
            return true;
    return false;
}

static bool holds_root(PyObject *module, int depth)
{
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (is_root(module))
        return true;
    while (depth < TC_MODULE_MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None && holds_root(value, depth + 1))
            return true;
    return false;
}

bool tc_roots_are_in(PyObject *module)
{
    return holds_root(module, 0);
}

/* False if --models-to-track leaves it out. */
static bool name_root(PyObject *module)
{
    PyObject *name = tc_policy_call("name_of_root", "(O)", module);
    const char *text = name && name != Py_None ? PyUnicode_AsUTF8(name) : NULL;

    tc_strbuf_reset(&path);
    if (text)
        tc_strbuf_adds(&path, text);
    Py_XDECREF(name);
    return text != NULL;
}

void tc_roots_meet(PyObject *module)
{
    struct walk w = {.root = tc_identity(module)};

    if (!is_root(module))
        tc_vec_push(&roots, w.root);
    if (!tc_agent.track || tc_agent.is_skipped)
        return;
    walk_module(&w, module, 0);
    if (!w.found_new || !name_root(module))
        return;
    w.path = &path;
    walk_module(&w, module, 0);
}

/* Borrowed: of the module, or else of what it holds; NULL if there is none. */
static PyObject *first_parameter(PyObject *module, int depth)
{
    PyObject *dict = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *key, *value, *found = NULL;
    Py_ssize_t pos = 0;

    while (dict && PyDict_Check(dict) && PyDict_Next(dict, &pos, &key, &value))
        if (tc_tensor_is(value))
            return value;
    dict = tc_module_entry(module, TC_MODULE_MODULES);
    pos = 0;
    while (!found && depth < TC_MODULE_MAX_DEPTH && dict && PyDict_Check(dict) &&
           PyDict_Next(dict, &pos, &key, &value))
        if (value != Py_None)
            found = first_parameter(value, depth + 1);
    return found;
}

/* A variable that no root holds. */
static bool is_stranger(PyObject *tensor)
{
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(tensor));

    return !v || !v->root;
}

/* Put the path of the module behind that of its holder; false if the holder does not know it. */
static bool name_in_holder(PyObject *holder, PyObject *module)
{
    PyObject *name = tc_policy_call("name_in_module", "(OO)", holder, module);
    const char *text = name && name != Py_None ? PyUnicode_AsUTF8(name) : NULL;

    if (text)
        tc_strbuf_addf(&path, ".%s", text);
    Py_XDECREF(name);
    PyErr_Clear();
    return text != NULL;
}

/* The path of a module by the innermost open call of one that holds it; else behind the root's. */
static bool name_called(const struct tc_thread *thread, PyObject *module, int64_t *root)
{
    const struct module_place *place = NULL;
    bool found = false;

    for (size_t i = thread->stack.n; i > 0 && !found; i--) {
        PyObject *holder = thread->stack.items[i - 1].receiver;
        const struct module_place *p = holder ? find_module(holder) : NULL;

        if (!p)
            continue;
        place = p;
        tc_strbuf_reset(&path);
        tc_strbuf_adds(&path, p->path);
        found = name_in_holder(holder, module);
    }
    if (!place)
        return false;
    *root = place->root;
    if (!found)
        tc_strbuf_addf(&path, ".%s", Py_TYPE(module)->tp_name);
    return true;
}

void tc_roots_meet_called(const struct tc_thread *thread, PyObject *module)
{
    struct walk w = {.path = &path};
    PyObject *parameter;

    if (!tc_agent.track || tc_agent.is_skipped || thread->number != 0)
        return;
    if (find_module(module)) /* as nearly all have one */
        return;
    parameter = first_parameter(module, 0);
    if (!parameter || !is_stranger(parameter))
        return;
    if (name_called(thread, module, &w.root))
        walk_module(&w, module, 0);
}

void tc_roots_reset(void)
{
    for (size_t i = 0; i < module_places.n; i++)
        tc_free(module_places.items[i].path);
    tc_vec_release(&module_places);
    tc_map_clear(&place_of);
    tc_vec_release(&roots);
}
