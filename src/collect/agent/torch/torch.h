/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.h - what is taken of the imported torch: classes, attributes of tensors, dtypes, modes
 *
 * The room torch knows torch's objects - tensors, modules, classes, how callables are called - and
 * may depend on no other room.
 */
#ifndef TC_COLLECT_TORCH_H
#define TC_COLLECT_TORCH_H

#include "collect/agent/agent.h"
#include "collect/agent/torch/kinds.h"

/* Attributes and methods of torch.Tensor that are read. */
#define TC_ATTRIBUTE_MAP(X) \
    X(shape)                \
    X(dtype)                \
    X(device)               \
    X(requires_grad)        \
    X(is_cpu)               \
    X(is_meta)              \
    X(is_quantized)         \
    X(is_leaf)              \
    X(grad)                 \
    X(layout)               \
    X(_version)             \
    X(_local_tensor)        \
    X(data_ptr)             \
    X(is_contiguous)        \
    X(is_conj)              \
    X(is_neg)               \
    X(storage_offset)       \
    X(untyped_storage)

enum tc_tensor_attribute {
#define X(name) TC_ATTRIBUTE_##name,
    TC_ATTRIBUTE_MAP(X)
#undef X
    TC_N_ATTRIBUTES
};

struct tc_dtype {
    PyObject *object;
    char name[24];
    size_t item_size;
    enum tc_number number;
    enum tc_integer integer;
    bool is_complex;
};

/* Take what is needed from the imported torch; false with a Python error set. */
bool tc_torch_init(PyObject *torch);

bool tc_tensor_is(PyObject *object);
/* A tensor or parameter, and of no subclass: those may define attributes anew. */
bool tc_tensor_is_exact(PyObject *tensor);
/* Of whatever class: torch marks those that are no instances of torch.nn.Parameter. */
bool tc_tensor_is_parameter(PyObject *object);
/* Inside a transform of torch.func (vmap, grad): a tensor without memory of its own. */
bool tc_tensor_is_wrapped(PyObject *tensor);
/* What the innermost transform wraps: a new reference, without an error; NULL where torch has no
 * such function. */
PyObject *tc_tensor_unwrapped(PyObject *tensor);
bool tc_device_is(PyObject *object);
bool tc_layout_is_strided(PyObject *layout);
/* Names of a torch.dtype; NULL if the object is none. */
const struct tc_dtype *tc_dtype_of(PyObject *object);

/* New references; NULL with a Python error set. */
PyObject *tc_tensor_get(PyObject *tensor, enum tc_tensor_attribute attribute);
PyObject *tc_tensor_call(PyObject *tensor, enum tc_tensor_attribute method);

/* The user's function modes must not see our reading: new reference or NULL if there are none.
 * (Dispatch modes would only see operators, which the policy hides where it needs them.) */
PyObject *tc_tensor_shield(void);
/* Nor must a function of the tensor's own class: NULL if it has none. */
PyObject *tc_tensor_shield_of(PyObject *tensor);
void tc_tensor_unshield(PyObject *shield);

#endif /* TC_COLLECT_TORCH_H */
