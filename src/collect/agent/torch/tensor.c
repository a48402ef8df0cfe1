/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c - shape, type, place and memory of a tensor, by the cheapest way that it allows
 *
 * By DLPack if torch has it, else by attributes past the look-up. Once one tensor had no memory to
 * view, others are asked before, as an exception of torch costs 0.7 ms. Python errors are cleared
 * here; "cannot be read" is an answer.
 */
#include "collect/agent/torch/tensor.h"

#include <stdio.h>
#include <string.h>

#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/dlpack.h"
#include "collect/agent/torch/layout.h"

#define MAX_TOLD 64

/* An address below this may be an offset: memory of the heap or mapped is above it, but that of an
 * executable at a fixed address. */
#define MAX_OFFSET ((uintptr_t)1 << 40)

#define GET(tensor, name) tc_tensor_get(tensor, TC_ATTRIBUTE_##name)

/* What DLPack's numbers for types mean here. */
static struct {
    uint32_t type;
    const struct tc_dtype *dtype;
} told[MAX_TOLD];
static size_t n_told;

static bool was_wrapped; /* a tensor inside a transform of torch.func has been seen */

static bool is_true(PyObject *value)
{
    if (!value) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(value);
    return value == Py_True;
}

static bool is_strided(PyObject *tensor)
{
    PyObject *layout = GET(tensor, layout);

    if (!layout)
        PyErr_Clear();
    Py_XDECREF(layout); /* of those there are few, which live as long as torch */
    return layout && tc_layout_is_strided(layout);
}

static bool has_memory(PyObject *tensor)
{
    return !is_true(GET(tensor, is_meta)) && !is_true(GET(tensor, is_quantized)) &&
           is_strided(tensor);
}

/*
 * torch raises where there is no memory to view, with a stack of C frames that it takes 0.7 ms to
 * put into words. So once one tensor had none, the others are asked before; for what is dearer to
 * ask only once it was the reason.
 */
static bool ask_view(PyObject *tensor, struct tc_dlpack_view *view)
{
    static bool has_failed;

    if ((has_failed && !has_memory(tensor)) || (was_wrapped && tc_tensor_is_wrapped(tensor)))
        return false;
    if (tc_dlpack_view(tensor, view))
        return true;
    if (tc_tensor_is_wrapped(tensor))
        was_wrapped = true;
    else
        has_failed = true;
    return false;
}

static bool view_of(PyObject *tensor, struct tc_dlpack_view *view)
{
    if (!tc_tensor_is_exact(tensor))
        return false;
    if (tc_layout_view(tensor, view))
        return true;
    if (!ask_view(tensor, view))
        return false;
    tc_layout_meet(tensor, view);
    return true;
}

/* vmap hides it: a batch of what requires a gradient says that it requires none. */
static bool requires_grad_inside(PyObject *tensor)
{
    PyObject *inside = tc_tensor_is_wrapped(tensor) ? tc_tensor_unwrapped(tensor) : NULL;
    const bool does = inside && tc_tensor_requires_grad(inside);

    Py_XDECREF(inside);
    return does;
}

/* read: what is known of it. */
static bool requires_grad(PyObject *tensor, enum tc_answer read)
{
    if (read == TC_ANSWER_YES || (read == TC_ANSWER_UNKNOWN && is_true(GET(tensor, requires_grad))))
        return true;
    return was_wrapped && requires_grad_inside(tensor);
}

bool tc_tensor_requires_grad(PyObject *tensor)
{
    return requires_grad(tensor, tc_tensor_is_exact(tensor) ? tc_layout_requires_grad(tensor)
                                                            : TC_ANSWER_UNKNOWN);
}

static int64_t number(PyObject *take)
{
    int64_t n = take ? PyLong_AsLongLong(take) : -1;

    Py_XDECREF(take);
    if (PyErr_Occurred())
        PyErr_Clear();
    return n;
}

static bool read_shape(PyObject *tensor, struct tc_tensor *out)
{
    PyObject *shape = GET(tensor, shape);
    bool ok;

    if (!shape)
        return false;
    ok = PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) <= TC_MAX_DIMS;
    out->n_dims = ok ? (size_t)PyTuple_GET_SIZE(shape) : 0;
    out->n = 1;
    for (size_t i = 0; ok && i < out->n_dims; i++) {
        out->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, (Py_ssize_t)i));
        ok = out->shape[i] >= 0; /* symbolic sizes are no integers */
        out->n *= (size_t)(ok ? out->shape[i] : 0);
    }
    Py_DECREF(shape);
    if (!ok && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "shape");
    return ok;
}

