/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storages.c - storages by their addresses, each with a weak reference of torch's own
 *
 * A tensor's result mostly has a storage that nothing else shows, and dies with it: so a storage
 * is looked up by the address that layout.c reads, and no Python object is made of it. Where that
 * cannot be read torch is asked for all of it. Storages that are over are let go each time the
 * table has doubled, by torch's own function.
 */
#include "collect/agent/torch/storages.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "collect/agent/torch/counts.h"
#include "collect/agent/torch/tensor.h"

/* From so many on, those that are over are let go now and then. */
#define MIN_SWEPT_STORAGES 1024

/* What some tensor showed of a storage. Most storages show one piece. */
struct storage {
    uint64_t address;             /* 0: none stands here */
    uint64_t first, first_number; /* 0: none yet */
    struct tc_map *others;        /* NULL: none */
};

static struct {
    PyObject *is_over, *let_go; /* of torch.UntypedStorage, by address; NULL: no storage is known */
} untyped_storage;

/* A storage stands at the first free place from that of its address on; half of them are free. */
static struct {
    struct storage *places;
    size_t n, cap; /* a power of two */
} all;
static size_t sweep_storages_at;

void tc_storages_init(PyObject *torch)
{
    PyObject *type = tc_optional(torch, "UntypedStorage");

    untyped_storage.is_over = tc_optional(type, "_expired");
    untyped_storage.let_go = tc_optional(type, "_free_weak_ref");
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

    tc_error_clear();
    Py_XDECREF(number);
    return said;
}

static bool is_over(uint64_t address)
{
    const enum tc_answer read = tc_counts_are_over(address);
    PyObject *said;

    if (read != TC_ANSWER_UNKNOWN)
        return read == TC_ANSWER_YES;
    said = call_of_torch(untyped_storage.is_over, address);
    Py_XDECREF(said); /* a singleton */
    return said == Py_True;
}

static void forget(struct storage *storage)
{
    Py_XDECREF(call_of_torch(untyped_storage.let_go, storage->address));
    if (storage->others)
        tc_map_release(storage->others);
    tc_free(storage->others);
}

static size_t home_of(uint64_t address)
{
    return (size_t)tc_hash_mix(0, address, 0) & (all.cap - 1);
}

static size_t behind(size_t i)
{
    return (i + 1) & (all.cap - 1);
}

/* The place of the storage, or that to put it into. */
static struct storage *place_of_storage(uint64_t address)
{
    size_t i = home_of(address);

    while (all.places[i].address && all.places[i].address != address)
        i = behind(i);
    return &all.places[i];
}

/* Those behind it that would not be found past a free place move up. */
static void take_out(size_t hole)
{
    for (size_t i = behind(hole); all.places[i].address; i = behind(i)) {
        const size_t mask = all.cap - 1, from_home = (i - home_of(all.places[i].address)) & mask;

        if (from_home < ((i - hole) & mask))
            continue;
        all.places[hole] = all.places[i];
        hole = i;
    }
    all.places[hole] = (struct storage){0};
    all.n--;
}

/* Room for twice as many as there may be before the next sweep. */
static void make_room(void)
{
    struct storage *old = all.places;
    const size_t n_old = all.cap;

    if (all.cap >= 2 * sweep_storages_at)
        return;
    all.cap = n_old ? n_old : 1;
    while (all.cap < 2 * sweep_storages_at)
        all.cap *= 2;
    all.places = tc_calloc(all.cap, sizeof(*all.places));
    for (size_t i = 0; i < n_old; i++)
        if (old[i].address)
            *place_of_storage(old[i].address) = old[i];
    tc_free(old);
}

static void sweep(void)
{
    for (size_t i = 0; i < all.cap; i++)
        while (all.places[i].address && is_over(all.places[i].address)) {
            forget(&all.places[i]);
            take_out(i);
        }
    sweep_storages_at = 2 * all.n > MIN_SWEPT_STORAGES ? 2 * all.n : MIN_SWEPT_STORAGES;
    make_room();
}

/* ---- look-up ---- */

static struct storage *add(struct storage *place, uint64_t address)
{
    place->address = address;
    all.n++;
    return place;
}

static struct storage *find_read(uint64_t address)
{
    struct storage *place = place_of_storage(address);

    if (place->address)
        return place;
    return tc_counts_hold(address) ? add(place, address) : NULL;
}

/* torch gives its address together with a weak reference, of which one is enough. */
static struct storage *find_asked(PyObject *tensor)
{
    PyObject *storage = tc_tensor_call(tensor, TC_ATTRIBUTE_untyped_storage);
    PyObject *number = storage ? PyObject_CallMethod(storage, "_weak_ref", NULL) : NULL;
    const uint64_t address = number ? (uint64_t)(uintptr_t)PyLong_AsVoidPtr(number) : 0;
    struct storage *place = NULL;

    PyErr_Clear();
    if (address)
        place = place_of_storage(address);
    if (place && place->address)
        Py_XDECREF(call_of_torch(untyped_storage.let_go, address));
    else if (place)
        add(place, address);
    Py_XDECREF(number);
    Py_XDECREF(storage);
    return place;
}

static uint64_t *number_at(struct storage *storage, uint64_t piece)
{
    bool is_new;

    if (!storage->first_number)
        storage->first = piece;
    if (storage->first == piece)
        return &storage->first_number;
    if (!storage->others)
        storage->others = tc_calloc(1, sizeof(*storage->others));
    return tc_map_at(storage->others, piece, &is_new);
}

uint64_t *tc_storage_piece(PyObject *tensor)
{
    struct tc_layout_piece at = {0};
    struct storage *known = NULL;

    if (!untyped_storage.is_over || !untyped_storage.let_go || !tc_tensor_piece(tensor, &at))
        return NULL;
    if (all.n >= sweep_storages_at)
        sweep();
    if (at.storage)
        known = find_read(at.storage);
    if (!known)
        known = find_asked(tensor);
    return known ? number_at(known, tc_hash_mix(0, (uint64_t)at.offset, (uint64_t)at.n)) : NULL;
}
