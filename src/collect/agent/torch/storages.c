/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storages.c - storages by their addresses, each with a weak reference of torch's own
 *
 * A tensor's result mostly has a storage that nothing else shows, and dies with it: so a storage
 * is looked up by the address that layout.c reads, and no Python object is made of it. Where that
 * cannot be read torch is asked for all of it. Storages that are over are let go each time the
 * list has doubled, by torch's own function.
 */
#include "collect/agent/torch/storages.h"

#include "base/hash.h"
#include "base/map.h"
#include "collect/agent/torch/counts.h"
#include "collect/agent/torch/tensor.h"

/* From so many on, those that are over are let go now and then. */
#define MIN_SWEPT 1024

/* What some tensor showed of a storage. Most storages show one piece. */
struct storage {
    uint64_t address;
    uint64_t first, first_number; /* 0: none yet */
    struct tc_map others;
};

static struct {
    PyObject *is_over, *let_go; /* of torch.UntypedStorage, by address; NULL: no storage is known */
} ask;

static TC_VEC(struct storage) all;
static struct tc_map by_address;
static size_t sweep_at = MIN_SWEPT;

void tc_storages_init(PyObject *torch)
{
    PyObject *type = tc_optional(torch, "UntypedStorage");

    ask.is_over = tc_optional(type, "_expired");
    ask.let_go = tc_optional(type, "_free_weak_ref");
    Py_XDECREF(type);
}

/* ---- those that are over ---- */

/* A builtin of one argument is called past what makes calls of all kinds. */
static PyObject *call_one(PyObject *function, PyObject *arg)
{
    if (PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) & METH_O)
        return PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), arg);
    return PyObject_CallOneArg(function, arg);
}

static PyObject *call_of_torch(PyObject *function, uint64_t address)
{
    PyObject *number = PyLong_FromUnsignedLongLong(address);
    PyObject *said = number ? call_one(function, number) : NULL;

    PyErr_Clear();
    Py_XDECREF(number);
    return said;
}

static bool is_over(uint64_t address)
{
    const enum tc_answer read = tc_counts_are_over(address);
    PyObject *said;

    if (read != TC_ANSWER_UNKNOWN)
        return read == TC_ANSWER_YES;
    said = call_of_torch(ask.is_over, address);
    Py_XDECREF(said); /* a singleton */
    return said == Py_True;
}

static void let_go(struct storage *storage)
{
    Py_XDECREF(call_of_torch(ask.let_go, storage->address));
    if (storage->others.cap)
        tc_map_release(&storage->others);
}

static void sweep(void)
{
    size_t n = 0;

    tc_map_clear(&by_address);
    for (size_t i = 0; i < all.n; i++) {
        if (is_over(all.items[i].address)) {
            let_go(&all.items[i]);
            continue;
        }
        tc_map_put(&by_address, all.items[i].address, n);
        all.items[n++] = all.items[i];
    }
    all.n = n;
    sweep_at = 2 * n > MIN_SWEPT ? 2 * n : MIN_SWEPT;
}

/* ---- look-up ---- */

static struct storage *add(uint64_t address)
{
    const struct storage fresh = {.address = address};

    tc_map_put(&by_address, address, all.n);
    tc_vec_push(&all, fresh);
    return &all.items[all.n - 1];
}

static struct storage *find(uint64_t address)
{
    uint64_t i;

    return tc_map_get(&by_address, address, &i) ? &all.items[i] : NULL;
}

static struct storage *find_read(PyObject *tensor)
{
    const uint64_t address = tc_layout_storage(tensor);
    struct storage *known = address ? find(address) : NULL;

    if (!known && address && tc_counts_hold(address))
        known = add(address);
    return known;
}

/* torch gives its address together with a weak reference, of which one is enough. */
static struct storage *find_asked(PyObject *tensor)
{
    PyObject *storage = tc_tensor_call(tensor, TC_ATTRIBUTE_untyped_storage);
    PyObject *number = storage ? PyObject_CallMethod(storage, "_weak_ref", NULL) : NULL;
    const uint64_t address = number ? (uint64_t)(uintptr_t)PyLong_AsVoidPtr(number) : 0;
    struct storage *known = NULL;

    PyErr_Clear();
    if (address)
        known = find(address);
    if (known)
        Py_XDECREF(call_of_torch(ask.let_go, address));
    else if (address)
        known = add(address);
    Py_XDECREF(number);
    Py_XDECREF(storage);
    return known;
}

static uint64_t *number_at(struct storage *storage, uint64_t piece)
{
    bool is_new;

    if (!storage->first_number)
        storage->first = piece;
    return storage->first == piece ? &storage->first_number
                                   : tc_map_at(&storage->others, piece, &is_new);
}

uint64_t *tc_storage_piece(PyObject *tensor)
{
    const bool is_exact = tc_tensor_is_exact(tensor);
    struct storage *known = NULL;
    int64_t offset, n;

    if (!ask.is_over || !ask.let_go || !tc_tensor_piece(tensor, &offset, &n))
        return NULL;
    if (all.n >= sweep_at)
        sweep();
    if (is_exact)
        known = find_read(tensor);
    if (!known)
        known = find_asked(tensor);
    return known ? number_at(known, tc_hash_mix(0, (uint64_t)offset, (uint64_t)n)) : NULL;
}
