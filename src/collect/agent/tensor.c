#include "collect/agent/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "base/hash.h"
#include "collect/agent/identity.h"

#define N_DTYPES 64

/* Attribute names, interned once. */
#define NAME_MAP(X)  \
    X(shape)         \
    X(dtype)         \
    X(device)        \
    X(requires_grad) \
    X(is_cpu)        \
    X(is_leaf)       \
    X(grad)          \
    X(layout)        \
    X(_version)      \
    X(_local_tensor) \
    X(data_ptr) X(is_contiguous) X(storage_offset) X(untyped_storage) X(__enter__) X(__exit__)

static struct {
#define X(name) PyObject *name;
    NAME_MAP(X)
#undef X
} names;

static struct {
    PyTypeObject *tensor, *dtype_type, *device_type, *size_type;
    PyObject *strided;
    PyObject *is_grad_enabled, *is_inference_mode_enabled, *is_any_autocast; /* builtins */
    PyObject *n_function_modes, *n_dispatch_modes;                           /* may be NULL */
    struct tc_dtype dtypes[N_DTYPES];
    size_t n_dtypes;
} torch;

static bool intern_names(void)
{
#define X(name)                                         \
    if (!names.name)                                    \
        names.name = PyUnicode_InternFromString(#name); \
    if (!names.name)                                    \
        return false;
    NAME_MAP(X)
#undef X
    return true;
}

static PyObject *optional(PyObject *from, const char *name)
{
    PyObject *found = PyObject_GetAttrString(from, name);

    if (!found)
        PyErr_Clear();
    return found;
}

static bool find_types(PyObject *module)
{
    torch.tensor = (PyTypeObject *)PyObject_GetAttrString(module, "Tensor");
    torch.dtype_type = (PyTypeObject *)PyObject_GetAttrString(module, "dtype");
    torch.device_type = (PyTypeObject *)PyObject_GetAttrString(module, "device");
    torch.size_type = (PyTypeObject *)PyObject_GetAttrString(module, "Size");
    torch.strided = PyObject_GetAttrString(module, "strided");
    torch.is_grad_enabled = PyObject_GetAttrString(module, "is_grad_enabled");
    torch.is_inference_mode_enabled = PyObject_GetAttrString(module, "is_inference_mode_enabled");
    return torch.tensor && torch.dtype_type && torch.device_type && torch.size_type &&
           torch.strided && torch.is_grad_enabled && torch.is_inference_mode_enabled;
}

bool tc_tensor_init(PyObject *module)
{
    PyObject *c;

    if (!intern_names() || !find_types(module))
        return false;
    c = PyObject_GetAttrString(module, "_C");
    if (!c)
        return false;
    torch.is_any_autocast = optional(c, "_is_any_autocast_enabled");
    torch.n_function_modes = optional(c, "_len_torch_function_stack");
    torch.n_dispatch_modes = optional(c, "_len_torch_dispatch_stack");
    Py_DECREF(c);
    return true;
}

bool tc_tensor_is(PyObject *object)
{
    return torch.tensor && PyObject_TypeCheck(object, torch.tensor);
}

bool tc_device_is(PyObject *object)
{
    return torch.device_type && Py_TYPE(object) == torch.device_type;
}

bool tc_size_is(PyObject *object)
{
    return torch.size_type && Py_TYPE(object) == torch.size_type;
}

static enum tc_number number_of(const char *name)
{
    if (strcmp(name, "float32") == 0)
        return TC_NUMBER_F32;
    if (strcmp(name, "float64") == 0)
        return TC_NUMBER_F64;
    if (strcmp(name, "bfloat16") == 0)
        return TC_NUMBER_BF16;
    return strcmp(name, "float16") == 0 ? TC_NUMBER_F16 : TC_NUMBER_OTHER;
}

/* dtypes are singletons that live as long as torch. */
static const struct tc_dtype *add_dtype(PyObject *object)
{
    struct tc_dtype *d = &torch.dtypes[torch.n_dtypes];
    PyObject *text, *size;
    const char *name;

    if (torch.n_dtypes == N_DTYPES)
        return NULL;
    text = PyObject_Str(object);
    size = optional(object, "itemsize");
    name = text ? PyUnicode_AsUTF8(text) : NULL;
    if (name) {
        if (strncmp(name, "torch.", 6) == 0)
            name += 6;
        snprintf(d->name, sizeof(d->name), "%s", name);
        d->number = number_of(d->name);
        d->item_size = size ? PyLong_AsSize_t(size) : 0;
        if (!size && d->number != TC_NUMBER_OTHER) /* before torch 2.1 */
            d->item_size = d->number == TC_NUMBER_F64 ? 8 : d->number == TC_NUMBER_F32 ? 4 : 2;
        d->object = Py_NewRef(object);
        torch.n_dtypes++;
    }
    Py_XDECREF(text);
    Py_XDECREF(size);
    return name ? d : NULL;
}

const struct tc_dtype *tc_dtype_of(PyObject *object)
{
    for (size_t i = 0; i < torch.n_dtypes; i++)
        if (torch.dtypes[i].object == object)
            return &torch.dtypes[i];
    if (!torch.dtype_type || Py_TYPE(object) != torch.dtype_type)
        return NULL;
    return add_dtype(object);
}

static bool flag(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);

    if (!value) {
        PyErr_Clear();
        return false;
    }
    Py_DECREF(value);
    return value == Py_True;
}

