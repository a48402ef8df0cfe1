/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_table.c - questions to tensors as items, and items as tiles of work
 *
 * A tensor is described by its address, type and up to a few dimensions that do not lie in one
 * piece; one that cannot be is left to torch (false). Questions to the same memory, one after the
 * other, share an item and are answered by one pass. Tiles are made last, when all items are
 * known. Places of answers are as kernel.h has them.
 */
#include "collect/agent/look/cuda_table.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/look/summary.h"
#include "collect/agent/torch/dlpack.h"
#include "collect/agent/torch/tensor.h"
#include "collect/agent/torch/torch.h"

/* Values of TC_TEST_ELSEWHERE: the CPU is taken for a device of CUDA, or for two: then what has
 * double precision lies on the second. */
#define ONE_DEVICE  "cuda"
#define TWO_DEVICES "cuda:2"

/* A tensor has so many blocks at most: more than any device runs at once. */
#define MAX_TILES 2048

_Static_assert(TC_NUMBER_F16 == 1 && TC_NUMBER_BF16 == 2 && TC_NUMBER_F32 == 3 &&
                   TC_NUMBER_F64 == 4,
               "kernel.c has these numbers");

/* ---- where a tensor lies ---- */

struct place {
    struct tc_kernel_item item;       /* its memory, and nothing asked yet */
    size_t n_dims, n_rows, n_columns; /* its first and its last dimension; 0: it has none */
    int device;
};

/* 0: for none. */
static int n_taken_for_cuda(void)
{
    static int taken = -1;
    const char *value;

    if (taken < 0) {
        value = getenv(TC_TEST_ELSEWHERE);
        taken = !value                            ? 0
                : strcmp(value, ONE_DEVICE) == 0  ? 1
                : strcmp(value, TWO_DEVICES) == 0 ? 2
                                                  : 0;
    }
    return taken;
}

int tc_table_device(const char *name)
{
    if (strncmp(name, "cuda:", 5) == 0)
        return (int)strtol(name + 5, NULL, 10);
    return n_taken_for_cuda() && strcmp(name, "cpu") == 0 ? 0 : -1;
}

static int device_of(const struct tc_dlpack_view *view, const struct tc_dtype *dtype)
{
    if (view->on_cpu && n_taken_for_cuda())
        return n_taken_for_cuda() == 2 && dtype->number == TC_NUMBER_F64;
    return view->cuda;
}

/* Dimensions of one element say nothing, and neighbours that lie in one piece are one. */
static bool take_dims(struct tc_kernel_item *item, const struct tc_dlpack_view *view)
{
    const size_t item_size = item->item_size;
    size_t n = 0;

    for (size_t i = 0; i < view->n_dims; i++) {
        const uint64_t size = (uint64_t)view->shape[i], stride = (uint64_t)view->strides[i];

        if (size == 1)
            continue;
        if (n && item->stride[n - 1] == size * stride * item_size) {
            item->shape[n - 1] *= size;
            item->stride[n - 1] = stride * item_size;
            continue;
        }
        if (n == TC_KERNEL_MAX_DIMS)
            return false;
        item->shape[n] = size;
        item->stride[n++] = stride * item_size;
    }
    if (n == 1 && item->stride[0] == item_size)
        n = 0;
    item->n_dims = (tc_u32)n;
    return true;
}

static bool is_true(PyObject *answer)
{
    Py_XDECREF(answer);
    PyErr_Clear();
    return answer == Py_True;
}

/* Before torch 2.10: those in one piece. */
static bool view_by_attributes(PyObject *tensor, struct tc_dlpack_view *view, struct place *out,
                               size_t *n)
{
    PyObject *device = PyObject_CallMethod(tensor, "get_device", NULL);
    PyObject *pointer = tc_tensor_call(tensor, TC_ATTRIBUTE_data_ptr);
    PyObject *shape = tc_tensor_get(tensor, TC_ATTRIBUTE_shape);
    bool is_told = device && pointer && shape && PyTuple_Check(shape) &&
                   is_true(tc_tensor_call(tensor, TC_ATTRIBUTE_is_contiguous));

    *view = (struct tc_dlpack_view){.cuda = -1};
    if (is_told) {
        view->cuda = (int)PyLong_AsLong(device);
        view->on_cpu = view->cuda < 0;
        view->data = PyLong_AsVoidPtr(pointer);
        *n = 1;
        out->n_dims = (size_t)PyTuple_GET_SIZE(shape);
        for (size_t i = 0; i < out->n_dims; i++) {
            out->n_columns = PyLong_AsSize_t(PyTuple_GET_ITEM(shape, (Py_ssize_t)i));
            out->n_rows = i ? out->n_rows : out->n_columns;
            *n *= out->n_columns;
        }
        is_told = !PyErr_Occurred();
    }
    Py_XDECREF(device);
    Py_XDECREF(pointer);
    Py_XDECREF(shape);
    PyErr_Clear();
    return is_told;
}

