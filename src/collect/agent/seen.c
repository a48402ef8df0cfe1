/*
 * seen.c - what a look sees of one variable
 */
#include "collect/agent/tracked.h"

#include "base/banned.h"
#include "collect/agent/identity.h"
#include "collect/agent/modules.h"

/* Tensors up to this size are always digested in full. */
#define MIN_SAMPLED ((size_t)1 << 20)
/* Memory above this is read without the interpreter's lock. */
#define MIN_UNLOCKED ((size_t)1 << 18)

/* Bytes of variables that are digested in full, and that there are. */
static uint64_t budget = UINT64_C(64) << 20, total;

void tc_variables_set_budget(uint64_t bytes)
{
    budget = bytes;
}

void tc_seen_reset(void)
{
    total = 0;
}

static uint64_t digest_memory(const struct tc_memory *m, uint64_t seed, bool sampled)
{
    PyThreadState *state = m->size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
    uint64_t digest =
        sampled ? tc_digest_sampled(m->data, m->size, seed) : tc_digest(m->data, m->size, seed);

    if (state)
        PyEval_RestoreThread(state);
    return digest;
}

static double magnitude(PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_memory m;
    PyThreadState *state;
    double max = -1;

    tc_tensor_memory(tensor, as, true, &m);
    if (m.data) {
        state = m.size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
        max = tc_max_abs(m.data, m.n, as->dtype->number);
        if (state)
            PyEval_RestoreThread(state);
    }
    tc_memory_release(&m);
    return max;
}

static void see_content(PyObject *tensor, struct tc_seen *s)
{
    struct tc_memory m;

    s->sampled = total > budget && s->tensor.n * s->tensor.dtype->item_size > MIN_SAMPLED;
    tc_tensor_memory(tensor, &s->tensor, true, &m);
    s->readable = m.data != NULL;
    if (s->readable)
        s->digest = digest_memory(
            &m, tc_digest_seed(s->tensor.dtype->name, s->tensor.shape, s->tensor.n_dims),
            s->sampled);
    tc_memory_release(&m);
}

/* Magnitudes of the parameter are asked only where its gradient is small in itself. */
static enum tc_grad_class classify(struct tc_tracked *v, PyObject *tensor, PyObject *grad)
{
    struct tc_tensor as;
    double max;

    if (!tc_tensor_read(grad, &as)) {
        PyErr_Clear();
        return TC_GRAD_NON_ZERO;
    }
    max = as.dtype->number == TC_NUMBER_OTHER ? -1 : magnitude(grad, &as);
    if (as.n == 0)
        return TC_GRAD_ZERO;
    if (max < 0)
        return TC_GRAD_NON_ZERO;
    if (v->max_abs < 0)
        v->max_abs = magnitude(tensor, &v->seen.tensor);
    return tc_grad_classify(max, v->max_abs);
}

static void see_grad(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s)
{
    PyObject *grad = s->is_leaf ? tc_tensor_grad(tensor) : NULL;

    if (!grad) {
        s->grad = TC_GRAD_NULL;
        s->grad_serial = 0;
        v->cleared = true;
        return;
    }
    s->grad_serial = tc_identity(grad);
    tc_tensor_version(grad, &s->grad_address, &s->grad_version);
    if (s->grad_serial != v->seen.grad_serial || s->grad_address != v->seen.grad_address ||
        s->grad_version != v->seen.grad_version || v->seen.grad == TC_GRAD_NULL)
        s->grad = classify(v, tensor, grad);
    if (s->grad == TC_GRAD_ZERO || (v->announced && s->grad_serial != v->seen.grad_serial))
        v->cleared = true;
    Py_DECREF(grad);
}

/* False if the tensor cannot be read at all. */
static bool see_body(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s, bool verify)
{
    bool moved;

    tc_tensor_version(tensor, &s->address, &s->version);
    moved = !v->announced || s->address != v->seen.address;
    if (!moved && s->version == v->seen.version && !verify)
        return true;
    if (!tc_tensor_read(tensor, &s->tensor))
        return false;
    s->is_leaf = tc_tensor_is_leaf(tensor);
    s->layout = tc_tensor_layout(tensor);
    see_content(tensor, s);
    if (!v->announced)
        total += s->tensor.n * s->tensor.dtype->item_size;
    if (moved && v->announced)
        tc_identity_rebind(tensor, v->serial);
    if (s->digest != v->seen.digest)
        v->max_abs = -1;
    return true;
}

static int mode_of(const struct tc_tracked *v)
{
    PyObject *owner = tc_ref_get(v->owner);

    return owner ? tc_module_is_training(owner) : -1;
}

bool tc_seen_take(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s, bool verify)
{
    *s = v->seen;
    if (!see_body(v, tensor, s, verify))
        return false;
    if (!v->announced)
        v->seen.tensor = s->tensor; /* classify reads it */
    s->tensor.requires_grad = tc_tensor_requires_grad(tensor);
    see_grad(v, tensor, s);
    s->training = mode_of(v);
    return true;
}
