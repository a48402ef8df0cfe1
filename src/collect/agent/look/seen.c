/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.c - what one look reads of a variable, as cheaply as its version counter allows
 *
 * The content is digested where it is due; a tensor beyond the budget in stripes only, and it
 * stays with the kind it had first. A gradient is classified where the address or the version of
 * its content changed. tc_seen_ask() must ask for exactly what tc_seen_take() then reads, or
 * training waits for a copy.
 */
#include "collect/agent/look/seen.h"

#include "collect/agent/look/look.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/modules.h"

/* Tensors up to this size are always digested in full. */
#define MIN_SAMPLED ((size_t)1 << 20)

/* Bytes of variables that may be digested in full, and that are. */
static uint64_t budget = UINT64_C(64) << 20, total;

void tc_seen_set_budget(uint64_t bytes)
{
    budget = bytes;
}

void tc_seen_reset(void)
{
    total = 0;
}

void tc_seen_distrust_grad(struct tc_tracked *v)
{
    v->seen.has_grad = false;
}

/* A variable stays with the kind of digest that it had first: the two do not compare. */
static bool is_sampled(const struct tc_tracked *v, const struct tc_seen *s)
{
    if (v->announced && s->size == v->seen.size)
        return v->seen.sampled;
    return s->size > MIN_SAMPLED && total + s->size > budget;
}

/*
 * Where the version counter says that nothing was written, the stripes are to show that it is so: a
 * model beyond the budget is not read once more in every step. A device reads faster than it
 * answers, so that there all is read.
 */
static void see_content(const struct tc_tracked *v, PyObject *body, const struct tc_tensor *as,
                        bool is_written, bool is_part, struct tc_seen *s, struct tc_news *news)
{
    const uint64_t seed = tc_digest_seed(as->dtype->name, as->shape, as->n_dims);
    struct tc_figure stripes;

    s->size = as->n * as->dtype->item_size;
    s->sampled = is_sampled(v, s);
    /* A part without elements is as good as none. */
    s->readable = !(is_part && as->n == 0);
    if (s->readable && s->sampled && !tc_look_is_elsewhere(as)) {
        tc_look_at(body, as, TC_ASK_STRIPES, seed, &stripes);
        s->readable = stripes.is_known;
        s->stripes = stripes.value.digest;
        if (!is_written && v->seen.readable && s->stripes == v->seen.stripes)
            return;
    }
    news->is_read = true;
    if (s->readable) {
        tc_look_at(body, as, TC_ASK_DIGEST, seed, &news->digest);
        s->readable = news->digest.is_known || news->digest.piece.transfer;
    }
    news->is_readable = s->readable;
}

/* With all content: of one that the last look did not see. What lies elsewhere has none. */
static void sketch_content(const struct tc_tracked *v, PyObject *body, const struct tc_tensor *as,
                           struct tc_news *news)
{
    if (tc_agent.content != TC_CONTENT_FULL || !news->is_readable || !news->digest.is_known)
        return;
    if (!v->announced || !v->seen.readable || news->digest.value.digest != v->seen.digest)
        news->has_sketch = tc_look_sketch(body, as, (uint64_t)v->begin, &news->sketch);
}

/* The largest magnitude of the tensor's content, not known where it has none that can be read. */
static void ask_magnitude(PyObject *tensor, struct tc_figure *out)
{
    PyObject *body = tc_tensor_body(tensor);
    struct tc_tensor as;

    *out = (struct tc_figure){0};
    if (body && tc_tensor_read(body, &as) && as.dtype->number != TC_NUMBER_OTHER)
        tc_look_at(body, &as, TC_ASK_MAGNITUDE, 0, out);
    Py_XDECREF(body);
    PyErr_Clear();
}

/* Magnitudes of the parameter are asked only where its gradient is small in itself. */
static enum tc_gradient classify(struct tc_tracked *v, PyObject *tensor, PyObject *grad,
                                 struct tc_news *news)
{
    struct tc_tensor as;

    if (!tc_tensor_read(grad, &as)) {
        PyErr_Clear();
        return TC_GRADIENT_UNREADABLE;
    }
    if (as.n == 0)
        return TC_GRADIENT_EMPTY;
    ask_magnitude(grad, &news->grad);
    if (!news->grad.is_known && !news->grad.piece.transfer)
        return TC_GRADIENT_UNREADABLE;
    if (!v->has_magnitude) {
        ask_magnitude(tensor, &news->own);
        v->has_magnitude = news->has_own = true;
    }
    return TC_GRADIENT_READ;
}

/* Where the content of a gradient stands, and how often it was written to. */
static void see_version(PyObject *tensor, uint64_t *address, int64_t *version)
{
    PyObject *body = tc_tensor_body(tensor);

    *address = 0;
    *version = 0;
    if (body)
        tc_tensor_version(body, address, version);
    Py_XDECREF(body);
}

/* The serial of the gradient. That of the object seen last needs no look-up. */
static int64_t grad_serial(struct tc_tracked *v, PyObject *grad)
{
    int64_t serial;

    if (tc_ref_get(v->grad) == grad)
        return v->seen.grad_serial;
    serial = tc_identity(grad);
    Py_XDECREF(v->grad);
    v->grad = PyWeakref_NewRef(grad, NULL);
    if (!v->grad)
        PyErr_Clear();
    return serial;
}

