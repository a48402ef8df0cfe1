/* SPDX-License-Identifier: Apache-2.0 */
/*
 * var_record.c - a variable's record, split into what is known now and what depends on its content
 *
 * The texts are rendered while the tensor is at hand; if answers are still to come they are copied
 * into one block and wait in the queue. There the news is merged with what was told and only what
 * differs is written. The common case, nothing new, renders nothing.
 */
#include "collect/agent/say/var_record.h"

#include <string.h>

#include "collect/agent/say/encode.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/sink.h"
#include "collect/agent/say/tensor_form.h"
#include "collect/agent/torch/classes.h"

/* The parts of a record: texts that belong to the caller. */
struct telling {
    const char *begin; /* up to the attributes */
    size_t begin_size, step_at;
    const char *rest; /* other attributes, each behind a comma */
    size_t rest_size;
    char *extra; /* attributes hung on the tensor, or NULL */
};

/* ---- what depends on its content ---- */

static void add_data(struct tc_strbuf *out, const struct tc_told *told, const struct tc_news *news)
{
    tc_strbuf_adds(out, ",\"data\":");
    if (told->readable)
        tc_encode_digest(out, told->digest, news->is_sampled);
    else
        tc_strbuf_adds(out, "null");
    if (news->has_sketch)
        tc_sketch_add(out, &news->sketch);
}

/* What is hung on the tensor is told where it is new; what was taken away is not. */
static void add_extra(struct tc_strbuf *out, struct tc_told *told, const char *extra)
{
    bool same = extra && told->extra ? strcmp(extra, told->extra) == 0 : extra == told->extra;

    if (same)
        return;
    if (extra) {
        tc_strbuf_addc(out, ',');
        tc_strbuf_adds(out, extra);
    }
    tc_free(told->extra);
    told->extra = extra ? tc_strdup(extra) : NULL;
}

/* Append the record, if it says something; false, with nothing appended, if not. */
static bool write_news(struct tc_told *told, const struct tc_news *news, unsigned what,
                       const struct telling *telling, struct tc_strbuf *out)
{
    const size_t start = out->size, attrs = start + telling->begin_size;

    if (!(what & TC_TELL_RECORD))
        return false;
    tc_strbuf_add(out, telling->begin, telling->begin_size);
    if (what & TC_TELL_DATA)
        add_data(out, told, news);
    if (what & TC_TELL_GRAD)
        tc_strbuf_addf(out, ",\"grad\":\"%s\"", tc_grad_class_name(told->grad));
    if (telling->rest_size)
        tc_strbuf_add(out, telling->rest, telling->rest_size);
    add_extra(out, told, telling->extra);
    if (out->size == attrs && !news->is_renamed) {
        out->size = start;
        return false;
    }
    if (out->size > attrs) { /* the first has no comma before it */
        memmove(out->text + attrs, out->text + attrs + 1, out->size - attrs - 1);
        out->size--;
    }
    tc_strbuf_adds(out, "}}\n");
    return true;
}

/* ---- what is told of a variable beside its content: each with a comma before it ---- */

static void key(struct tc_strbuf *out, const char *name)
{
    tc_strbuf_addf(out, ",\"%s\":", name);
}

static void add_bool(struct tc_strbuf *out, const char *name, bool value)
{
    key(out, name);
    tc_strbuf_adds(out, value ? "true" : "false");
}

static void add_text(struct tc_strbuf *out, const char *name, const char *value)
{
    key(out, name);
    tc_strbuf_add_json(out, value, strlen(value));
}

static bool same_shape(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static void add_form(struct tc_strbuf *out, const struct tc_seen *s, const struct tc_seen *old)
{
    if (!old || s->tensor.dtype != old->tensor.dtype)
        add_text(out, "dtype", s->tensor.dtype->name);
    if (!old || !same_shape(&s->tensor, &old->tensor)) {
        key(out, "shape");
        tc_form_add_shape(out, &s->tensor);
    }
    if (!old || strcmp(s->tensor.device, old->tensor.device) != 0)
        add_text(out, "device", s->tensor.device);
    if (!old || strcmp(s->layout, old->layout) != 0)
        add_text(out, "layout", s->layout);
}

static void add_flags(struct tc_strbuf *out, const struct tc_seen *s, const struct tc_seen *old)
{
    if (!old || s->tensor.requires_grad != old->tensor.requires_grad)
        add_bool(out, "requires_grad", s->tensor.requires_grad);
    if (!old || s->is_leaf != old->is_leaf)
        add_bool(out, "is_leaf", s->is_leaf);
    if (s->training >= 0 && (!old || s->training != old->training))
        add_bool(out, "training", s->training);
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

static void add_owning_module(struct tc_strbuf *out, const struct tc_tracked *v)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(tc_ref_get(v->owner)));

    key(out, "owner");
    tc_strbuf_adds(out, class ? class->name : "null");
    PyErr_Clear();
}

static void add_rest(struct tc_strbuf *out, const struct tc_tracked *v, const struct tc_seen *s)
{
    const struct tc_seen *old = v->announced ? &v->seen : NULL;

    add_form(out, s, old);
    add_flags(out, s, old);
    if (tc_ref_get(v->owner) && (!old || v->renamed))
        add_owning_module(out, v);
}

