/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizers.c - variables that an optimizer owns
 */
#include "collect/agent/tracked.h"

#include "collect/agent/classes.h"
#include "collect/agent/identity.h"
#include "collect/agent/line.h"
#include "collect/agent/look.h"
#include "collect/agent/modules.h"
#include "collect/agent/queue.h"

typedef void param_fn(PyObject *param, size_t group, size_t i, void *context);

static void each_in_group(PyObject *group, size_t g, param_fn *visit, void *context)
{
    PyObject *params = PyDict_Check(group) ? PyDict_GetItemString(group, "params") : NULL;

    if (!params || !PyList_Check(params))
        return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++)
        if (tc_tensor_is(PyList_GET_ITEM(params, i)))
            visit(PyList_GET_ITEM(params, i), g, (size_t)i, context);
}

/* Of a module and all it holds, as if it were one group. */
static void each_of_module(PyObject *module, param_fn *visit, void *context, int depth)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (parameters && PyDict_Check(parameters) && PyDict_Next(parameters, &pos, &key, &value))
        if (tc_tensor_is(value))
            visit(value, 0, 0, context);
    pos = 0;
    while (depth < TC_MODULE_MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None)
            each_of_module(value, visit, context, depth + 1);
}

static bool is_module(PyObject *optimizer)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));

    return class && class->kind == TC_CLASS_MODULE;
}

static void each_param(PyObject *optimizer, param_fn *visit, void *context)
{
    PyObject *groups;

    if (is_module(optimizer)) {
        each_of_module(optimizer, visit, context, 0);
        return;
    }
    groups = PyObject_GetAttrString(optimizer, "param_groups");

    for (Py_ssize_t i = 0; groups && PyList_Check(groups) && i < PyList_GET_SIZE(groups); i++)
        each_in_group(PyList_GET_ITEM(groups, i), (size_t)i, visit, context);
    Py_XDECREF(groups);
    PyErr_Clear();
}

static void meet_param(PyObject *param, size_t group, size_t i, void *context)
{
    int64_t serial = tc_identity_tensor(param);
    struct tc_tracked *v = serial ? tc_tracked_meet(param, serial) : NULL;
    struct tc_strbuf name = TC_STRBUF_INIT;

    (void)context;
    if (!v)
        return;
    if (v->name || tc_agent.is_narrowed) /* then it waits until a root is known */
        return;
    tc_strbuf_addf(&name, "optimizer.param_groups[%zu][%zu]", group, i);
    tc_tracked_set_name(v, name.text, 0);
    tc_strbuf_release(&name);
}

void tc_variables_meet_optimizer(PyObject *optimizer)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));

    if (tc_agent.track && !tc_agent.is_dark && class && class->kind == TC_CLASS_OPTIMIZER)
        each_param(optimizer, meet_param, NULL);
}

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
    if (!tc_variables_may_look(thread))
        return;
    each_param(optimizer, expect_change, NULL);
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
        tc_tracked_ask(v, param, look->has_stepped);
}

static void look_at_param(PyObject *param, size_t group, size_t i, void *context)
{
    const struct owned_look *look = context;
    struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (v && v->name)
        tc_tracked_look(look->thread, v, param, look->cause, look->has_stepped);
}

void tc_variables_look_at_owned(struct tc_thread *thread, int64_t cause, PyObject *optimizer,
                                bool has_stepped)
{
    struct owned_look look = {thread, cause, has_stepped};

    if (!tc_variables_may_look(thread))
        return;
    tc_look_begin();
    each_param(optimizer, ask_param, &look);
    tc_look_submit();
    each_param(optimizer, look_at_param, &look);
    tc_look_end();
}

/* As relied.check_groups() of the policy, which tells of it. */
static bool shows_params(PyObject *optimizer)
{
    PyObject *groups = PyObject_GetAttrString(optimizer, "param_groups");
    bool shows = groups && PyList_Check(groups);

    for (Py_ssize_t i = 0; shows && i < PyList_GET_SIZE(groups); i++) {
        PyObject *group = PyList_GET_ITEM(groups, i);
        PyObject *params = PyDict_Check(group) ? PyDict_GetItemString(group, "params") : NULL;
        shows = params && PyList_Check(params);
    }
    Py_XDECREF(groups);
    PyErr_Clear();
    return shows;
}

struct params {
    struct tc_strbuf *out;
    size_t n;
};

static void add_param(PyObject *param, size_t group, size_t i, void *context)
{
    struct params *p = context;
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (!v || !v->announced)
        return;
    if (p->n++)
        tc_strbuf_addc(p->out, ',');
    tc_strbuf_add_int(p->out, v->serial);
}

/* Variables of an optimizer, for what depends on their gradients and may have to wait for them. */
struct owned {
    struct tc_deferred head; /* for stepped() */
    size_t n, cap;
    struct {
        struct tc_told *told;
        int64_t serial;
    } items[];
};

static void count_owned(PyObject *param, size_t group, size_t i, void *context)
{
    (void)param;
    (void)group;
    (void)i;
    ++*(size_t *)context;
}

static void add_owned(PyObject *param, size_t group, size_t i, void *context)
{
    struct owned *owned = context;
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (!v || !v->announced || owned->n == owned->cap)
        return;
    owned->items[owned->n].told = v->told;
    owned->items[owned->n++].serial = v->serial;
}

/* To be freed with tc_free. */
static struct owned *owned_by(PyObject *optimizer)
{
    size_t n = 0, size;
    struct owned *owned;

    each_param(optimizer, count_owned, &n);
    size = sizeof(*owned) + n * sizeof(owned->items[0]);
    owned = tc_calloc(1, size);
    owned->cap = n;
    owned->head.size = size;
    each_param(optimizer, add_owned, owned);
    return owned;
}

static void fill_uncleared(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                           const struct tc_piece *pieces)
{
    const struct owned *owned = hole->told;
    size_t n = 0;

    (void)text;
    (void)pieces;
    for (size_t i = 0; i < owned->n; i++) {
        const struct tc_told *told = owned->items[i].told;

        if (told->cleared || told->grad == TC_GRAD_NULL)
            continue;
        tc_strbuf_adds(out, n++ ? "," : ",\"uncleared\":[");
        tc_strbuf_add_int(out, owned->items[i].serial);
    }
    if (n)
        tc_strbuf_addc(out, ']');
}

void tc_variables_add_params(struct tc_strbuf *out, PyObject *optimizer, bool with_uncleared)
{
    struct params p = {out, 0};

    if (!tc_agent.track || (!is_module(optimizer) && !shows_params(optimizer)))
        return;
    tc_strbuf_adds(out, ",\"params\":[");
    each_param(optimizer, add_param, &p);
    tc_strbuf_addc(out, ']');
    if (!with_uncleared)
        return;
    tc_line_open(fill_uncleared, owned_by(optimizer));
    tc_line_close();
}

static void run_stepped(struct tc_deferred *self)
{
    const struct owned *owned = (const struct owned *)(void *)self;

    for (size_t i = 0; i < owned->n; i++) {
        struct tc_told *told = owned->items[i].told;

        if (told->grad != TC_GRAD_NULL && told->grad != TC_GRAD_ZERO)
            told->cleared = false;
    }
}

static void free_stepped(struct tc_deferred *self)
{
    tc_free(self);
}

void tc_variables_stepped(PyObject *optimizer)
{
    struct owned *owned;

    if (!tc_agent.track)
        return;
    owned = owned_by(optimizer);
    owned->head.run = run_stepped;
    owned->head.free = free_stepped;
    tc_queue_do(&owned->head);
}
