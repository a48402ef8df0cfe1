/* SPDX-License-Identifier: Apache-2.0 */
/*
 * var_record.c - the records of a variable: complete once, then what has changed
 */
#include "collect/agent/tracked.h"

#include <string.h>

#include "base/banned.h"
#include "collect/agent/encode.h"
#include "collect/agent/identity.h"
#include "collect/agent/sink.h"
#include "collect/agent/steps.h"

struct attrs {
    struct tc_strbuf *out;
    size_t n;
};

static void key(struct attrs *a, const char *name)
{
    if (a->n++)
        tc_strbuf_addc(a->out, ',');
    tc_strbuf_addf(a->out, "\"%s\":", name);
}

static void add_bool(struct attrs *a, const char *name, bool value)
{
    key(a, name);
    tc_strbuf_adds(a->out, value ? "true" : "false");
}

static void add_text(struct attrs *a, const char *name, const char *value)
{
    key(a, name);
    tc_strbuf_add_json(a->out, value, strlen(value));
}

static void add_data(struct attrs *a, const struct tc_seen *s)
{
    key(a, "data");
    if (s->readable)
        tc_encode_digest(a->out, s->digest, s->sampled);
    else
        tc_strbuf_adds(a->out, "null");
}

static bool same_shape(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static void add_form(struct attrs *a, const struct tc_seen *s, const struct tc_seen *old)
{
    if (!old || s->tensor.dtype != old->tensor.dtype)
        add_text(a, "dtype", s->tensor.dtype->name);
    if (!old || !same_shape(&s->tensor, &old->tensor)) {
        key(a, "shape");
        tc_encode_shape(a->out, &s->tensor);
    }
    if (!old || strcmp(s->tensor.device, old->tensor.device) != 0)
        add_text(a, "device", s->tensor.device);
    if (!old || strcmp(s->layout, old->layout) != 0)
        add_text(a, "layout", s->layout);
}

static void add_flags(struct attrs *a, const struct tc_seen *s, const struct tc_seen *old)
{
    if (!old || s->tensor.requires_grad != old->tensor.requires_grad)
        add_bool(a, "requires_grad", s->tensor.requires_grad);
    if (!old || s->is_leaf != old->is_leaf)
        add_bool(a, "is_leaf", s->is_leaf);
    if (s->training >= 0 && (!old || s->training != old->training))
        add_bool(a, "training", s->training);
}

/* Which part of it is here, and attributes in the tensor's own dict that are scalar and true: what
 * a framework hung on it. */
static char *extra_of(PyObject *tensor, const char *placement)
{
    PyObject **dict = _PyObject_GetDictPtr(tensor);
    PyObject *name, *value;
    Py_ssize_t pos = 0;
    struct tc_strbuf out = TC_STRBUF_INIT;

    if (placement)
        tc_strbuf_adds(&out, placement);
    while (dict && *dict && PyDict_Next(*dict, &pos, &name, &value)) {
        if (!PyUnicode_Check(name) || !tc_is_scalar(value) || PyObject_IsTrue(value) != 1)
            continue;
        if (PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) == '_')
            continue;
        if (out.size)
            tc_strbuf_addc(&out, ',');
        tc_encode_str(&out, name);
        tc_strbuf_addc(&out, ':');
        tc_encode(&out, value);
    }
    return out.size ? tc_strbuf_take(&out) : NULL;
}

static void add_extra(struct attrs *a, struct tc_tracked *v, PyObject *tensor)
{
    char *extra = extra_of(tensor, v->placement);
    bool same = extra && v->extra ? strcmp(extra, v->extra) == 0 : extra == v->extra;

    if (!same && extra) {
        if (a->n++)
            tc_strbuf_addc(a->out, ',');
        tc_strbuf_adds(a->out, extra);
    }
    tc_free(v->extra);
    v->extra = extra;
}

static void add_attrs(struct tc_strbuf *out, struct tc_tracked *v, PyObject *tensor,
                      const struct tc_seen *s, size_t *n)
{
    const struct tc_seen *old = v->announced ? &v->seen : NULL;
    struct attrs a = {out, 0};
    const struct tc_class *class;

    if (!old || s->digest != old->digest || s->readable != old->readable)
        add_data(&a, s);
    if (!old || s->grad != old->grad)
        add_text(&a, "grad", tc_grad_class_name(s->grad));
    add_form(&a, s, old);
    add_flags(&a, s, old);
    if (tc_ref_get(v->owner) && (!old || v->renamed)) {
        class = tc_class_of(Py_TYPE(tc_ref_get(v->owner)));
        key(&a, "owner");
        tc_strbuf_adds(out, class ? class->name : "null");
        PyErr_Clear();
    }
    add_extra(&a, v, tensor);
    *n = a.n;
}

static void begin_record(struct tc_thread *thread, const struct tc_tracked *v, int64_t cause)
{
    struct tc_strbuf *out = &thread->line;

    tc_strbuf_reset(out);
    tc_strbuf_adds(out, "{\"type\":\"var\",\"var\":");
    tc_strbuf_add_int(out, v->serial);
    tc_strbuf_adds(out, ",\"t\":");
    tc_strbuf_add_int(out, tc_agent_now());
    if (!v->announced || v->renamed) {
        tc_strbuf_adds(out, ",\"name\":");
        tc_strbuf_add_json(out, v->name, strlen(v->name));
        if (v->root)
            tc_strbuf_addf(out, ",\"root\":%lld", (long long)v->root);
    }
    if (!v->announced)
        tc_strbuf_addf(out, ",\"kind\":\"%s\"", v->is_buffer ? "buffer" : "Parameter");
    tc_steps_add(thread, out);
    if (cause)
        tc_strbuf_addf(out, ",\"cause\":%lld", (long long)cause);
    tc_strbuf_adds(out, ",\"attrs\":{");
}

static void write_record(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                         const struct tc_seen *s, int64_t cause)
{
    size_t n;

    begin_record(thread, v, cause);
    add_attrs(&thread->line, v, tensor, s, &n);
    if (n || v->renamed) {
        tc_strbuf_adds(&thread->line, "}}\n");
        tc_sink_put(thread->line.text, thread->line.size, thread->step_at);
    }
    v->seen = *s;
    v->announced = true;
    v->renamed = false;
}

/* The common case, nothing new, must not cost more than a few attributes. */
static bool is_unchanged(const struct tc_tracked *v, const struct tc_seen *s)
{
    return v->announced && !v->renamed && s->digest == v->seen.digest &&
           s->readable == v->seen.readable && s->grad == v->seen.grad &&
           s->training == v->seen.training && s->is_leaf == v->seen.is_leaf &&
           s->tensor.requires_grad == v->seen.tensor.requires_grad &&
           s->tensor.dtype == v->seen.tensor.dtype &&
           strcmp(s->tensor.device, v->seen.tensor.device) == 0 &&
           same_shape(&s->tensor, &v->seen.tensor);
}

void tc_tracked_record(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                       const struct tc_seen *s, int64_t cause, bool verify)
{
    if (!is_unchanged(v, s) || verify)
        write_record(thread, v, tensor, s, cause);
    else
        v->seen = *s;
}