static bool read_device(PyObject *tensor, struct tc_tensor *out)
{
    PyObject *device, *text;
    const char *name;

    /* Of other classes is_cpu may be an operator, which a dispatch mode of the user's would see. */
    if (tc_tensor_is_exact(tensor) && is_true(GET(tensor, is_cpu))) {
        out->on_cpu = true;
        memcpy(out->device, "cpu", 4);
        return true;
    }
    device = GET(tensor, device);
    text = device ? PyObject_Str(device) : NULL;
    name = text ? PyUnicode_AsUTF8(text) : NULL;
    if (name)
        snprintf(out->device, sizeof(out->device), "%s", name);
    out->on_cpu = name && strcmp(name, "cpu") == 0;
    Py_XDECREF(device);
    Py_XDECREF(text);
    return name != NULL;
}

static const struct tc_dtype *read_dtype(PyObject *tensor)
{
    PyObject *object = GET(tensor, dtype);
    const struct tc_dtype *dtype = object ? tc_dtype_of(object) : NULL;

    Py_XDECREF(object);
    return dtype;
}

static const struct tc_dtype *dtype_told(PyObject *tensor, uint32_t type)
{
    const struct tc_dtype *dtype;

    for (size_t i = 0; i < n_told; i++)
        if (told[i].type == type)
            return told[i].dtype;
    dtype = read_dtype(tensor);
    if (dtype && n_told < MAX_TOLD) {
        told[n_told].type = type;
        told[n_told++].dtype = dtype;
    }
    return dtype;
}

static bool read_view(PyObject *tensor, const struct tc_dlpack_view *view, struct tc_tensor *out)
{
    if (view->n_dims > TC_MAX_DIMS)
        return false;
    out->n_dims = view->n_dims;
    out->n = 1;
    for (size_t i = 0; i < view->n_dims; i++) {
        out->shape[i] = view->shape[i];
        out->n *= (size_t)view->shape[i];
    }
    out->on_cpu = true;
    memcpy(out->device, "cpu", 4);
    out->address = view->data;
    out->is_contiguous = tc_dlpack_is_contiguous(view);
    out->dtype = dtype_told(tensor, view->type);
    out->is_here = view->is_literal && out->is_contiguous && out->dtype && out->dtype->item_size &&
                   !out->dtype->is_complex;
    return out->dtype != NULL;
}

bool tc_tensor_read(PyObject *tensor, struct tc_tensor *out)
{
    struct tc_dlpack_view view;
    bool is_viewed = view_of(tensor, &view);

    out->on_cpu = out->is_contiguous = out->is_here = false;
    out->address = NULL;
    if (!is_viewed || !view.on_cpu || !read_view(tensor, &view, out)) {
        if (is_viewed) {
            out->address = view.data;
            out->is_contiguous = tc_dlpack_is_contiguous(&view);
        }
        if (!read_shape(tensor, out) || !read_device(tensor, out))
            return false;
        out->dtype = read_dtype(tensor);
    }
    out->requires_grad = requires_grad(tensor, is_viewed ? view.requires_grad : TC_ANSWER_UNKNOWN);
    return out->dtype != NULL;
}

static bool has_shape(const struct tc_dlpack_view *view, const struct tc_tensor *as)
{
    return view->n_dims == as->n_dims &&
           memcmp(view->shape, as->shape, as->n_dims * sizeof(as->shape[0])) == 0;
}

bool tc_tensor_is_unlike(PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_dlpack_view view;
    struct tc_layout_piece at;

    if (was_wrapped || !tc_tensor_is_exact(tensor) || !tc_layout_piece(tensor, &at))
        return false;
    return (size_t)at.n != as->n || (tc_layout_view(tensor, &view) && !has_shape(&view, as));
}

bool tc_tensor_print(PyObject *tensor, struct tc_layout_print *out)
{
    return !was_wrapped && tc_tensor_is_exact(tensor) && tc_layout_take(tensor, out);
}

