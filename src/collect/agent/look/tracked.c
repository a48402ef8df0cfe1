/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracked.c - the list of variables, found by serial
 *
 * A variable is never removed: its weak reference dies, and another tensor object of the same
 * storage may take its place. Pointers into the list are valid until the next tc_tracked_meet().
 * With the interpreter's lock.
 */
#include "collect/agent/look/tracked.h"

#include "base/map.h"
#include "collect/agent/torch/identity.h"

static struct {
    TC_VEC(struct tc_tracked) all;
    struct tc_map by_serial; /* to index */
    bool has_news;           /* one was met, or named */
} vars;

struct tc_tracked *tc_tracked_find(int64_t serial)
{
    uint64_t i;

    return tc_map_get(&vars.by_serial, (uint64_t)serial, &i) ? &vars.all.items[i] : NULL;
}

struct tc_tracked *tc_tracked_meet(PyObject *tensor, int64_t serial)
{
    struct tc_tracked fresh = {.serial = serial};
    struct tc_tracked *v = tc_tracked_find(serial);

    if (v && tc_ref_get(v->ref) == tensor)
        return v;
    vars.has_news = true;
    if (v) { /* the storage lives on under another tensor object */
        PyObject *ref = PyWeakref_NewRef(tensor, NULL);

        if (!tc_ref_get(v->ref) && ref) {
            Py_XDECREF(v->ref);
            v->ref = ref;
        } else {
            Py_XDECREF(ref);
        }
        PyErr_Clear();
        return v;
    }
    fresh.ref = PyWeakref_NewRef(tensor, NULL);
    if (!fresh.ref) {
        PyErr_Clear();
        return NULL;
    }
    fresh.told = tc_told_new();
    tc_map_put(&vars.by_serial, (uint64_t)serial, vars.all.n);
    tc_vec_push(&vars.all, fresh);
    return &vars.all.items[vars.all.n - 1];
}

void tc_tracked_set_name(struct tc_tracked *v, const char *name, int64_t root)
{
    tc_free(v->name);
    v->name = tc_strdup(name);
    v->root = root;
    v->renamed = v->announced;
    vars.has_news = true;
}

size_t tc_tracked_n(void)
{
    return vars.all.n;
}

struct tc_tracked *tc_tracked_at(size_t i)
{
    return &vars.all.items[i];
}

bool tc_tracked_has_news(void)
{
    return vars.has_news;
}

void tc_tracked_take_news(void)
{
    vars.has_news = false;
}

void tc_tracked_let_go(PyObject *tensor)
{
    int64_t serial = tc_identity_forget(tensor);
    struct tc_tracked *v = serial ? tc_tracked_find(serial) : NULL;

    if (v)
        Py_CLEAR(v->ref);
    for (size_t i = 0; i < vars.all.n; i++)
        if (tc_ref_get(vars.all.items[i].grad) == tensor)
            Py_CLEAR(vars.all.items[i].grad);
}

void tc_tracked_reset(void)
{
    for (size_t i = 0; i < vars.all.n; i++) {
        Py_XDECREF(vars.all.items[i].ref);
        Py_XDECREF(vars.all.items[i].owner);
        Py_XDECREF(vars.all.items[i].grad);
        tc_free(vars.all.items[i].name);
        tc_free(vars.all.items[i].placement);
        tc_told_free(vars.all.items[i].told);
    }
    tc_vec_release(&vars.all);
    tc_map_clear(&vars.by_serial);
    vars.has_news = true;
}
