/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c - here or elsewhere: each question goes to memory or to a device
 *
 * Between tc_look_begin() and tc_look_end() questions are gathered by tensor; tc_look_submit()
 * sends them, and tc_look_at() then finds the answer that is on its way, or reads a copy, for
 * which training waits. Large memory is read without the interpreter's lock. A figure is therefore
 * either known or a piece that has not come: ask tc_figure_...() and take no for an answer.
 */
#include "collect/agent/look/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "collect/agent/look/cuda_table.h"
#include "collect/agent/look/digest.h"
#include "collect/agent/look/summary.h"
#include "collect/agent/look/transfer.h"
#include "collect/agent/torch/dlpack.h"

/* Memory above this is read without the interpreter's lock. */
#define MIN_UNLOCKED ((size_t)1 << 18)

/* Bytes of a tensor that does not lie in one piece and is copied into one. */
#define MAX_PACKED ((size_t)512 << 10)

/* Of a variable that lies elsewhere: the numbers of its questions, -1 where one was not asked. */
struct asked {
    int64_t digest, magnitude;
};

/* The one at variables. */
static struct {
    bool is_open;
    struct tc_questions questions;
    TC_VEC(struct asked) all;
    struct tc_map by_tensor; /* to index */
} look;

static bool is_forced_elsewhere(void)
{
    static int forced = -1;

    if (forced < 0)
        forced = getenv(TC_TEST_ELSEWHERE) != NULL;
    return forced;
}

bool tc_look_is_elsewhere(const struct tc_tensor *as)
{
    return !as->on_cpu || is_forced_elsewhere();
}

bool tc_look_is_here(const struct tc_tensor *as)
{
    return as->is_here && !is_forced_elsewhere();
}

bool tc_look_has_kernel(const struct tc_tensor *as)
{
    const int device = tc_table_device(as->device);

    return device >= 0 && tc_cuda_has_kernel(device);
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
    if (!tc_tensor_is_literal(tensor, as->dtype, true)) {
        tc_tensor_memory(tensor, as, true, out);
        return;
    }
    pack(&end, view.data, &view, 0, as->dtype->item_size);
    out->data = packed;
}

void tc_look_memory(PyObject *tensor, const struct tc_tensor *as, enum tc_reach reach,
                    struct tc_memory *out)
{
    memset(out, 0, sizeof(*out));
    if ((as->on_cpu || as->n == 0) &&
        (reach == TC_REACH_PLACE || as->address || !tc_tensor_is_wrapped(tensor)))
        tc_tensor_memory(tensor, as, false, out);
    if (!out->data && reach >= TC_REACH_APART && as->on_cpu && as->n)
        read_apart(tensor, as, out);
    if (!out->data && reach == TC_REACH_COPY)
        tc_tensor_memory(tensor, as, true, out);
}

bool tc_look_is_asked(PyObject *tensor, const struct tc_tensor *as, enum tc_reach reach)
{
    struct tc_dlpack_view view;
    bool is_plain;

    if (!tc_look_is_elsewhere(as) || as->n == 0 || tc_tensor_is_emptied(tensor, as))
        return false;
    is_plain = tc_tensor_is_plain(tensor, as);
    PyErr_Clear();
    return is_plain ||
           (reach >= TC_REACH_APART && as->address && as->n * as->dtype->item_size <= MAX_PACKED &&
            tc_dlpack_view(tensor, &view) && view.n_dims == as->n_dims);
}

/* ---- what lies in this process's memory ---- */

static void read_bytes(const struct tc_memory *m, const struct tc_tensor *as, unsigned asked,
                       uint64_t seed, struct tc_figure *out)
{
    switch (asked) {
    case TC_ASK_DIGEST:
        out->value.digest = tc_digest(m->data, m->size, seed);
        break;
    case TC_ASK_STRIPES:
        out->value.digest = tc_digest_stripes(m->data, m->size, seed);
        break;
    case TC_ASK_MAGNITUDE:
        out->value.number = tc_max_abs(m->data, m->n, as->dtype->number);
        break;
    case TC_ASK_VALUE:
        out->value.number = tc_float_at(m->data, as->dtype->number);
        break;
    }
    out->is_known = true;
}

/* What lies elsewhere is copied, for which training waits. */
static void read_memory(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                        struct tc_figure *out)
{
    struct tc_tensor there = *as;
    struct tc_memory m;
    PyThreadState *state;

    there.on_cpu = !tc_look_is_elsewhere(as);
    there.is_here = as->is_here && there.on_cpu;
    tc_tensor_memory(tensor, &there, true, &m);
    if (m.data && !(m.is_packed && asked & (TC_ASK_MAGNITUDE | TC_ASK_VALUE))) {
        state = m.size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
        read_bytes(&m, as, asked, seed, out);
        if (state)
            PyEval_RestoreThread(state);
    }
    tc_memory_release(&m);
}

