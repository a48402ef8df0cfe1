/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - owners of settings, their groups, and a record for each change
 *
 * A look renders each group, asks what lies elsewhere in one go, and puts the news into the queue,
 * where what was told is compared and the record written. Owners are known by weak references,
 * dead ones are dropped when a new one is met. A wrapper that shows the groups of the optimizer
 * inside is the same owner.
 */
#include "collect/agent/say/settings.h"

#include <string.h>

#include "collect/agent/say/encode.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/numbers.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/sink.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/identity.h"

/* Groups of one owner: more are left out. */
#define MAX_GROUPS 1024

/* A parameter group, or a scaler: one variable. */
struct group {
    int64_t serial;
    bool is_idle; /* as a look saw it last */
    struct tc_numbers numbers;
    struct tc_numbers_told *told; /* owned */
};

struct owner {
    PyObject *ref; /* weak */
    char *name;    /* NULL until it is first looked at */
    bool is_scaler;
    bool is_idle; /* an optimizer that has neither stepped nor cleared gradients */
    TC_VEC(struct group) groups;
};

static TC_VEC(struct owner) owners;

static void release_group(struct group *g)
{
    tc_numbers_release(&g->numbers);
    tc_numbers_told_let_go(g->told);
}

static void release_owner(struct owner *o)
{
    for (size_t i = 0; i < o->groups.n; i++)
        release_group(&o->groups.items[i]);
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

static struct owner *find_owner(const PyObject *object)
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
    return tc_agent.settings && !tc_agent.is_skipped && !tc_agent.worker;
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
    struct owner *o = find_owner(optimizer);

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
    if (!is_looking() || find_owner(scaler))
        return;
    forget_dead();
    add_owner(scaler, true, false);
}

/* ---- records ---- */

/* A look at all that may have changed. */
struct settings_look {
    struct tc_thread *thread;
    int64_t cause;
    struct tc_questions questions;
    TC_VEC(struct group_news *) all;
};

/* What it sees of one group. The parts of a record: up to its name, its name, and the rest up to
 * the attributes. */
struct group_news {
    struct tc_deferred head;
    int64_t serial;
    struct tc_numbers_told *told; /* held */
    struct tc_number_news numbers;
    struct tc_strbuf begin, name, rest;
    size_t step_at; /* in rest */
    bool tells_idle, is_idle;
};

static void add_setting_name(struct tc_strbuf *out, const struct owner *o, size_t index)
{
    struct tc_strbuf name = TC_STRBUF_INIT;

    tc_strbuf_adds(&name, o->name);
    if (!o->is_scaler)
        tc_strbuf_addf(&name, ".param_groups[%zu]", index);
    tc_strbuf_adds(out, ",\"name\":");
    tc_strbuf_add_json(out, name.text, name.size);
    tc_strbuf_addf(out, ",\"kind\":\"%s\"", o->is_scaler ? "scaler" : "param_group");
    tc_strbuf_release(&name);
}

static void render_news(const struct settings_look *look, const struct owner *o, size_t index,
                        struct group_news *news)
{
    tc_strbuf_addf(&news->begin, "{\"type\":\"var\",\"var\":%lld,\"t\":%lld",
                   (long long)news->serial, (long long)tc_agent_now());
    add_setting_name(&news->name, o, index);
    tc_line_add_step(look->thread, &news->rest);
    news->step_at = look->thread->step_at;
    if (look->cause)
        tc_strbuf_addf(&news->rest, ",\"cause\":%lld", (long long)look->cause);
    tc_strbuf_adds(&news->rest, ",\"attrs\":{");
}

/* False, with nothing appended, where all is as it was told. */
static bool write_record(const struct group_news *news, struct tc_strbuf *out, size_t *step_at)
{
    const size_t start = out->size;
    size_t attrs;

    tc_strbuf_add(out, news->begin.text, news->begin.size);
    if (!news->told->is_announced)
        tc_strbuf_add(out, news->name.text, news->name.size);
    *step_at = out->size - start + news->step_at;
    tc_strbuf_add(out, news->rest.text, news->rest.size);
    attrs = out->size;
    if (news->tells_idle)
        tc_strbuf_adds(out, news->is_idle ? ",\"idle\":true" : ",\"idle\":false");
    tc_numbers_tell(out, news->told, &news->numbers);
    if (out->size == attrs) {
        out->size = start;
        return false;
    }
    memmove(out->text + attrs, out->text + attrs + 1, out->size - attrs - 1); /* the comma */
    out->size--;
    tc_strbuf_adds(out, "}}\n");
    news->told->is_announced = true;
    return true;
}

static void run_news(struct tc_deferred *self)
{
    static struct tc_strbuf line; /* the queue's lock is held */
    size_t step_at;

    tc_strbuf_reset(&line);
    if (write_record((const struct group_news *)(void *)self, &line, &step_at))
        tc_sink_put_late(line.text, line.size, step_at);
}