bool tc_tensor_requires_grad(PyObject *tensor)
{
    return flag(tensor, names.requires_grad);
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
    PyObject *shape = PyObject_GetAttr(tensor, names.shape);
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

    out->on_cpu = flag(tensor, names.is_cpu);
    if (out->on_cpu) {
        memcpy(out->device, "cpu", 4);
        return true;
    }
    device = PyObject_GetAttr(tensor, names.device);
    text = device ? PyObject_Str(device) : NULL;
    name = text ? PyUnicode_AsUTF8(text) : NULL;
    if (name)
        snprintf(out->device, sizeof(out->device), "%s", name);
    Py_XDECREF(device);
    Py_XDECREF(text);
    return name != NULL;
}

bool tc_tensor_read(PyObject *tensor, struct tc_tensor *out)
{
    PyObject *dtype;

    if (!read_shape(tensor, out) || !read_device(tensor, out))
        return false;
    dtype = PyObject_GetAttr(tensor, names.dtype);
    out->dtype = dtype ? tc_dtype_of(dtype) : NULL;
    Py_XDECREF(dtype);
    out->requires_grad = flag(tensor, names.requires_grad);
    return out->dtype != NULL;
}

static bool is_plain_memory(PyObject *tensor, const struct tc_tensor *as)
{
    PyObject *layout, *contiguous;

    if (!as->on_cpu || !as->dtype->item_size || strncmp(as->dtype->name, "complex", 7) == 0)
        return false;
    layout = PyObject_GetAttr(tensor, names.layout);
    Py_XDECREF(layout);
    contiguous =
        layout == torch.strided ? PyObject_CallMethodNoArgs(tensor, names.is_contiguous) : NULL;
    Py_XDECREF(contiguous);
    return contiguous == Py_True;
}

static const void *address_of(PyObject *tensor)
{
    PyObject *pointer = PyObject_CallMethodNoArgs(tensor, names.data_ptr);
    void *address = pointer ? PyLong_AsVoidPtr(pointer) : NULL;

    Py_XDECREF(pointer);
    return address;
}

/* A storage that was emptied while its tensors stay (as sharding does with gathered parameters) is
   at address zero, and such a tensor at its own offset. */
static const void *memory_of(PyObject *tensor, const struct tc_tensor *as)
{
    const char *address = address_of(tensor);
    int64_t offset;

    if (!address)
        return NULL;
    offset = number(PyObject_CallMethodNoArgs(tensor, names.storage_offset));
    return (uintptr_t)address == (uint64_t)offset * as->dtype->item_size ? NULL : address;
}

