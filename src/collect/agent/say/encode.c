/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - walks a Python value by its type and appends JSON
 *
 * Bounded in depth, items and text: no value makes a record large. Scalars, tensors, sequences and
 * dicts by their types, then objects by their class as the policy describes it: of an instance the
 * scalars of its own dict are told, of an optimizer those of its first group, so no property of
 * the user's runs. The name of the operand is built along the way, for tensors inside of lists and
 * dicts. An error of Python is cleared and the value left out.
 */
#include "collect/agent/say/encode.h"

#include <stdio.h>
#include <string.h>

#include "collect/agent/say/array.h"
#include "collect/agent/say/attrs.h"
#include "collect/agent/say/names.h"
#include "collect/agent/say/said.h"
#include "collect/agent/say/scalar.h"
#include "collect/agent/say/shorthand.h"
#include "collect/agent/say/stats.h"
#include "collect/agent/say/tensor_form.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/ours.h"
#include "collect/agent/torch/tensor.h"

#define MAX_ITEMS 32
#define MAX_DEPTH 4
#define MAX_BRIEF 8

struct encoder {
    struct tc_strbuf *out;
    int depth;
    const struct tc_asked *asked;
    bool is_member;    /* the value of a dict's key */
    size_t n_name;     /* bytes of name; SIZE_MAX: it is not wanted, or does not fit */
    const char *given; /* the name, as long as no part is added; else NULL */
    char name[TC_MAX_OPERAND_NAME];
};

static void encode(struct encoder *e, PyObject *value);

/* What nothing is asked of may be no line. */
static void add_id(const struct encoder *e, int64_t serial)
{
    static const char asked[] = ",\"id\":" TC_SHORTHAND_NOUGHT;

    if (!serial)
        return;
    if (e->asked) {
        tc_strbuf_add(e->out, asked, sizeof(asked) - 1);
        tc_shorthand_set_int(e->out, e->out->size - TC_SHORTHAND_SIZE, serial);
    } else {
        tc_strbuf_adds(e->out, ",\"id\":");
        tc_strbuf_add_int(e->out, serial);
    }
}

/* ---- names of operands within others ---- */

/* Append a part of the name; returns what to give to leave. */
static size_t enter_part(struct encoder *e, const char *part, size_t size)
{
    size_t before = e->n_name;

    if (before == SIZE_MAX)
        return before;
    if (before + size + 2 > sizeof(e->name)) {
        e->n_name = SIZE_MAX;
        return before;
    }
    if (e->given)
        memcpy(e->name, e->given, before);
    e->given = NULL;
    memcpy(e->name + before, part, size);
    e->n_name = before + size;
    return before;
}

static size_t enter_item(struct encoder *e, Py_ssize_t i)
{
    char part[16];

    if (e->n_name == SIZE_MAX)
        return SIZE_MAX;
    return enter_part(e, part, (size_t)snprintf(part, sizeof(part), "[%d]", (int)i));
}

static size_t enter_member(struct encoder *e, PyObject *key)
{
    char part[TC_MAX_OPERAND_NAME];
    const char *text;

    if (e->n_name == SIZE_MAX)
        return SIZE_MAX;
    text = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    if (!text)
        PyErr_Clear();
    return enter_part(e, part, (size_t)snprintf(part, sizeof(part), ".%.80s", text ? text : "?"));
}

static void leave(struct encoder *e, size_t before)
{
    e->n_name = before;
}

/* The bytes of the name stay as they are: to clear them would cost more than small values do. */
static void start(struct encoder *e, struct tc_strbuf *out, const char *name,
                  const struct tc_asked *asked)
{
    e->out = out;
    e->depth = 0;
    e->asked = asked;
    e->is_member = false;
    e->n_name = SIZE_MAX;
    e->given = name;
    if (name && asked && asked->operands)
        e->n_name = strlen(name);
    if (e->n_name > sizeof(e->name) - 2)
        e->n_name = SIZE_MAX;
}

/* ---- values ---- */

static void put_operand(struct encoder *e, PyObject *value, const struct tc_tensor *t)
{
    if (e->n_name != SIZE_MAX)
        tc_operands_put(e->asked->operands, value, t, e->given ? e->given : e->name, e->n_name);
}