static bool view_of(PyObject *tensor, struct tc_dlpack_view *view, struct place *out, size_t *n)
{
    if (!tc_dlpack_is_there())
        return view_by_attributes(tensor, view, out, n);
    if (!tc_dlpack_view(tensor, view))
        return false;
    out->n_dims = view->n_dims;
    out->n_rows = view->n_dims ? (size_t)view->shape[0] : 0;
    out->n_columns = view->n_dims ? (size_t)view->shape[view->n_dims - 1] : 0;
    *n = 1;
    for (size_t i = 0; i < view->n_dims; i++)
        *n *= (size_t)view->shape[i];
    return true;
}

static bool find_place(PyObject *tensor, struct place *out)
{
    struct tc_dlpack_view view;
    const struct tc_dtype *dtype;
    PyObject *object;
    size_t n;

    memset(out, 0, sizeof(*out));
    if (!tc_tensor_is_exact(tensor) || !view_of(tensor, &view, out, &n))
        return false;
    if (!n || !view.data)
        return false;
    object = tc_tensor_get(tensor, TC_ATTRIBUTE_dtype);
    dtype = object ? tc_dtype_of(object) : NULL;
    Py_XDECREF(object);
    PyErr_Clear();
    if (!dtype || !dtype->item_size)
        return false;
    out->device = device_of(&view, dtype);
    if (out->device < 0)
        return false;
    out->item.data = (tc_u64)(uintptr_t)view.data;
    out->item.size = n * dtype->item_size;
    out->item.item_size = (tc_u32)dtype->item_size;
    out->item.number = dtype->number;
    out->item.is_signed = dtype->integer != TC_INTEGER_BOOL && dtype->integer != TC_INTEGER_U8;
    return take_dims(&out->item, &view) &&
           tc_tensor_is_literal(tensor, dtype, out->item.n_dims > 0 || n == 1);
}

/* ---- questions ---- */

/* Of what cannot be divided one, of rows one each. */
static size_t n_tiles(struct tc_kernel_item *item)
{
    const size_t groups = (item->size + TC_KERNEL_GROUP - 1) / TC_KERNEL_GROUP;
    const bool is_divided = item->what != TC_KERNEL_SCALE && !(item->what & ~TC_KERNEL_DIVIDED);

    item->tile = (is_divided ? (groups + MAX_TILES - 1) / MAX_TILES : groups) * TC_KERNEL_GROUP;
    return item->n_rows ? item->n_rows : (item->size + item->tile - 1) / item->tile;
}

static void add_tiles(struct tc_table *table)
{
    for (size_t i = 0; i < table->items.n; i++) {
        const size_t n = n_tiles(&table->items.items[i]);

        for (size_t k = 0; k < n; k++) {
            const struct tc_kernel_tile tile = {(tc_u32)i, (tc_u32)k};
            tc_vec_push(&table->tiles, tile);
        }
    }
}

static void add_asked(struct tc_table *table, size_t number, tc_u32 flag)
{
    const struct tc_in_table fresh = {number, table->items.n - 1, flag};

    table->items.items[fresh.item].what |= flag;
    tc_vec_push(&table->asked, fresh);
}

static void add_item(struct tc_table *table, PyObject *tensor, struct tc_kernel_item *item)
{
    tc_vec_push(&table->items, *item);
    tc_vec_push(&table->tensors, tensor);
}

#define ALONE (TC_KERNEL_ROWS | TC_KERNEL_STRIPES)