static bool is_viewed_as(PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_dlpack_view view;

    return tc_layout_view(tensor, &view) && view.data == as->address && view.on_cpu &&
           view.is_literal && has_shape(&view, as) && tc_dlpack_is_contiguous(&view) &&
           dtype_told(tensor, view.type) == as->dtype &&
           requires_grad(tensor, view.requires_grad) == as->requires_grad;
}

bool tc_tensor_is_as(PyObject *tensor, const struct tc_tensor *as,
                     const struct tc_layout_print *print)
{
    if (was_wrapped || !tc_tensor_is_exact(tensor))
        return false;
    return print ? tc_layout_is_as(tensor, print) : is_viewed_as(tensor, as);
}

static bool is_dispatching(PyObject *tensor)
{
    const struct tc_class *class = tc_tensor_is_exact(tensor) ? NULL : tc_class_of(Py_TYPE(tensor));

    PyErr_Clear();
    return class && class->dispatches;
}

bool tc_tensor_is_literal(PyObject *tensor, const struct tc_dtype *dtype, bool is_apart)
{
    if (tc_tensor_is_exact(tensor) && tc_layout_is_literal(tensor) == TC_ANSWER_YES)
        return true;
    return !(dtype->is_complex && is_true(tc_tensor_call(tensor, TC_ATTRIBUTE_is_conj))) &&
           !(is_apart && is_true(tc_tensor_call(tensor, TC_ATTRIBUTE_is_neg)));
}

bool tc_tensor_is_plain(PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_dlpack_view view;
    PyObject *contiguous;

    if (!as->dtype->item_size || as->dtype->is_complex)
        return false;
    if (as->address) /* of one element any stride is that of one piece */
        return as->is_contiguous && (as->n != 1 || tc_tensor_is_literal(tensor, as->dtype, true));
    if (view_of(tensor, &view)) /* nothing is in it */
        return tc_dlpack_is_contiguous(&view);
    if (is_dispatching(tensor))
        return false;
    contiguous = is_strided(tensor) ? tc_tensor_call(tensor, TC_ATTRIBUTE_is_contiguous) : NULL;
    Py_XDECREF(contiguous);
    return contiguous == Py_True;
}

static const void *address_of(PyObject *tensor)
{
    struct tc_dlpack_view view;
    PyObject *pointer;
    void *address;

    if (view_of(tensor, &view))
        return view.data;
    if (is_dispatching(tensor)) /* some warn when they are asked, and none has to have one */
        return NULL;
    pointer = tc_tensor_call(tensor, TC_ATTRIBUTE_data_ptr);
    address = pointer ? PyLong_AsVoidPtr(pointer) : NULL;
    Py_XDECREF(pointer);
    return address;
}

bool tc_tensor_piece(PyObject *tensor, struct tc_layout_piece *out)
{
    struct tc_tensor t;

    if (tc_tensor_is_exact(tensor) && tc_layout_piece(tensor, out))
        return true;
    if (!read_shape(tensor, &t)) {
        PyErr_Clear();
        return false;
    }
    out->storage = 0;
    out->n = (int64_t)t.n;
    out->offset = number(tc_tensor_call(tensor, TC_ATTRIBUTE_storage_offset));
    return true;
}

/* A storage that was emptied while its tensors stay (as sharding does with gathered parameters) is
   at address zero, and such a tensor at its own offset. */
static const void *memory_of(PyObject *tensor, const struct tc_tensor *as)
{
    const char *address = as->address ? as->address : address_of(tensor);
    struct tc_layout_piece at;

    if (!address || (uintptr_t)address >= MAX_OFFSET)
        return address;
    if (!tc_tensor_is_exact(tensor) || !tc_layout_piece(tensor, &at))
        at.offset = number(tc_tensor_call(tensor, TC_ATTRIBUTE_storage_offset));
    return (uintptr_t)address == (uint64_t)at.offset * as->dtype->item_size ? NULL : address;
}

bool tc_tensor_is_emptied(PyObject *tensor, const struct tc_tensor *as)
{
    bool is_emptied = !memory_of(tensor, as);

    PyErr_Clear();
    return is_emptied;
}

/* The same of what lies elsewhere, where to read it would fail. Not all devices have addresses. */
static bool has_nothing(PyObject *tensor, const struct tc_tensor *as)
{
    bool is_known = !as->on_cpu && !is_dispatching(tensor);
    const void *address = is_known ? memory_of(tensor, as) : NULL;

    is_known = is_known && !PyErr_Occurred();
    PyErr_Clear();
    return is_known && !address;
}