static void see_grad(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s,
                     struct tc_news *news)
{
    PyObject *grad = s->is_leaf ? tc_tensor_grad(tensor) : NULL;

    s->has_grad = grad != NULL;
    if (!grad) {
        s->grad_serial = 0;
        news->gradient = TC_GRADIENT_ABSENT;
        Py_CLEAR(v->grad);
        return;
    }
    s->grad_serial = grad_serial(v, grad);
    see_version(grad, &s->grad_address, &s->grad_version);
    if (s->grad_serial != v->seen.grad_serial || s->grad_address != v->seen.grad_address ||
        s->grad_version != v->seen.grad_version || !v->seen.has_grad)
        news->gradient = classify(v, tensor, grad, news);
    news->is_other_gradient = v->announced && s->grad_serial != v->seen.grad_serial;
    Py_DECREF(grad);
}

static void see_placement(struct tc_tracked *v, PyObject *tensor)
{
    PyObject *said = tc_policy_call("placement_json", "(O)", tensor);
    const char *text;

    tc_free(v->placement);
    v->placement = NULL;
    v->begin = 0;
    if (said && PyArg_ParseTuple(said, "sL", &text, &v->begin))
        v->placement = tc_strdup(text);
    Py_XDECREF(said);
    PyErr_Clear();
}

/* body holds the content of tensor. */
static bool see_body(struct tc_tracked *v, PyObject *tensor, PyObject *body, struct tc_seen *s,
                     struct tc_news *news, bool verify)
{
    struct tc_tensor as;
    bool moved;

    tc_tensor_version(body, &s->address, &s->version);
    moved = !v->announced || s->address != v->seen.address;
    if (!moved && s->version == v->seen.version && !verify)
        return true;
    if (!tc_tensor_read(tensor, &s->tensor) || !tc_tensor_read(body, &as))
        return false;
    s->is_leaf = tc_tensor_is_leaf(tensor);
    s->layout = tc_tensor_layout(tensor);
    see_content(v, body, &as, moved || s->version != v->seen.version, body != tensor, s, news);
    if (moved && body != tensor)
        see_placement(v, tensor);
    sketch_content(v, body, &as, news);
    if (!v->announced && !s->sampled)
        total += s->size;
    if (moved && v->announced)
        tc_identity_rebind(tensor, v->serial);
    if (news->is_read && !(news->digest.is_known && news->digest.value.digest == v->seen.digest))
        v->has_magnitude = false;
    if (news->is_read)
        s->digest = news->digest.value.digest;
    return true;
}

static int mode_of(const struct tc_tracked *v)
{
    PyObject *owner = tc_ref_get(v->owner);

    return owner ? tc_module_is_training(owner) : -1;
}

/* ---- what a look at many asks of this one, before it is seen ---- */

static void add_question(PyObject *tensor, unsigned asked)
{
    PyObject *body = tc_tensor_body(tensor);
    struct tc_tensor as;

    if (body && tc_tensor_read(body, &as) && tc_look_is_elsewhere(&as) &&
        (asked != TC_ASK_MAGNITUDE || as.dtype->number != TC_NUMBER_OTHER))
        tc_look_add(body, &as, asked);
    Py_XDECREF(body);
    PyErr_Clear();
}

static bool is_read(const struct tc_tracked *v, PyObject *tensor, bool verify)
{
    uint64_t address;
    int64_t version;

    see_version(tensor, &address, &version);
    return !v->announced || verify || address != v->seen.address || version != v->seen.version;
}

static bool is_classified(const struct tc_tracked *v, PyObject *grad)
{
    uint64_t address;
    int64_t version;

    see_version(grad, &address, &version);
    return tc_ref_get(v->grad) != grad || !v->seen.has_grad || address != v->seen.grad_address ||
           version != v->seen.grad_version;
}

void tc_seen_ask(const struct tc_tracked *v, PyObject *tensor, bool verify)
{
    PyObject *grad;
    bool is_due;

    is_due = is_read(v, tensor, verify);
    if (is_due)
        add_question(tensor, TC_ASK_DIGEST);
    grad = tc_tensor_is_leaf(tensor) ? tc_tensor_grad(tensor) : NULL;
    if (grad && is_classified(v, grad)) {
        add_question(grad, TC_ASK_MAGNITUDE);
        if (is_due || !v->has_magnitude)
            add_question(tensor, TC_ASK_MAGNITUDE);
    }
    Py_XDECREF(grad);
    PyErr_Clear();
}

bool tc_seen_take(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s, struct tc_news *news,
                  bool verify)
{
    PyObject *body = tc_tensor_body(tensor);
    bool is_read;

    *s = v->seen;
    *news = (struct tc_news){.is_due = verify, .is_first = !v->announced, .is_renamed = v->renamed};
    is_read = body && see_body(v, tensor, body, s, news, verify);
    Py_XDECREF(body);
    if (!is_read)
        return false;
    s->tensor.requires_grad = tc_tensor_requires_grad(tensor);
    see_grad(v, tensor, s, news);
    news->is_sampled = s->sampled;
    s->training = mode_of(v);
    return true;
}