/* What is asked of the same memory, one after the other, is read in one go. */
static bool is_last(const struct tc_table *table, const struct place *place, tc_u32 flag)
{
    const struct tc_kernel_item *last, *p = &place->item;

    if (!table->items.n)
        return false;
    last = &table->items.items[table->items.n - 1];
    return last->data == p->data && last->size == p->size && !(last->what & ALONE) &&
           last->n_dims == p->n_dims && last->number == p->number &&
           last->item_size == p->item_size && last->is_signed == p->is_signed &&
           !(last->what & flag) && memcmp(last->shape, p->shape, sizeof(p->shape)) == 0 &&
           memcmp(last->stride, p->stride, sizeof(p->stride)) == 0;
}

static void ask_flag(struct tc_table *table, PyObject *tensor, struct place *place, tc_u32 flag,
                     size_t number)
{
    if (!is_last(table, place, flag))
        add_item(table, tensor, &place->item);
    add_asked(table, number, flag);
}

static bool ask_numbers(struct tc_table *table, PyObject *tensor, struct place *place, tc_u32 flag,
                        size_t number)
{
    if (place->item.number == TC_NUMBER_OTHER)
        return false;
    ask_flag(table, tensor, place, flag, number);
    return true;
}

static bool ask_first(struct tc_table *table, PyObject *tensor, struct place *place, size_t number)
{
    if (place->item.item_size > 8)
        return false;
    ask_flag(table, tensor, place, TC_KERNEL_FIRST, number);
    return true;
}

static bool ask_same(struct tc_table *table, const struct tc_question *question,
                     struct place *place, size_t number)
{
    struct place other;

    if (!find_place(question->other, &other) || other.device != place->device ||
        other.item.n_dims || other.item.size != place->item.size)
        return false;
    place->item.other = other.item.data;
    add_item(table, question->tensor, &place->item);
    tc_vec_push(&table->tensors, question->other);
    add_asked(table, number, TC_KERNEL_SAME);
    return true;
}

static bool may_be_counted(const struct place *place)
{
    return place->item.size <= TC_KERNEL_MAX_COUNTED * place->item.item_size;
}

static bool ask_summary(struct tc_table *table, PyObject *tensor, struct place *place,
                        size_t number)
{
    if (place->item.item_size > 8 || !may_be_counted(place))
        return false;
    ask_flag(table, tensor, place, TC_KERNEL_SUMMARY, number);
    table->items.items[table->items.n - 1].n_columns =
        place->n_dims > 1 ? (tc_u32)place->n_columns : 0;
    return true;
}

/* Digests of pieces are those of what lies in one. */
static bool ask_stripes(struct tc_table *table, const struct tc_question *question,
                        struct place *place, size_t number)
{
    struct tc_kernel_item *item = &place->item;

    if (item->n_dims)
        return false;
    item->seed = question->seed;
    item->n_pieces = TC_N_STRIPES + 1;
    item->piece_size = TC_STRIPE_SIZE;
    add_item(table, question->tensor, item);
    add_asked(table, number, TC_KERNEL_STRIPES);
    return true;
}

static bool ask_rows(struct tc_table *table, PyObject *tensor, struct place *place, size_t number)
{
    struct tc_kernel_item *item = &place->item;

    if (!place->n_rows)
        return false;
    item->n_rows = (tc_u32)place->n_rows;
    if (tc_rows_have_pieces(item->size / place->n_rows, item->size)) {
        if (item->n_dims)
            return false;
        item->n_pieces = TC_N_PIECES;
        item->piece_size = TC_PIECE_SIZE;
    }
    add_item(table, tensor, item);
    add_asked(table, number, TC_KERNEL_ROWS);
    return true;
}

