/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/settings.h"

#include <string.h>

#include "collect/agent/encode.h"
#include "collect/agent/identity.h"
#include "collect/agent/numbers.h"
#include "collect/agent/queue.h"
#include "collect/agent/steps.h"

/* Groups of one owner: more are left out. */
#define MAX_GROUPS 1024

/* A parameter group, or a scaler: one variable. */
struct group {
    int64_t serial;
    bool announced;
    bool is_idle; /* as it was told last */
    struct tc_numbers numbers;
};

struct owner {
    PyObject *ref; /* weak */
    char *name;    /* NULL until it is first looked at */
    bool is_scaler;
    bool is_idle; /* an optimizer that has neither stepped nor cleared gradients */
    TC_VEC(struct group) groups;
};

static TC_VEC(struct owner) owners;

static void release_owner(struct owner *o)
{
    for (size_t i = 0; i < o->groups.n; i++)
        tc_numbers_release(&o->groups.items[i].numbers);
    tc_vec_release(&o->groups);
    Py_XDECREF(o->ref);
    tc_free(o->name);
}

/* ---- meeting ---- */

static PyObject *groups_of(PyObject *optimizer)
{
    PyObject *groups = PyObject_GetAttrString(optimizer, "param_groups");

    if (groups && !PyList_Check(groups))
        Py_CLEAR(groups);
    PyErr_Clear();
    return groups;
}

/* Libraries wrap optimizers: the wrapper shows the groups of the one inside. */
static bool shares_groups(const struct owner *o, const PyObject *groups)
{
    PyObject *object = tc_ref_get(o->ref), *theirs;
    bool same;

    if (!object || o->is_scaler)
        return false;
    theirs = groups_of(object);
    same = theirs && theirs == groups;
    Py_XDECREF(theirs);
    return same;
}

static bool is_taken(const char *name)
{
    for (size_t i = 0; i < owners.n; i++)
        if (owners.items[i].name && strcmp(owners.items[i].name, name) == 0)
            return true;
    return false;
}

/* The script's name for it; a second one of that name has a number. */
static char *name_of(PyObject *object)
{
    PyObject *said = tc_policy_call("name_of_object", "(O)", object);
    const char *text = said ? PyUnicode_AsUTF8(said) : NULL;
    struct tc_strbuf name = TC_STRBUF_INIT;

    tc_strbuf_adds(&name, text ? text : "optimizer");
    for (size_t size = name.size, n = 2; is_taken(name.text); n++) {
        name.size = size;
        tc_strbuf_addf(&name, "_%zu", n);
    }
    Py_XDECREF(said);
    PyErr_Clear();
    return tc_strbuf_take(&name);
}

static void forget_dead(void)
{
    size_t n = 0;

    for (size_t i = 0; i < owners.n; i++) {
        if (tc_ref_get(owners.items[i].ref))
            owners.items[n++] = owners.items[i];
        else
            release_owner(&owners.items[i]);
    }
    owners.n = n;
}

static struct owner *find(const PyObject *object)
{
    for (size_t i = 0; i < owners.n; i++)
        if (tc_ref_get(owners.items[i].ref) == object)
            return &owners.items[i];
    return NULL;
}

static void add_owner(PyObject *object, bool is_scaler, bool is_idle)
{
    struct owner fresh = {
        .ref = PyWeakref_NewRef(object, NULL), .is_scaler = is_scaler, .is_idle = is_idle};

    if (fresh.ref)
        tc_vec_push(&owners, fresh);
    else
        PyErr_Clear();
}

static bool is_looking(void)
{
    return tc_agent.settings && !tc_agent.is_dark && !tc_agent.worker;
}

static struct owner *find_sharing(PyObject *optimizer)
{
    PyObject *groups = groups_of(optimizer);
    struct owner *found = NULL;

    for (size_t i = 0; i < owners.n && groups && !found; i++)
        if (shares_groups(&owners.items[i], groups))
            found = &owners.items[i];
    Py_XDECREF(groups);
    return found;
}

static struct owner *owner_of(PyObject *optimizer)
{
    struct owner *o = find(optimizer);

    return o ? o : find_sharing(optimizer);
}

void tc_settings_meet_optimizer(PyObject *optimizer, bool is_at_work)
{
    const struct tc_class *class = is_looking() ? tc_class_of(Py_TYPE(optimizer)) : NULL;
    struct owner *o;

    if (!class || class->kind != TC_CLASS_OPTIMIZER)
        return;
    o = owner_of(optimizer);
    if (!o) {
        forget_dead();
        add_owner(optimizer, false, !is_at_work);
    } else if (is_at_work) {
        o->is_idle = false;
    }
}

void tc_settings_meet_scaler(PyObject *scaler)
{
    if (!is_looking() || find(scaler))
        return;
    forget_dead();
    add_owner(scaler, true, false);
}

/* ---- records ---- */