static void add_content(struct encoder *e, PyObject *value, const struct tc_tensor *t,
                        int64_t serial)
{
    if (!e->asked)
        return;
    tc_content_add(e->out, value, t, serial, e->asked);
    put_operand(e, value, t);
}

/* What stands in a list has no name of its own. */
static bool is_named(const struct encoder *e)
{
    return e->asked && e->asked->is_named && !e->depth;
}

static bool is_lasting(const struct encoder *e, int64_t serial)
{
    return e->asked && e->asked->is_lasting && serial && !tc_content_is_batch(serial);
}

static void encode_tensor_anew(struct encoder *e, PyObject *value)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(value));
    bool is_read = class && !class->opaque;
    int64_t serial = is_read ? tc_identity_tensor(value) : tc_identity(value);
    const size_t at = e->out->size;
    bool is_kept = false;
    struct tc_layout_print print;
    struct tc_tensor t;

    tc_strbuf_adds(e->out, "{\"tensor\":");
    if (class)
        tc_strbuf_add(e->out, class->short_name, class->n_short_name);
    else
        tc_strbuf_adds(e->out, "\"?\"");
    add_id(e, serial);
    if (is_named(e))
        tc_names_add(e->out, value, serial, true);
    if (is_read && tc_form_add(e->out, value, &t, &print)) {
        add_content(e, value, &t, serial);
        if (tc_agent.stats)
            tc_stats_add(e->out, value, &t);
        is_kept = is_lasting(e, serial);
    }
    tc_strbuf_addc(e->out, '}');
    if (is_kept)
        tc_said_keep(value, serial, &t, &print, e->out->text + at, e->out->size - at);
    tc_error_clear();
}

static void encode_tensor(struct encoder *e, PyObject *value)
{
    const struct tc_tensor *known =
        e->asked && e->asked->is_lasting ? tc_said_again(e->out, value) : NULL;

    if (known)
        put_operand(e, value, known);
    else
        encode_tensor_anew(e, value);
}

static void add_more(struct encoder *e, Py_ssize_t n)
{
    if (n > MAX_ITEMS)
        tc_strbuf_addf(e->out, ",{\"more\":%lld}", (long long)(n - MAX_ITEMS));
}

static bool is_brief(const struct encoder *e)
{
    return e->asked && e->asked->is_brief;
}

static bool is_short(const struct encoder *e)
{
    return e->asked && (e->asked->is_brief || e->asked->is_drawn);
}

/* A memory of thousands of moves, of which a few are drawn. */
static bool is_left_out(const struct encoder *e, Py_ssize_t n)
{
    return e->asked && ((e->asked->is_brief && (e->depth || n > MAX_BRIEF)) || e->asked->is_drawn);
}

static void encode_sequence(struct encoder *e, PyObject *value)
{
    Py_ssize_t n_ours = tc_ours_count(value), n = PySequence_Fast_GET_SIZE(value) - n_ours;
    size_t before;

    tc_strbuf_addc(e->out, '[');
    if (e->depth >= MAX_DEPTH || is_left_out(e, n)) {
        if (n)
            tc_strbuf_addf(e->out, "{\"more\":%lld}]", (long long)n);
        else
            tc_strbuf_addc(e->out, ']');
        return;
    }
    e->depth++;
    for (Py_ssize_t i = 0, n_told = 0; n_told < n && n_told < MAX_ITEMS; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, i);

        if (n_ours && tc_ours_is(item))
            continue;
        if (n_told)
            tc_strbuf_addc(e->out, ',');
        before = enter_item(e, n_told++);
        encode(e, item);
        leave(e, before);
    }
    e->depth--;
    add_more(e, n);
    tc_strbuf_addc(e->out, ']');
}

static bool add_int_key(struct tc_strbuf *out, PyObject *key)
{
    int overflow = 1;
    long long n = PyLong_Check(key) ? PyLong_AsLongLongAndOverflow(key, &overflow) : 0;

    if (overflow)
        return false;
    tc_strbuf_addc(out, '"');
    tc_strbuf_add_int(out, n);
    tc_strbuf_addc(out, '"');
    return true;
}