bool tc_table_add(struct tc_table *tables, const struct tc_question *question, size_t number)
{
    PyObject *tensor = question->tensor;
    struct place place;
    struct tc_table *table;

    if (!find_place(tensor, &place) || !tc_cuda_has_kernel(place.device))
        return false;
    table = &tables[place.device];
    switch (question->what) {
    case TC_WHAT_DIGEST:
        ask_flag(table, tensor, &place, TC_KERNEL_DIGEST, number);
        return true;
    case TC_WHAT_BYTES:
        ask_flag(table, tensor, &place, TC_KERNEL_BYTES, number);
        return true;
    case TC_WHAT_MAGNITUDE:
        return ask_numbers(table, tensor, &place, TC_KERNEL_MAGNITUDE, number);
    case TC_WHAT_FINITE:
        return ask_numbers(table, tensor, &place, TC_KERNEL_FINITE, number);
    case TC_WHAT_FIRST:
        return ask_first(table, tensor, &place, number);
    case TC_WHAT_SAME:
        return ask_same(table, question, &place, number);
    case TC_WHAT_SAMPLE:
        return ask_numbers(table, tensor, &place, TC_KERNEL_SCALE, number);
    case TC_WHAT_STRIPES:
        return ask_stripes(table, question, &place, number);
    case TC_WHAT_ROWS:
        return ask_rows(table, tensor, &place, number);
    case TC_WHAT_SUMMARY:
        return ask_summary(table, tensor, &place, number);
    case TC_WHAT_RANGE:
        return may_be_counted(&place) &&
               ask_numbers(table, tensor, &place, TC_KERNEL_RANGE, number);
    }
    return false;
}

/* ---- the launch ---- */

/* The bytes of all answers. */
static size_t place_answers(struct tc_table *table)
{
    size_t at = 0;

    for (size_t i = 0; i < table->items.n; i++) {
        struct tc_kernel_item *item = &table->items.items[i];

        item->at = at;
        at += 8 * tc_kernel_at(item, 2 * TC_KERNEL_BYTES);
    }
    return at;
}

/* Those that several blocks add up begin as zero, those of rows need not. */
static bool is_divided(const struct tc_table *table)
{
    for (size_t i = 0; i < table->items.n; i++)
        if (!table->items.items[i].n_rows &&
            table->items.items[i].size > table->items.items[i].tile)
            return true;
    return false;
}

/* The stream on which the tensors are read, which the policy tells their allocator. */
static bool find_stream(const struct tc_table *table, int device, uint64_t *stream)
{
    PyObject *tensors = PyList_New(0), *told = NULL;

    for (size_t i = 0; tensors && i < table->tensors.n; i++)
        if ((!i || table->tensors.items[i] != table->tensors.items[i - 1]) &&
            PyList_Append(tensors, table->tensors.items[i]) != 0)
            Py_CLEAR(tensors);
    if (tensors)
        told = tc_policy_call("stream_of", "(iO)", device, tensors);
    *stream = told ? PyLong_AsUnsignedLongLong(told) : 0;
    Py_XDECREF(told);
    Py_XDECREF(tensors);
    return !PyErr_Occurred();
}

struct tc_cuda_job *tc_table_start(struct tc_table *table, int device, bool *is_captured)
{
    const size_t size = place_answers(table), answer_size = (size + 15) / 16 * 16;
    const size_t of_items = table->items.n * sizeof(table->items.items[0]);
    size_t of_tiles;
    struct tc_cuda_job *job;
    uint64_t stream;

    add_tiles(table);
    of_tiles = table->tiles.n * sizeof(table->tiles.items[0]);
    *is_captured = false;
    if (!find_stream(table, device, &stream)) {
        PyErr_Clear();
        return NULL;
    }
    job = tc_cuda_take(device, answer_size, of_items + of_tiles, is_captured);
    if (!job)
        return NULL;
    job->answer_size = size;
    memcpy(job->host + answer_size, table->items.items, of_items);
    memcpy(job->host + answer_size + of_items, table->tiles.items, of_tiles);
    if (!tc_cuda_start(job, stream, answer_size, answer_size + of_items, table->tiles.n,
                       is_divided(table), is_captured) ||
        *is_captured)
        return NULL;
    return job;
}

size_t tc_table_place(const struct tc_table *table, const struct tc_in_table *asked)
{
    const struct tc_kernel_item *item = &table->items.items[asked->item];

    return item->at + 8 * tc_kernel_at(item, asked->flag);
}

void tc_table_clear(struct tc_table *table)
{
    table->items.n = table->tiles.n = table->asked.n = table->tensors.n = 0;
}

void tc_table_release(struct tc_table *table)
{
    tc_vec_release(&table->items);
    tc_vec_release(&table->tiles);
    tc_vec_release(&table->asked);
    tc_vec_release(&table->tensors);
}
