/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack.c - the few parts of DLPack that are needed, declared here
 *
 * The interface is taken from torch once. Of a newer major version the chain of older ones is
 * searched for ours. A view is borrowed from the tensor: it is valid as long as that is not
 * resized.
 */
#include "collect/agent/torch/dlpack.h"

#define MAJOR 1 /* of the interface that is described here */
/* Kinds of devices. */
#define CPU          1
#define CUDA         2
#define ROCM         10 /* torch calls it "cuda" too */
#define CUDA_MANAGED 13

/* The parts of dlpack.h that are used; its specification fixes their layout. */
struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t n_dims;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct dl_header {
    uint32_t major, minor;
    struct dl_header *previous; /* an interface of an older version */
};

struct dl_interface {
    struct dl_header header;
    void (*allocate)(void);
    void (*to_managed)(void);
    void (*from_managed)(void);
    int (*to_tensor)(void *object, struct dl_tensor *out); /* may be NULL */
    void (*stream)(void);
};

static int (*to_tensor)(void *object, struct dl_tensor *out);

void tc_dlpack_init(PyObject *tensor_class)
{
    PyObject *capsule = PyObject_GetAttrString(tensor_class, "__dlpack_c_exchange_api__");
    struct dl_header *header = NULL;

    if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        header = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (header && header->major > MAJOR)
        header = header->previous;
    if (header && header->major == MAJOR)
        to_tensor = ((struct dl_interface *)(void *)header)->to_tensor;
    Py_XDECREF(capsule); /* the interface is static */
    PyErr_Clear();
}

bool tc_dlpack_is_there(void)
{
    return to_tensor;
}

static bool is_cuda(int32_t type)
{
    return type == CUDA || type == CUDA_MANAGED || type == ROCM;
}

bool tc_dlpack_view(PyObject *tensor, struct tc_dlpack_view *out)
{
    struct dl_tensor t;

    if (!to_tensor)
        return false;
    if (to_tensor(tensor, &t) != 0) {
        PyErr_Clear();
        return false;
    }
    out->data = (const char *)t.data + t.byte_offset;
    out->shape = t.shape;
    out->strides = t.strides;
    out->n_dims = (size_t)t.n_dims;
    out->type = (uint32_t)t.code << 24 | (uint32_t)t.bits << 16 | t.lanes;
    out->on_cpu = t.device_type == CPU;
    out->is_literal = false;
    out->requires_grad = TC_ANSWER_UNKNOWN;
    out->cuda = is_cuda(t.device_type) ? t.device_id : -1;
    return true;
}

bool tc_dlpack_is_contiguous(const struct tc_dlpack_view *view)
{
    int64_t expected = 1;

    for (size_t i = 0; i < view->n_dims; i++)
        if (view->shape[i] == 0)
            return true;
    for (size_t i = view->n_dims; i > 0; i--) {
        if (view->shape[i - 1] == 1)
            continue;
        if (view->strides[i - 1] != expected)
            return false;
        expected *= view->shape[i - 1];
    }
    return true;
}