static void begin_record(struct tc_thread *thread, const struct owner *o, size_t index,
                         struct group *g, int64_t cause)
{
    struct tc_strbuf *out = &thread->line;

    tc_strbuf_reset(out);
    tc_strbuf_addf(out, "{\"type\":\"var\",\"var\":%lld,\"t\":%lld", (long long)g->serial,
                   (long long)tc_agent_now());
    if (!g->announced) {
        struct tc_strbuf name = TC_STRBUF_INIT;

        tc_strbuf_adds(&name, o->name);
        if (!o->is_scaler)
            tc_strbuf_addf(&name, ".param_groups[%zu]", index);
        tc_strbuf_adds(out, ",\"name\":");
        tc_strbuf_add_json(out, name.text, name.size);
        tc_strbuf_addf(out, ",\"kind\":\"%s\"", o->is_scaler ? "scaler" : "param_group");
        tc_strbuf_release(&name);
    }
    tc_steps_add(thread, out);
    if (cause)
        tc_strbuf_addf(out, ",\"cause\":%lld", (long long)cause);
    tc_strbuf_adds(out, ",\"attrs\":{");
}

/* The next attribute of the record, which begins with the first. */
static void add_key(struct tc_thread *thread, const struct owner *o, size_t index, struct group *g,
                    int64_t cause, bool is_first)
{
    if (is_first)
        begin_record(thread, o, index, g, cause);
    else
        tc_strbuf_addc(&thread->line, ',');
}

static size_t add_changes(struct tc_thread *thread, const struct owner *o, size_t index,
                          struct group *g, PyObject *dict, int64_t cause)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    size_t n = 0;

    if (o->is_idle != g->is_idle) {
        add_key(thread, o, index, g, cause, n++ == 0);
        tc_strbuf_adds(&thread->line, o->is_idle ? "\"idle\":true" : "\"idle\":false");
        g->is_idle = o->is_idle;
    }
    g->numbers.next = 0;
    while (PyDict_Next(dict, &pos, &key, &value)) {
        const char *json = tc_numbers_take(&g->numbers, key, value);

        if (!json)
            continue;
        add_key(thread, o, index, g, cause, n++ == 0);
        tc_encode_str(&thread->line, key);
        tc_strbuf_addc(&thread->line, ':');
        tc_strbuf_adds(&thread->line, json);
    }
    return n;
}

static void look_at(struct tc_thread *thread, const struct owner *o, size_t index, struct group *g,
                    PyObject *dict, int64_t cause)
{
    if (!add_changes(thread, o, index, g, dict, cause))
        return;
    tc_strbuf_adds(&thread->line, "}}\n");
    tc_queue_put(thread->line.text, thread->line.size, thread->step_at);
    g->announced = true;
}

static struct group *group_at(struct owner *o, size_t index)
{
    while (o->groups.n <= index) {
        struct group fresh = {.serial = tc_identity_fresh()};

        tc_vec_push(&o->groups, fresh);
    }
    return &o->groups.items[index];
}

static void look_at_owner(struct tc_thread *thread, struct owner *o, PyObject *object,
                          int64_t cause)
{
    PyObject *found =
        o->is_scaler ? tc_policy_call("scaler_settings", "(O)", object) : groups_of(object);

    if (found && PyDict_Check(found))
        look_at(thread, o, 0, group_at(o, 0), found, cause);
    else if (found && PyList_Check(found))
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found) && i < MAX_GROUPS; i++)
            if (PyDict_Check(PyList_GET_ITEM(found, i)))
                look_at(thread, o, (size_t)i, group_at(o, (size_t)i), PyList_GET_ITEM(found, i),
                        cause);
    Py_XDECREF(found);
    PyErr_Clear();
}

static bool may_look(const struct tc_thread *thread)
{
    return is_looking() && thread->number == 0 && owners.n && tc_agent_ready();
}

static void look_by_name(struct tc_thread *thread, struct owner *o, int64_t cause)
{
    PyObject *object = tc_ref_get(o->ref);

    if (!object)
        return;
    Py_INCREF(object);
    if (!o->name)
        o->name = name_of(object);
    look_at_owner(thread, o, object, cause);
    Py_DECREF(object);
}

void tc_settings_look(struct tc_thread *thread, int64_t cause, bool has_idle)
{
    if (!may_look(thread))
        return;
    for (size_t i = 0; i < owners.n; i++)
        if (has_idle || !owners.items[i].is_idle)
            look_by_name(thread, &owners.items[i], cause);
}

void tc_settings_look_at(struct tc_thread *thread, int64_t cause, PyObject *optimizer)
{
    struct owner *o = may_look(thread) ? owner_of(optimizer) : NULL;

    if (o)
        look_by_name(thread, o, cause);
}

void tc_settings_reset(void)
{
    for (size_t i = 0; i < owners.n; i++)
        release_owner(&owners.items[i]);
    tc_vec_release(&owners);
}