static void free_news(struct tc_deferred *self)
{
    struct group_news *news = (struct group_news *)(void *)self;

    tc_number_news_release(&news->numbers);
    tc_numbers_told_let_go(news->told);
    tc_strbuf_release(&news->begin);
    tc_strbuf_release(&news->name);
    tc_strbuf_release(&news->rest);
    tc_free(news);
}

/* Takes the news over. */
static void put_news(struct tc_thread *thread, struct group_news *news)
{
    size_t step_at;

    news->head.pieces = news->numbers.pieces.items;
    news->head.n_pieces = news->numbers.pieces.n;
    if (!tc_queue_is_idle() || !tc_pieces_have_come(news->head.pieces, news->head.n_pieces)) {
        tc_queue_add(&news->head);
        return;
    }
    tc_strbuf_reset(&thread->line);
    if (write_record(news, &thread->line, &step_at))
        tc_sink_put(thread->line.text, thread->line.size, step_at);
    for (size_t i = 0; i < news->head.n_pieces; i++)
        tc_piece_let_go(&news->head.pieces[i]);
    free_news(&news->head);
}

static struct tc_numbers *numbers_of(int64_t serial)
{
    for (size_t i = 0; i < owners.n; i++)
        for (size_t k = 0; k < owners.items[i].groups.n; k++)
            if (owners.items[i].groups.items[k].serial == serial)
                return &owners.items[i].groups.items[k].numbers;
    return NULL;
}

static void finish(struct settings_look *look)
{
    if (look->questions.all.n)
        tc_questions_submit(&look->questions);
    for (size_t i = 0; i < look->all.n; i++) {
        struct group_news *news = look->all.items[i];

        if (look->questions.all.n)
            tc_numbers_place(numbers_of(news->serial), &look->questions, &news->numbers);
        put_news(look->thread, news);
    }
    tc_questions_clear(&look->questions);
    tc_questions_release(&look->questions);
    tc_vec_release(&look->all);
}

static void look_at(struct settings_look *look, const struct owner *o, size_t index,
                    struct group *g, PyObject *dict)
{
    struct tc_number_news numbers = {0};
    struct group_news *news;
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    g->numbers.next = 0;
    while (PyDict_Next(dict, &pos, &key, &value))
        tc_numbers_take(&g->numbers, key, value, &look->questions, &numbers);
    if (!numbers.all.n && o->is_idle == g->is_idle)
        return;
    news = tc_calloc(1, sizeof(*news));
    news->head =
        (struct tc_deferred){.run = run_news, .free = free_news, .size = sizeof(*news) + 512};
    news->serial = g->serial;
    news->told = tc_numbers_told_hold(g->told);
    news->numbers = numbers;
    news->tells_idle = o->is_idle != g->is_idle;
    news->is_idle = g->is_idle = o->is_idle;
    render_news(look, o, index, news);
    tc_vec_push(&look->all, news);
}

static struct group *group_at(struct owner *o, size_t index)
{
    while (o->groups.n <= index) {
        struct group fresh = {.serial = tc_identity_fresh(), .told = tc_numbers_told_new()};

        tc_vec_push(&o->groups, fresh);
    }
    return &o->groups.items[index];
}

static void look_at_owner(struct settings_look *look, struct owner *o, PyObject *object)
{
    PyObject *found =
        o->is_scaler ? tc_policy_call("scaler_settings", "(O)", object) : groups_of(object);

    if (found && PyDict_Check(found))
        look_at(look, o, 0, group_at(o, 0), found);
    else if (found && PyList_Check(found))
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found) && i < MAX_GROUPS; i++)
            if (PyDict_Check(PyList_GET_ITEM(found, i)))
                look_at(look, o, (size_t)i, group_at(o, (size_t)i), PyList_GET_ITEM(found, i));
    Py_XDECREF(found);
    PyErr_Clear();
}

static bool may_look(const struct tc_thread *thread)
{
    return is_looking() && thread->number == 0 && owners.n && tc_agent_ready();
}

static void look_by_name(struct settings_look *look, struct owner *o)
{
    PyObject *object = tc_ref_get(o->ref);

    if (!object)
        return;
    Py_INCREF(object);
    if (!o->name)
        o->name = name_of(object);
    look_at_owner(look, o, object);
    Py_DECREF(object);
}

void tc_settings_look(struct tc_thread *thread, int64_t cause, bool has_idle)
{
    struct settings_look look = {.thread = thread, .cause = cause};

    if (!may_look(thread))
        return;
    for (size_t i = 0; i < owners.n; i++)
        if (has_idle || !owners.items[i].is_idle)
            look_by_name(&look, &owners.items[i]);
    finish(&look);
}

void tc_settings_look_at(struct tc_thread *thread, int64_t cause, PyObject *optimizer)
{
    struct settings_look look = {.thread = thread, .cause = cause};
    struct owner *o = may_look(thread) ? owner_of(optimizer) : NULL;

    if (!o)
        return;
    look_by_name(&look, o);
    finish(&look);
}

void tc_settings_reset(void)
{
    for (size_t i = 0; i < owners.n; i++)
        release_owner(&owners.items[i]);
    tc_vec_release(&owners);
}