static void add_key(struct tc_strbuf *out, PyObject *key)
{
    if (PyUnicode_Check(key))
        tc_encode_str(out, key);
    else if (!add_int_key(out, key))
        tc_strbuf_addf(out, "\"<%.80s>\"", Py_TYPE(key)->tp_name);
    tc_strbuf_addc(out, ':');
}

static void encode_dict(struct encoder *e, PyObject *value)
{
    PyObject *key, *item;
    Py_ssize_t n_ours = tc_ours_count_members(value), pos = 0, n = 0;
    size_t before;

    tc_strbuf_adds(e->out, "{\"dict\":{");
    e->depth++;
    const int max_depth = is_short(e) ? 1 : MAX_DEPTH;

    while (e->depth <= max_depth && n < MAX_ITEMS && PyDict_Next(value, &pos, &key, &item)) {
        if (n_ours && tc_ours_is_member(key, item))
            continue;
        if (n++)
            tc_strbuf_addc(e->out, ',');
        add_key(e->out, key);
        before = enter_member(e, key);
        e->is_member = true;
        encode(e, item);
        e->is_member = false;
        leave(e, before);
    }
    e->depth--;
    tc_strbuf_addc(e->out, '}');
    if (PyDict_GET_SIZE(value) > n + n_ours)
        tc_strbuf_addf(e->out, ",\"more\":%lld", (long long)(PyDict_GET_SIZE(value) - n - n_ours));
    tc_strbuf_addc(e->out, '}');
}

/* The first parameter group holds an optimizer's settings. New reference or NULL. */
static PyObject *first_group(PyObject *optimizer)
{
    PyObject *groups = PyObject_GetAttrString(optimizer, "param_groups");
    PyObject *group = groups && PyList_Check(groups) && PyList_GET_SIZE(groups)
                          ? Py_NewRef(PyList_GET_ITEM(groups, 0))
                          : NULL;

    Py_XDECREF(groups);
    if (group && !PyDict_Check(group))
        Py_CLEAR(group);
    PyErr_Clear();
    return group;
}

static PyObject *attrs_of(PyObject *value, const struct tc_class *class)
{
    PyObject **dict;

    if (class->kind == TC_CLASS_OPTIMIZER)
        return first_group(value);
    if (class->opaque || PyType_Check(value) || PyCallable_Check(value)) {
        if (class->kind != TC_CLASS_MODULE)
            return NULL;
    }
    dict = _PyObject_GetDictPtr(value);
    return dict && *dict && PyDict_Check(*dict) ? Py_NewRef(*dict) : NULL;
}

/* Its bounds, but for those that were left out. */
static void encode_slice(struct encoder *e, PyObject *value)
{
    const PySliceObject *slice = (const PySliceObject *)value;
    PyObject *const bounds[] = {slice->start, slice->stop, slice->step};
    static const char *const names[] = {"start", "stop", "step"};
    const char *before = "";

    tc_strbuf_adds(e->out, "{\"object\":\"slice\",\"attrs\":{");
    for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
        if (!PyLong_Check(bounds[i]))
            continue;
        tc_strbuf_addf(e->out, "%s\"%s\":", before, names[i]);
        encode(e, bounds[i]);
        before = ",";
    }
    tc_strbuf_adds(e->out, "}}");
}

static void encode_object(struct encoder *e, PyObject *value, bool is_root)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(value));
    PyObject *dict;

    if (!class) {
        tc_error_clear();
        tc_strbuf_adds(e->out, "{\"object\":\"?\",\"attrs\":{}}");
        return;
    }
    tc_strbuf_adds(e->out, "{\"object\":");
    tc_strbuf_adds(e->out, class->name);
    add_id(e, tc_identity(value));
    if (is_root)
        tc_strbuf_adds(e->out, ",\"role\":\"root\"");
    if (e->asked && e->asked->is_named)
        tc_names_add(e->out, value, tc_identity(value), false);
    tc_strbuf_adds(e->out, ",\"attrs\":{");
    if (!e->asked || !e->asked->is_unmade) {
        dict = is_short(e) ? NULL : attrs_of(value, class);
        tc_attrs_add(e->out, dict, class->kind == TC_CLASS_MODULE ? value : NULL, is_root);
        Py_XDECREF(dict);
    }
    tc_strbuf_adds(e->out, "}}");
    tc_error_clear();
}