bool tc_look_sketch(PyObject *tensor, const struct tc_tensor *as, uint64_t begin,
                    struct tc_sketch *out)
{
    struct tc_memory m;
    PyThreadState *state;
    bool has = false;

    if (tc_look_is_elsewhere(as) || as->n == 0 || as->dtype->number == TC_NUMBER_OTHER)
        return false;
    tc_tensor_memory(tensor, as, true, &m);
    if (m.data && !m.is_packed) {
        state = m.size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
        has = tc_sketch_take(m.data, m.n, begin, as->dtype->number, out);
        if (state)
            PyEval_RestoreThread(state);
    }
    tc_memory_release(&m);
    return has;
}

/* ---- what lies elsewhere ---- */

static void forget_questions(void)
{
    tc_questions_clear(&look.questions);
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

static const struct asked *find_asked(PyObject *tensor)
{
    uint64_t i;

    return tc_map_get(&look.by_tensor, (uintptr_t)tensor, &i) ? &look.all.items[i] : NULL;
}

static struct asked *find_or_add(PyObject *tensor)
{
    const struct asked fresh = {-1, -1};
    bool is_new;
    uint64_t *slot = tc_map_at(&look.by_tensor, (uintptr_t)tensor, &is_new);

    if (is_new) {
        *slot = look.all.n;
        tc_vec_push(&look.all, fresh);
    }
    return &look.all.items[*slot];
}

void tc_look_add(PyObject *tensor, const struct tc_tensor *as, unsigned asked)
{
    struct asked *a;

    if (!look.is_open || as->n == 0 || tc_tensor_is_emptied(tensor, as))
        return;
    a = find_or_add(tensor);
    if ((asked & TC_ASK_DIGEST) && a->digest < 0)
        a->digest = (int64_t)tc_questions_add(&look.questions, TC_WHAT_DIGEST, tensor, NULL);
    if ((asked & TC_ASK_MAGNITUDE) && a->magnitude < 0)
        a->magnitude = (int64_t)tc_questions_add(&look.questions, TC_WHAT_MAGNITUDE, tensor, NULL);
}

void tc_look_submit(void)
{
    tc_questions_submit(&look.questions);
}

double tc_look_number(const unsigned char *data, const struct tc_dtype *dtype, size_t i)
{
    const enum tc_number sent = dtype->number == TC_NUMBER_F64 ? TC_NUMBER_F64 : TC_NUMBER_F32;

    return tc_float_at(data + i * (sent == TC_NUMBER_F64 ? 8 : 4), sent);
}

bool tc_figure_digest(const struct tc_figure *figure, uint64_t *out)
{
    const unsigned char *data = tc_piece_data(&figure->piece);
    uint64_t sum;

    if (data) {
        memcpy(&sum, data, sizeof(sum));
        *out = tc_digest_of_sum(sum, figure->size, figure->seed);
    } else if (figure->is_known) {
        *out = figure->value.digest;
    }
    return data || figure->is_known;
}

bool tc_figure_number(const struct tc_figure *figure, double *out)
{
    const unsigned char *data = tc_piece_data(&figure->piece);

    if (data) {
        *out = tc_look_number(data, figure->dtype, 0);
        if (!isfinite(*out))
            *out = (double)INFINITY;
    } else if (figure->is_known) {
        *out = figure->value.number;
    }
    return data || figure->is_known;
}

static const struct tc_piece *answer_to(PyObject *tensor, unsigned asked)
{
    const struct asked *a = find_asked(tensor);
    const int64_t question = !a                          ? -1
                             : asked == TC_ASK_DIGEST    ? a->digest
                             : asked == TC_ASK_MAGNITUDE ? a->magnitude
                                                         : -1;

    return question < 0 ? NULL : &look.questions.pieces.items[question];
}

/* What is not answered, as while a graph is captured, is read from a copy. */
void tc_look_at(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                struct tc_figure *out)
{
    const struct tc_piece *piece = tc_look_is_elsewhere(as) ? answer_to(tensor, asked) : NULL;

    memset(out, 0, sizeof(*out));
    out->dtype = as->dtype;
    if (!piece || !piece->transfer) {
        read_memory(tensor, as, asked, seed, out);
        return;
    }
    out->piece = *piece;
    out->seed = seed;
    out->size = as->n * as->dtype->item_size;
}
