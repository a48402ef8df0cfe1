/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - serials by address, and by place in a storage (storages.h)
 *
 * An entry holds a weak reference; a new object at an old address is noticed as the reference is
 * dead. Dead entries are dropped each time the list has doubled. Pointers to entries are valid
 * until the next look-up. What takes no weak reference has serial 0, "not known", and is never
 * mistaken for another.
 */
#include "collect/agent/torch/identity.h"

#include <string.h>

#include "base/map.h"
#include "collect/agent/torch/storages.h"
#include "collect/agent/torch/tensor.h"

struct known {
    PyObject *ref;
    int64_t serial;
};

/* From so many on, entries of objects that are gone are dropped now and then. */
#define MIN_SWEPT 4096

static struct tc_map by_address;
static TC_VEC(struct known) objects;
static size_t sweep_at = MIN_SWEPT;

static int64_t last_serial;

/* The places in `objects` of the addresses that were asked for last: what one call returns is
 * handed to the next. */
#define N_LAST 64
static struct {
    const PyObject *object;
    size_t i;
} last[N_LAST];

/*
 * A step's tensors stand where those of the step before stood, or nearly so: without this, each
 * address that was used once would be remembered for ever.
 */
static void drop_dead(void)
{
    size_t n = 0;

    tc_map_clear(&by_address);
    memset(last, 0, sizeof(last));
    for (size_t i = 0; i < objects.n; i++) {
        struct known *k = &objects.items[i];
        PyObject *object = tc_ref_get(k->ref);

        if (object) {
            tc_map_put(&by_address, (uint64_t)(uintptr_t)object, n);
            objects.items[n++] = *k;
        } else {
            Py_XDECREF(k->ref);
        }
    }
    objects.n = n;
    sweep_at = 2 * n > MIN_SWEPT ? 2 * n : MIN_SWEPT;
}

static uint64_t add_known(PyObject *object)
{
    struct known fresh = {0};

    if (objects.n >= sweep_at)
        drop_dead();
    tc_map_put(&by_address, (uint64_t)(uintptr_t)object, objects.n);
    tc_vec_push(&objects, fresh);
    return objects.n - 1;
}

/* The place in `objects` of what is, or was, at the address. */
static size_t place_of(PyObject *object)
{
    const size_t slot = (uintptr_t)object / 16 % N_LAST;
    uint64_t i;

    if (last[slot].object == object)
        return last[slot].i;
    if (!tc_map_get(&by_address, (uint64_t)(uintptr_t)object, &i))
        i = add_known(object);
    last[slot].object = object;
    return last[slot].i = (size_t)i;
}

/* The entry of the object; serial 0 if it is new. NULL if it takes no weak references. */
static struct known *find_known(PyObject *object)
{
    const size_t i = place_of(object);
    struct known *k = &objects.items[i];
    PyObject *ref;

    if (k->ref && tc_ref_get(k->ref) == object)
        return k;
    ref = PyWeakref_NewRef(object, NULL);
    if (!ref) {
        PyErr_Clear();
        return NULL;
    }
    Py_XDECREF(k->ref);
    k->ref = ref;
    k->serial = 0;
    return k;
}

/* Where a type keeps its references is Python's own business: from 3.12 on the offset may be
 * negative. */
static bool takes_refs(PyObject *object)
{
    return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
}

int64_t tc_identity(PyObject *object)
{
    struct known *k = takes_refs(object) ? find_known(object) : NULL;

    if (!k)
        return 0;
    if (!k->serial)
        k->serial = ++last_serial;
    return k->serial;
}

/* Of a tensor that was not met before. */
static int64_t serial_of_tensor(PyObject *tensor)
{
    PyObject *shield = tc_tensor_shield_of(tensor);
    uint64_t *piece = tc_tensor_is_leaf(tensor) ? tc_storage_piece(tensor) : NULL;

    if (piece && !*piece)
        *piece = (uint64_t)++last_serial;
    const int64_t serial = piece ? (int64_t)*piece : ++last_serial;

    tc_tensor_unshield(shield);
    return serial;
}

int64_t tc_identity_tensor(PyObject *tensor)
{
    struct known *k = find_known(tensor);
    int64_t serial;

    if (!k || k->serial)
        return k ? k->serial : 0;
    serial = serial_of_tensor(tensor);
    if (!tc_tensor_is_exact(tensor)) /* it may have moved: a shield is Python */
        k = find_known(tensor);
    if (k)
        k->serial = serial;
    return serial;
}

int64_t tc_identity_fresh(void)
{
    return ++last_serial;
}

void tc_identity_rebind(PyObject *tensor, int64_t serial)
{
    uint64_t *piece = tc_storage_piece(tensor);

    if (piece)
        *piece = (uint64_t)serial;
}

int64_t tc_identity_forget(PyObject *object)
{
    uint64_t i;
    int64_t serial;

    if (!tc_map_get(&by_address, (uint64_t)(uintptr_t)object, &i))
        return 0;
    if (tc_ref_get(objects.items[i].ref) != object)
        return 0;
    serial = objects.items[i].serial;
    Py_CLEAR(objects.items[i].ref);
    return serial;
}

void tc_identity_restore(PyObject *object, int64_t serial)
{
    struct known *k = serial ? find_known(object) : NULL;

    if (k)
        k->serial = serial;
}