/* policy.content(tensor) is a contiguous tensor on the CPU with the same content, or None. */
static PyObject *copy_of(PyObject *tensor)
{
    PyObject *copy = tc_policy_call("content", "(O)", tensor);

    if (copy == Py_None)
        Py_CLEAR(copy);
    return copy;
}

static void read_copy(PyObject *tensor, struct tc_memory *out)
{
    struct tc_tensor as;

    out->keep = copy_of(tensor);
    if (!out->keep || !tc_tensor_read(out->keep, &as))
        return;
    out->data = address_of(out->keep);
    out->n = as.n;
    out->size = as.n * as.dtype->item_size;
    out->is_packed = is_dispatching(tensor);
}

void tc_tensor_memory(PyObject *tensor, const struct tc_tensor *as, bool copy,
                      struct tc_memory *out)
{
    static const char nothing[1];

    memset(out, 0, sizeof(*out));
    out->n = as->n;
    out->size = as->n * as->dtype->item_size;
    if (as->is_here) {
        out->data = as->address;
        return;
    }
    if (as->on_cpu && tc_tensor_is_plain(tensor, as))
        out->data = memory_of(tensor, as);
    else if (copy && !has_nothing(tensor, as))
        read_copy(tensor, out);
    if (!out->data && !PyErr_Occurred() && as->n == 0)
        out->data = nothing;
    PyErr_Clear(); /* no storage: fake tensors, tensors inside torch.func transforms */
}

void tc_memory_release(struct tc_memory *memory)
{
    Py_CLEAR(memory->keep);
    memory->data = NULL;
}

PyObject *tc_tensor_body(PyObject *tensor)
{
    const struct tc_class *class;
    PyObject *part;

    if (tc_tensor_is_exact(tensor))
        return Py_NewRef(tensor);
    class = tc_class_of(Py_TYPE(tensor));
    if (!class)
        PyErr_Clear();
    if (!class || !class->distributed)
        return Py_NewRef(tensor);
    part = GET(tensor, _local_tensor);
    if (part && !tc_tensor_is(part))
        Py_CLEAR(part);
    PyErr_Clear();
    return part;
}

/* Layouts are few, and singletons that live as long as torch. */
static const char *name_of_layout(PyObject *layout)
{
    static struct {
        PyObject *object;
        char name[16];
    } known[8];
    size_t i = 0;
    PyObject *text;
    const char *name;

    while (i < sizeof(known) / sizeof(known[0]) && known[i].object && known[i].object != layout)
        i++;
    if (i == sizeof(known) / sizeof(known[0]))
        return "other";
    if (!known[i].object) {
        text = PyObject_Str(layout);
        name = text ? PyUnicode_AsUTF8(text) : NULL;
        if (name && strncmp(name, "torch.", 6) == 0)
            name += 6;
        snprintf(known[i].name, sizeof(known[i].name), "%s", name ? name : "other");
        known[i].object = Py_NewRef(layout);
        Py_XDECREF(text);
        PyErr_Clear();
    }
    return known[i].name;
}

const char *tc_tensor_layout(PyObject *tensor)
{
    PyObject *layout = GET(tensor, layout);
    const char *name = "other";

    if (layout)
        name = tc_layout_is_strided(layout) ? "strided" : name_of_layout(layout);
    else
        PyErr_Clear();
    Py_XDECREF(layout);
    return name;
}

bool tc_tensor_is_leaf(PyObject *tensor)
{
    const enum tc_answer read =
        tc_tensor_is_exact(tensor) ? tc_layout_is_leaf(tensor) : TC_ANSWER_UNKNOWN;

    return read == TC_ANSWER_UNKNOWN ? is_true(GET(tensor, is_leaf)) : read == TC_ANSWER_YES;
}

void tc_tensor_version(PyObject *tensor, uint64_t *address, int64_t *version)
{
    *address = (uint64_t)(uintptr_t)address_of(tensor);
    if (PyErr_Occurred())
        PyErr_Clear();
    *version = number(GET(tensor, _version));
}

PyObject *tc_tensor_grad(PyObject *tensor)
{
    PyObject *grad = GET(tensor, grad);

    if (!grad)
        PyErr_Clear();
    else if (grad == Py_None)
        Py_CLEAR(grad);
    return grad;
}
