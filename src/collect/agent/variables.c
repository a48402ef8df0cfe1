/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/variables.h"

#include "base/map.h"
#include "collect/agent/identity.h"
#include "collect/agent/look.h"
#include "collect/agent/tracked.h"

static struct {
    TC_VEC(struct tc_tracked) all;
    struct tc_map by_serial; /* to index */
    uint64_t looked_at;      /* the moment of the last look */
    bool has_news;           /* since then one was met, or named */
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

void tc_tracked_look(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                     int64_t cause, bool verify)
{
    PyObject *shield;
    struct tc_seen s;
    struct tc_news news;

    Py_INCREF(tensor);
    shield = tc_tensor_shield_of(tensor);
    v->is_due = false;
    if (tc_seen_take(v, tensor, &s, &news, verify))
        tc_tracked_record(thread, v, tensor, &s, &news, cause);
    else
        PyErr_Clear();
    tc_tensor_unshield(shield);
    Py_DECREF(tensor);
}

void tc_tracked_ask(const struct tc_tracked *v, PyObject *tensor, bool verify)
{
    PyObject *shield;

    if (v->announced && !tc_look_is_elsewhere(&v->seen.tensor))
        return;
    Py_INCREF(tensor);
    shield = tc_tensor_shield_of(tensor);
    tc_seen_ask(v, tensor, verify);
    tc_tensor_unshield(shield);
    Py_DECREF(tensor);
}

static bool is_verified(const struct tc_tracked *v, enum tc_look look)
{
    return look == TC_LOOK_ALL || (look == TC_LOOK_STEP && v->is_due) ||
           (look == TC_LOOK_FORWARD && v->is_buffer);
}

/* As when a call cuts a window and then looks for itself: nothing can have changed. */
static bool has_just_looked(enum tc_look look)
{
    return look == TC_LOOK_QUICK && vars.looked_at == tc_agent.moment && !vars.has_news;
}

static void ask_all(enum tc_look look)
{
    for (size_t i = 0; i < vars.all.n; i++) {
        const struct tc_tracked *v = &vars.all.items[i];
        PyObject *tensor = tc_ref_get(v->ref);

        if (tensor && v->name)
            tc_tracked_ask(v, tensor, is_verified(v, look));
    }
}

bool tc_variables_may_look(const struct tc_thread *thread)
{
    return tc_agent.track && !tc_agent.is_dark && !tc_agent.worker && thread->number == 0 &&
           tc_agent_ready();
}

void tc_variables_look(struct tc_thread *thread, int64_t cause, enum tc_look look)
{
    if (!tc_variables_may_look(thread) || has_just_looked(look))
        return;
    vars.looked_at = tc_agent.moment;
    vars.has_news = false;
    tc_look_begin();
    ask_all(look);
    tc_look_submit();
    for (size_t i = 0; i < vars.all.n; i++) {
        PyObject *tensor = tc_ref_get(vars.all.items[i].ref);

        if (!tensor)
            tensor = tc_tracked_take_successor(&vars.all.items[i]);
        if (tensor && vars.all.items[i].name)
            tc_tracked_look(thread, &vars.all.items[i], tensor, cause,
                            is_verified(&vars.all.items[i], look));
    }
    tc_look_end();
}

void tc_variables_let_go(PyObject *tensor)
{
    int64_t serial = tc_identity_forget(tensor);
    struct tc_tracked *v = serial ? tc_tracked_find(serial) : NULL;

    if (v)
        Py_CLEAR(v->ref);
    for (size_t i = 0; i < vars.all.n; i++)
        if (tc_ref_get(vars.all.items[i].grad) == tensor)
            Py_CLEAR(vars.all.items[i].grad);
}

void tc_variables_reset(void)
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
    tc_roots_reset();
    tc_seen_reset();
}