static void add_begin(struct tc_thread *thread, struct tc_strbuf *out, const struct tc_tracked *v,
                      int64_t cause)
{
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
    tc_line_add_step(thread, out);
    if (cause)
        tc_strbuf_addf(out, ",\"cause\":%lld", (long long)cause);
    tc_strbuf_adds(out, ",\"attrs\":{");
}

/* The texts of a record, which are valid until the next one; release extra. */
static void render(struct tc_thread *thread, const struct tc_tracked *v, PyObject *tensor,
                   const struct tc_seen *s, int64_t cause, struct telling *out)
{
    static struct tc_strbuf begin, rest;

    tc_strbuf_reset(&begin);
    tc_strbuf_reset(&rest);
    add_begin(thread, &begin, v, cause);
    add_rest(&rest, v, s);
    *out = (struct telling){.begin = begin.text,
                            .begin_size = begin.size,
                            .step_at = thread->step_at,
                            .rest = rest.text,
                            .rest_size = rest.size,
                            .extra = extra_of(tensor, v->placement)};
}

/* ---- what is told later ---- */

/* A look whose answers are still to come, with its texts behind it. */
struct late {
    struct tc_deferred head;
    struct tc_told *told;
    struct tc_news news;
    struct telling telling;
    struct tc_piece pieces[3];
    char texts[];
};

static void run_late(struct tc_deferred *self)
{
    static struct tc_strbuf line; /* the queue's lock is held */
    struct late *l = (struct late *)(void *)self;
    unsigned what = tc_told_take(l->told, &l->news);

    tc_strbuf_reset(&line);
    if (write_news(l->told, &l->news, what, &l->telling, &line))
        tc_sink_put_late(line.text, line.size, l->telling.step_at);
}

static void free_late(struct tc_deferred *self)
{
    tc_free(self);
}

static char *keep_text(char **at, const char *text, size_t size)
{
    char *kept = *at;

    if (size)
        memcpy(*at, text, size);
    *at += size;
    return kept;
}

static void add_piece(struct late *l, const struct tc_figure *figure)
{
    if (!figure->piece.transfer)
        return;
    tc_piece_hold(&figure->piece);
    l->pieces[l->head.n_pieces++] = figure->piece;
}

static void tell_later(struct tc_told *told, const struct tc_news *news,
                       const struct telling *telling)
{
    const size_t extra_size = telling->extra ? strlen(telling->extra) + 1 : 0;
    const size_t size = sizeof(struct late) + telling->begin_size + telling->rest_size + extra_size;
    struct late *l = tc_calloc(1, size);
    char *at = l->texts;

    l->head =
        (struct tc_deferred){.run = run_late, .free = free_late, .pieces = l->pieces, .size = size};
    l->told = told;
    l->news = *news;
    l->telling = *telling;
    l->telling.begin = keep_text(&at, telling->begin, telling->begin_size);
    l->telling.rest = keep_text(&at, telling->rest, telling->rest_size);
    l->telling.extra = extra_size ? keep_text(&at, telling->extra, extra_size) : NULL;
    add_piece(l, &news->digest);
    add_piece(l, &news->grad);
    add_piece(l, &news->own);
    tc_queue_add(&l->head);
}

/* ---- what is told now ---- */

static bool has_come(const struct tc_news *news)
{
    return tc_piece_has_come(&news->digest.piece) && tc_piece_has_come(&news->grad.piece) &&
           tc_piece_has_come(&news->own.piece);
}

/* The common case, nothing new, must not cost more than a few attributes. */
static bool is_changed(const struct tc_tracked *v, const struct tc_seen *s)
{
    return !v->announced || s->training != v->seen.training || s->is_leaf != v->seen.is_leaf ||
           s->tensor.requires_grad != v->seen.tensor.requires_grad ||
           s->tensor.dtype != v->seen.tensor.dtype ||
           strcmp(s->tensor.device, v->seen.tensor.device) != 0 ||
           !same_shape(&s->tensor, &v->seen.tensor);
}

static void tell_now(struct tc_thread *thread, const struct tc_tracked *v, PyObject *tensor,
                     const struct tc_seen *s, const struct tc_news *news, int64_t cause)
{
    const unsigned what = tc_told_take(v->told, news);
    struct telling telling;

    if (!(what & TC_TELL_RECORD))
        return;
    render(thread, v, tensor, s, cause, &telling);
    tc_strbuf_reset(&thread->line);
    if (write_news(v->told, news, what, &telling, &thread->line))
        tc_sink_put(thread->line.text, thread->line.size, telling.step_at);
    tc_free(telling.extra);
}

void tc_var_record(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                   const struct tc_seen *s, struct tc_news *news, int64_t cause)
{
    struct telling telling;

    news->is_changed = is_changed(v, s);
    if (tc_queue_is_idle() && has_come(news)) {
        tell_now(thread, v, tensor, s, news, cause);
    } else {
        render(thread, v, tensor, s, cause, &telling);
        tell_later(v->told, news, &telling);
        tc_free(telling.extra);
    }
    v->renamed = false;
    v->seen = *s;
    v->announced = true;
}