/* policy.content(tensor) is a contiguous tensor on the CPU with the same content, or None. */
static PyObject *copy_of(PyObject *tensor)
{
    PyObject *copy = tc_policy_call("content", "(O)", tensor);

    if (copy == Py_None)
        Py_CLEAR(copy);
    return copy;
}

void tc_tensor_memory(PyObject *tensor, const struct tc_tensor *as, bool copy,
                      struct tc_memory *out)
{
    static const char nothing[1];

    memset(out, 0, sizeof(*out));
    if (is_plain_memory(tensor, as))
        out->data = memory_of(tensor, as);
    else if (copy && (out->keep = copy_of(tensor)))
        out->data = address_of(out->keep);
    out->n = as->n;
    out->size = as->n * as->dtype->item_size;
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
    const struct tc_class *class = tc_class_of(Py_TYPE(tensor));
    PyObject *part;

    if (!class)
        PyErr_Clear();
    if (!class || !class->distributed)
        return Py_NewRef(tensor);
    part = PyObject_GetAttr(tensor, names._local_tensor);
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
    PyObject *layout = PyObject_GetAttr(tensor, names.layout);
    const char *name = "other";

    if (layout)
        name = layout == torch.strided ? "strided" : name_of_layout(layout);
    else
        PyErr_Clear();
    Py_XDECREF(layout);
    return name;
}

bool tc_tensor_is_leaf(PyObject *tensor)
{
    return flag(tensor, names.is_leaf);
}

PyObject *tc_tensor_storage(PyObject *tensor, uint64_t *key)
{
    PyObject *storage = PyObject_CallMethodNoArgs(tensor, names.untyped_storage);
    struct tc_tensor t;
    uint64_t piece[2];

    if (!storage || !read_shape(tensor, &t)) {
        PyErr_Clear();
        Py_XDECREF(storage);
        return NULL;
    }
    piece[0] = (uint64_t)number(PyObject_CallMethodNoArgs(tensor, names.storage_offset));
    piece[1] = t.n;
    *key = tc_hash64(piece, sizeof(piece), 0);
    return storage;
}

void tc_tensor_version(PyObject *tensor, uint64_t *address, int64_t *version)
{
    *address = (uint64_t)(uintptr_t)address_of(tensor);
    if (PyErr_Occurred())
        PyErr_Clear();
    *version = number(PyObject_GetAttr(tensor, names._version));
}

PyObject *tc_tensor_grad(PyObject *tensor)
{
    PyObject *grad = PyObject_GetAttr(tensor, names.grad);

    if (!grad)
        PyErr_Clear();
    else if (grad == Py_None)
        Py_CLEAR(grad);
    return grad;
}

static bool any(PyObject *count)
{
    return count && number(PyObject_CallNoArgs(count)) > 0;
}

PyObject *tc_tensor_shield(void)
{
    PyObject *shield;

    if (!any(torch.n_function_modes) && !any(torch.n_dispatch_modes))
        return NULL;
    shield = tc_policy_call("shield", NULL);
    if (!shield)
        PyErr_Clear();
    return shield;
}

void tc_tensor_unshield(PyObject *shield)
{
    PyObject *type, *value, *traceback, *done;

    if (!shield)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    done = PyObject_CallMethod(shield, "close", NULL);
    Py_XDECREF(done);
    Py_DECREF(shield);
    PyErr_Restore(type, value, traceback);
}

static bool ask(PyObject *function, bool fallback)
{
    PyObject *answer = function ? PyObject_CallNoArgs(function) : NULL;

    if (!answer)
        PyErr_Clear();
    Py_XDECREF(answer);
    return answer ? answer == Py_True : fallback;
}

bool tc_grad_enabled(void)
{
    return ask(torch.is_grad_enabled, true);
}

bool tc_inference_enabled(void)
{
    return ask(torch.is_inference_mode_enabled, false);
}

/* Where torch cannot say it cheaply, the policy is asked each time. */
bool tc_autocast_any(void)
{
    return ask(torch.is_any_autocast, torch.tensor != NULL);
}