static void encode_device(struct encoder *e, PyObject *value)
{
    PyObject *text = PyObject_Str(value);

    if (text)
        tc_encode_str(e->out, text);
    else
        tc_strbuf_adds(e->out, "null");
    Py_XDECREF(text);
    PyErr_Clear();
}

/* The policy writes what is no array of plain numbers in one piece. */
static void encode_numpy(struct encoder *e, PyObject *value)
{
    if (tc_encode_array(e->out, value, !is_brief(e), is_named(e)))
        return;
    PyObject *text =
        tc_policy_call("numpy_json", "(OLi)", value, (long long)tc_identity(value), !is_brief(e));
    Py_ssize_t size;
    const char *json = text ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;

    if (json)
        tc_strbuf_add(e->out, json, (size_t)size);
    Py_XDECREF(text);
    PyErr_Clear();
    if (!json)
        encode_object(e, value, false);
}

static void encode_type(struct encoder *e, PyObject *value)
{
    const struct tc_class *class = tc_class_of((PyTypeObject *)value);

    tc_strbuf_adds(e->out, class ? class->name : "\"type\"");
    PyErr_Clear();
}

/* From Python 3.15 on there are two kinds, and PyDict_Next() goes through both. */
static bool is_dict(PyObject *value)
{
#if PY_VERSION_HEX >= 0x030F0000
    return PyAnyDict_Check(value);
#else
    return PyDict_Check(value);
#endif
}

/* A function of the script's own may be given anything: addresses with passwords, texts of users,
 * options with keys. */
static bool is_withheld(const struct encoder *e, PyObject *value)
{
    if (!is_short(e) || !PyUnicode_Check(value))
        return false;
    return e->is_member || e->asked->is_secret || tc_text_is_withheld(value, e->asked->is_outside);
}

static void encode(struct encoder *e, PyObject *value)
{
    const struct tc_dtype *dtype;

    if (is_withheld(e, value)) {
        tc_encode_withheld(e->out, value);
        return;
    }
    if (tc_tensor_is_exact(value)) { /* most values are */
        encode_tensor(e, value);
        return;
    }
    if (tc_encode_scalar(e->out, value))
        return;
    if (tc_tensor_is(value))
        encode_tensor(e, value);
    else if (PyTuple_Check(value) || PyList_Check(value))
        encode_sequence(e, value);
    else if (is_dict(value))
        encode_dict(e, value);
    else if ((dtype = tc_dtype_of(value)))
        tc_strbuf_add_json(e->out, dtype->name, strlen(dtype->name));
    else if (tc_device_is(value))
        encode_device(e, value);
    else if (tc_is_numpy(value))
        encode_numpy(e, value);
    else if (PyType_Check(value))
        encode_type(e, value);
    else if (PySlice_Check(value))
        encode_slice(e, value);
    else
        encode_object(e, value, false);
}

void tc_encode_asked(struct tc_strbuf *out, PyObject *value, const char *name,
                     const struct tc_asked *asked)
{
    struct encoder e;

    start(&e, out, name, asked);
    encode(&e, value);
}

void tc_encode(struct tc_strbuf *out, PyObject *value)
{
    tc_encode_asked(out, value, NULL, NULL);
}

void tc_encode_self(struct tc_strbuf *out, PyObject *value, bool is_root,
                    const struct tc_asked *asked)
{
    const struct tc_class *class = tc_tensor_is_exact(value) ? NULL : tc_class_of(Py_TYPE(value));
    struct encoder e;

    start(&e, out, "self", asked);
    if (class && (class->kind == TC_CLASS_MODULE || class->kind == TC_CLASS_OPTIMIZER))
        encode_object(&e, value, is_root);
    else
        encode(&e, value);
    tc_error_clear();
}
