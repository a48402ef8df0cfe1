/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/look.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/map.h"
#include "collect/agent/digest.h"
#include "collect/agent/dlpack.h"

/* Memory above this is read without the interpreter's lock. */
#define MIN_UNLOCKED ((size_t)1 << 18)

/* Bytes of a tensor that does not lie in one piece and is copied into one. */
#define MAX_PACKED ((size_t)512 << 10)

/* Tests have what lies on the CPU asked as if it lay elsewhere, to compare the two. */
#define TEST_VARIABLE "TRAINCHECK_TEST_ELSEWHERE"

/* A tensor that lies elsewhere, and what came back. */
struct question {
    PyObject *tensor; /* held until the end of the look */
    unsigned asked, answered;
    uint64_t sum; /* of its bytes, as lanes.h makes it */
    double magnitude;
};

static struct {
    bool is_open;
    TC_VEC(struct question) all;
    struct tc_map by_tensor; /* to index */
} look;

static bool is_forced_elsewhere(void)
{
    static int forced = -1;

    if (forced < 0)
        forced = getenv(TEST_VARIABLE) != NULL;
    return forced;
}

bool tc_look_is_elsewhere(const struct tc_tensor *as)
{
    return !as->on_cpu || is_forced_elsewhere();
}

/* ---- bytes ---- */

static void pack(char **out, const char *from, const struct tc_dlpack_view *view, size_t dim,
                 size_t item_size)
{
    if (dim == view->n_dims) {
        memcpy(*out, from, item_size);
        *out += item_size;
        return;
    }
    for (int64_t i = 0; i < view->shape[dim]; i++)
        pack(out, from + i * view->strides[dim] * (int64_t)item_size, view, dim + 1, item_size);
}

/* Elements that lie apart, as of what expand() and slices show, are brought together here. */
static void read_apart(PyObject *tensor, const struct tc_tensor *as, struct tc_memory *out)
{
    static char packed[MAX_PACKED];
    char *end = packed;
    struct tc_dlpack_view view;

    if (!as->address || as->n * as->dtype->item_size > MAX_PACKED ||
        !tc_dlpack_view(tensor, &view) || view.n_dims != as->n_dims)
        return;
    pack(&end, view.data, &view, 0, as->dtype->item_size);
    out->data = packed;
}

void tc_look_memory(PyObject *tensor, const struct tc_tensor *as, enum tc_reach reach,
                    struct tc_memory *out)
{
    memset(out, 0, sizeof(*out));
    if (as->on_cpu && (reach == TC_REACH_PLACE || as->address || !tc_tensor_is_wrapped(tensor)))
        tc_tensor_memory(tensor, as, false, out);
    if (!out->data && reach >= TC_REACH_APART && as->on_cpu && as->n)
        read_apart(tensor, as, out);
    if (!out->data && reach == TC_REACH_COPY)
        tc_tensor_memory(tensor, as, true, out);
}

/* ---- what lies in this process's memory ---- */

static void read_bytes(const struct tc_memory *m, const struct tc_tensor *as, unsigned asked,
                       uint64_t seed, struct tc_answer *out)
{
    if (asked & TC_ASK_DIGEST)
        out->digest = tc_digest(m->data, m->size, seed);
    if (asked & TC_ASK_STRIPES)
        out->stripes = tc_digest_stripes(m->data, m->size, seed);
    if (asked & TC_ASK_MAGNITUDE)
        out->magnitude = tc_max_abs(m->data, m->n, as->dtype->number);
    if (asked & TC_ASK_VALUE)
        out->value = tc_float_at(m->data, as->dtype->number);
    out->answered = asked;
}

static void read_memory(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                        struct tc_answer *out)
{
    struct tc_memory m;
    PyThreadState *state;

    tc_tensor_memory(tensor, as, true, &m);
    if (m.is_packed)
        asked &= ~(TC_ASK_MAGNITUDE | TC_ASK_VALUE);
    if (m.data) {
        state = m.size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
        read_bytes(&m, as, asked, seed, out);
        if (state)
            PyEval_RestoreThread(state);
    }
    tc_memory_release(&m);
}

/* ---- what lies elsewhere ---- */

static void forget_questions(void)
{
    for (size_t i = 0; i < look.all.n; i++)
        Py_DECREF(look.all.items[i].tensor);
    look.all.n = 0;
    tc_map_clear(&look.by_tensor);
}

void tc_look_begin(void)
{
    forget_questions();
    look.is_open = true;
}

void tc_look_end(void)
{
    forget_questions();
    look.is_open = false;
}

static const struct question *find(PyObject *tensor)
{
    uint64_t i;

    return tc_map_get(&look.by_tensor, (uintptr_t)tensor, &i) ? &look.all.items[i] : NULL;
}

void tc_look_add(PyObject *tensor, const struct tc_tensor *as, unsigned asked)
{
    bool is_new;
    uint64_t *slot;

    if (!look.is_open || as->n == 0)
        return;
    slot = tc_map_at(&look.by_tensor, (uintptr_t)tensor, &is_new);
    if (is_new) {
        const struct question fresh = {.tensor = Py_NewRef(tensor)};

        *slot = look.all.n;
        tc_vec_push(&look.all, fresh);
    }
    look.all.items[*slot].asked |= asked;
}

/* [(tensor, wants a sum, wants a magnitude)]; NULL with a Python error set. */
static PyObject *put_questions(void)
{
    PyObject *list = PyList_New((Py_ssize_t)look.all.n);

    for (size_t i = 0; list && i < look.all.n; i++) {
        const struct question *q = &look.all.items[i];
        PyObject *one =
            Py_BuildValue("(OOO)", q->tensor, q->asked & TC_ASK_DIGEST ? Py_True : Py_False,
                          q->asked & TC_ASK_MAGNITUDE ? Py_True : Py_False);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

/* (sum, magnitude), each None where the question was not asked or has no answer. */
static void take_answer(struct question *q, PyObject *pair)
{
    PyObject *sum, *magnitude;

    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
        return;
    sum = PyTuple_GET_ITEM(pair, 0);
    magnitude = PyTuple_GET_ITEM(pair, 1);
    if (PyLong_Check(sum)) {
        q->sum = PyLong_AsUnsignedLongLongMask(sum);
        q->answered |= TC_ASK_DIGEST;
    }
    if (PyFloat_Check(magnitude)) {
        q->magnitude = PyFloat_AS_DOUBLE(magnitude);
        q->answered |= TC_ASK_MAGNITUDE;
    }
}

/* What is not answered here, as by a device without these operators, is read from a copy. */
void tc_look_submit(void)
{
    PyObject *questions, *answers;

    if (!look.all.n)
        return;
    questions = put_questions();
    answers = questions ? tc_policy_call("look", "(O)", questions) : NULL;
    if (answers && PyList_Check(answers) && (size_t)PyList_GET_SIZE(answers) == look.all.n)
        for (size_t i = 0; i < look.all.n; i++)
            take_answer(&look.all.items[i], PyList_GET_ITEM(answers, (Py_ssize_t)i));
    Py_XDECREF(answers);
    Py_XDECREF(questions);
    PyErr_Clear();
}

void tc_look_at(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                struct tc_answer *out)
{
    const struct question *q = tc_look_is_elsewhere(as) ? find(tensor) : NULL;

    memset(out, 0, sizeof(*out));
    if (!q || (asked & ~q->answered)) {
        read_memory(tensor, as, asked, seed, out);
        return;
    }
    out->answered = asked;
    out->digest = tc_digest_of_sum(q->sum, as->n * as->dtype->item_size, seed);
    out->magnitude = q->magnitude;
}
