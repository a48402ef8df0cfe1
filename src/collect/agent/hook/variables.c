/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.c - one look at all known variables
 *
 * All that is asked of devices is submitted first, then each variable is seen and a record made if
 * there is news. A second look at the same moment of the agent is left out unless it looks harder.
 * After a side stream was left its work is waited for before contents are read, as else half a
 * write would be seen.
 */
#include "collect/agent/hook/variables.h"

#include "collect/agent/look/look.h"
#include "collect/agent/look/owned.h"
#include "collect/agent/look/roots.h"
#include "collect/agent/look/seen.h"
#include "collect/agent/say/var_record.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/torch.h"

static uint64_t looked_at; /* the moment of the last look */
static bool has_left;      /* streams on which something may still be written */

/* See it, and write a record if there is something new. */
static void look_at(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor, int64_t cause,
                    bool verify)
{
    PyObject *shield;
    struct tc_seen s;
    struct tc_news news;

    Py_INCREF(tensor);
    shield = tc_tensor_shield_of(tensor);
    v->is_due = false;
    if (tc_seen_take(v, tensor, &s, &news, verify))
        tc_var_record(thread, v, tensor, &s, &news, cause);
    else
        PyErr_Clear();
    tc_tensor_unshield(shield);
    Py_DECREF(tensor);
}

/* Before that, within a look at several: what it will ask. */
static void ask_variable(const struct tc_tracked *v, PyObject *tensor, bool verify)
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
    return look == TC_LOOK_ALL || look == TC_LOOK_REPLAY || (look == TC_LOOK_STEP && v->is_due) ||
           (look == TC_LOOK_FORWARD && v->is_buffer);
}

/* As when a call cuts a window and then looks for itself: nothing can have changed. */
static bool has_just_looked(enum tc_look look)
{
    return look == TC_LOOK_QUICK && looked_at == tc_agent.moment && !tc_tracked_has_news();
}

static void ask_all(enum tc_look look)
{
    for (size_t i = 0; i < tc_tracked_n(); i++) {
        struct tc_tracked *v = tc_tracked_at(i);
        PyObject *tensor = tc_ref_get(v->ref);

        if (look == TC_LOOK_REPLAY)
            tc_seen_distrust_grad(v);
        if (tensor && v->name)
            ask_variable(v, tensor, is_verified(v, look));
    }
}

static bool may_look(const struct tc_thread *thread)
{
    return tc_agent.track && !tc_agent.is_skipped && !tc_agent.worker && thread->number == 0 &&
           tc_agent_ready();
}

static void join_streams(void)
{
    has_left = false;
    Py_XDECREF(tc_policy_call("join_streams", NULL));
    PyErr_Clear();
}

void tc_variables_look(struct tc_thread *thread, int64_t cause, enum tc_look look)
{
    if (!may_look(thread) || has_just_looked(look))
        return;
    if (has_left && look >= TC_LOOK_ALL)
        join_streams();
    looked_at = tc_agent.moment;
    tc_tracked_take_news();
    tc_look_begin();
    ask_all(look);
    tc_look_submit();
    for (size_t i = 0; i < tc_tracked_n(); i++) {
        struct tc_tracked *v = tc_tracked_at(i);
        PyObject *tensor = tc_ref_get(v->ref);

        if (!tensor)
            tensor = tc_roots_take_successor(v);
        if (tensor && v->name)
            look_at(thread, v, tensor, cause, is_verified(v, look));
    }
    tc_look_end();
}

bool tc_variables_look_at_all(struct tc_thread *thread)
{
    if (!may_look(thread))
        return false;
    tc_variables_look(thread, 0, TC_LOOK_ALL);
    return true;
}

bool tc_variables_leave_stream(struct tc_thread *thread)
{
    if (!may_look(thread) || thread->n_core || thread->muted || thread->is_capturing)
        return false;
    tc_agent.moment++;
    if (thread->stage !=
        TC_STAGE_INIT) /* else their root may not be known yet, by which they are called */
        tc_variables_look(thread, 0, TC_LOOK_QUICK);
    has_left = true;
    return true;
}

/* ---- of an optimizer ---- */

static void expect_change(PyObject *param, size_t group, size_t i, void *context)
{
    struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    (void)context;
    if (v)
        v->is_due = true;
}

void tc_variables_look_after_step(struct tc_thread *thread, int64_t cause, PyObject *optimizer)
{
    if (!may_look(thread))
        return;
    tc_owned_each(optimizer, expect_change, NULL);
    tc_variables_look(thread, cause, TC_LOOK_STEP);
}

struct owned_look {
    struct tc_thread *thread;
    int64_t cause;
    bool has_stepped;
};

static void ask_param(PyObject *param, size_t group, size_t i, void *context)
{
    const struct owned_look *look = context;
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (v && v->name)
        ask_variable(v, param, look->has_stepped);
}

static void look_at_param(PyObject *param, size_t group, size_t i, void *context)
{
    const struct owned_look *look = context;
    struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (v && v->name)
        look_at(look->thread, v, param, look->cause, look->has_stepped);
}

void tc_variables_look_at_owned(struct tc_thread *thread, int64_t cause, PyObject *optimizer,
                                bool has_stepped)
{
    struct owned_look look = {thread, cause, has_stepped};

    if (!may_look(thread))
        return;
    tc_look_begin();
    tc_owned_each(optimizer, ask_param, &look);
    tc_look_submit();
    tc_owned_each(optimizer, look_at_param, &look);
    tc_look_end();
}

void tc_variables_reset(void)
{
    tc_tracked_reset();
    tc_roots_reset();
    tc_seen_reset();
    has_left = false;
}
