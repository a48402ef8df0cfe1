/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.c - looks up types and builtins once, when torch is imported
 *
 * What a release lacks stays NULL and has a slower way or an answer that errs on the safe side.
 * Properties of torch.Tensor are called by their C getters for exact tensors, as a look asks
 * hundreds of them. dtypes become numbers in a fixed table, as they live as long as torch.
 */
#include "collect/agent/torch/torch.h"

#include <stdio.h>
#include <string.h>

#include "collect/agent/torch/dlpack.h"
#include "collect/agent/torch/modes.h"

#define N_DTYPES 64

/* Interned once. */
static PyObject *names[TC_N_ATTRIBUTES];
/* The properties of torch.Tensor in C, past the look-up of the attribute; NULL where unknown. */
static PyGetSetDef *getters[TC_N_ATTRIBUTES];

/* Methods of torch.Tensor without arguments, past their look-up; NULL where unknown. */
static PyCFunction methods[TC_N_ATTRIBUTES];

static struct {
    PyTypeObject *tensor, *parameter, *dtype_type, *device_type;
    PyObject *strided;
    PyObject *is_wrapped, *get_unwrapped, *no_functions; /* may be NULL */
    struct tc_dtype dtypes[N_DTYPES];
    size_t n_dtypes;
} torch;

static bool intern_names(void)
{
    static const char *const texts[] = {
#define X(name) #name,
        TC_ATTRIBUTE_MAP(X)
#undef X
    };

    for (size_t i = 0; i < TC_N_ATTRIBUTES; i++)
        if (!names[i] && !(names[i] = PyUnicode_InternFromString(texts[i])))
            return false;
    return true;
}

static bool find_types(PyObject *module)
{
    torch.tensor = (PyTypeObject *)PyObject_GetAttrString(module, "Tensor");
    torch.dtype_type = (PyTypeObject *)PyObject_GetAttrString(module, "dtype");
    torch.device_type = (PyTypeObject *)PyObject_GetAttrString(module, "device");
    torch.strided = PyObject_GetAttrString(module, "strided");
    return torch.tensor && torch.dtype_type && torch.device_type && torch.strided;
}

/* Parameters are tensors that add nothing to reading. */
static void find_parameter(PyObject *module)
{
    PyObject *nn = tc_optional(module, "nn");

    torch.parameter = (PyTypeObject *)tc_optional(nn, "Parameter");
    Py_XDECREF(nn);
}

static PyCFunction method_of(const PyMethodDef *def)
{
    return (def->ml_flags & ~METH_COEXIST) == METH_NOARGS ? def->ml_meth : NULL;
}

static void find_in_c(enum tc_tensor_attribute attribute)
{
    PyObject *found = PyObject_GetAttr((PyObject *)torch.tensor, names[attribute]);

    if (found && Py_IS_TYPE(found, &PyGetSetDescr_Type))
        getters[attribute] = ((PyGetSetDescrObject *)found)->d_getset;
    if (found && Py_IS_TYPE(found, &PyMethodDescr_Type))
        methods[attribute] = method_of(((PyMethodDescrObject *)found)->d_method);
    Py_XDECREF(found); /* the class keeps it */
    PyErr_Clear();
}

bool tc_torch_init(PyObject *module)
{
    PyObject *c, *functorch;

    if (!intern_names() || !find_types(module))
        return false;
    find_parameter(module);
    for (size_t i = 0; i < TC_N_ATTRIBUTES; i++)
        find_in_c((enum tc_tensor_attribute)i);
    tc_dlpack_init((PyObject *)torch.tensor);
    tc_modes_find(module);
    c = PyObject_GetAttrString(module, "_C");
    if (!c)
        return false;
    torch.no_functions = tc_optional(c, "DisableTorchFunction");
    functorch = tc_optional(c, "_functorch");
    torch.is_wrapped = tc_optional(functorch, "is_functorch_wrapped_tensor");
    torch.get_unwrapped = tc_optional(functorch, "get_unwrapped");
    Py_XDECREF(functorch);
    Py_DECREF(c);
    return true;
}

bool tc_tensor_is(PyObject *object)
{
    return torch.tensor && PyObject_TypeCheck(object, torch.tensor);
}

static bool is_marked(PyObject *tensor)
{
    static PyObject *mark; /* interned once */
    PyObject **dict = _PyObject_GetDictPtr(tensor);

    if (!mark)
        mark = PyUnicode_InternFromString("_is_param");
    return mark && dict && *dict && PyDict_GetItem(*dict, mark) == Py_True;
}

/* torch marks tensors of other classes alone: of its own it makes a Parameter. */
bool tc_tensor_is_parameter(PyObject *object)
{
    if (Py_TYPE(object) == torch.tensor)
        return false;
    if (torch.parameter && PyObject_TypeCheck(object, torch.parameter))
        return true;
    return tc_tensor_is(object) && is_marked(object);
}

bool tc_device_is(PyObject *object)
{
    return torch.device_type && Py_TYPE(object) == torch.device_type;
}

bool tc_layout_is_strided(PyObject *layout)
{
    return layout == torch.strided;
}

static enum tc_number number_of_dtype(const char *name)
{
    if (strcmp(name, "float32") == 0)
        return TC_NUMBER_F32;
    if (strcmp(name, "float64") == 0)
        return TC_NUMBER_F64;
    if (strcmp(name, "bfloat16") == 0)
        return TC_NUMBER_BF16;
    return strcmp(name, "float16") == 0 ? TC_NUMBER_F16 : TC_NUMBER_OTHER;
}

static enum tc_integer integer_of(const char *name)
{
    static const char *const names_of[] = {
        [TC_INTEGER_BOOL] = "bool", [TC_INTEGER_U8] = "uint8",  [TC_INTEGER_I8] = "int8",
        [TC_INTEGER_I16] = "int16", [TC_INTEGER_I32] = "int32", [TC_INTEGER_I64] = "int64",
    };
    size_t i = sizeof(names_of) / sizeof(names_of[0]);

    while (--i > TC_INTEGER_NONE && strcmp(name, names_of[i]) != 0)
        ;
    return (enum tc_integer)i;
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
    size = tc_optional(object, "itemsize");
    name = text ? PyUnicode_AsUTF8(text) : NULL;
    if (name) {
        if (strncmp(name, "torch.", 6) == 0)
            name += 6;
        snprintf(d->name, sizeof(d->name), "%s", name);
        d->number = number_of_dtype(d->name);
        d->integer = integer_of(d->name);
        d->is_complex = strncmp(d->name, "complex", 7) == 0;
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

bool tc_tensor_is_exact(PyObject *tensor)
{
    return Py_TYPE(tensor) == torch.tensor || Py_TYPE(tensor) == torch.parameter;
}

bool tc_tensor_is_wrapped(PyObject *tensor)
{
    PyObject *answer = torch.is_wrapped ? PyObject_CallOneArg(torch.is_wrapped, tensor) : NULL;

    PyErr_Clear();
    Py_XDECREF(answer);
    return answer == Py_True;
}

PyObject *tc_tensor_unwrapped(PyObject *tensor)
{
    PyObject *inside =
        torch.get_unwrapped ? PyObject_CallOneArg(torch.get_unwrapped, tensor) : NULL;

    PyErr_Clear();
    return inside;
}

PyObject *tc_tensor_get(PyObject *tensor, enum tc_tensor_attribute attribute)
{
    const PyGetSetDef *getter = getters[attribute];

    if (getter && tc_tensor_is_exact(tensor))
        return getter->get(tensor, getter->closure);
    return PyObject_GetAttr(tensor, names[attribute]);
}

PyObject *tc_tensor_call(PyObject *tensor, enum tc_tensor_attribute method)
{
    if (methods[method] && tc_tensor_is_exact(tensor))
        return methods[method](tensor, NULL);
    return PyObject_CallMethodNoArgs(tensor, names[method]);
}

PyObject *tc_tensor_shield(void)
{
    PyObject *shield;

    if (!tc_function_mode_any())
        return NULL;
    shield = tc_policy_call("shield", NULL);
    if (!shield)
        PyErr_Clear();
    return shield;
}

PyObject *tc_tensor_shield_of(PyObject *tensor)
{
    PyObject *shield, *entered;

    if (tc_tensor_is_exact(tensor) || !torch.no_functions)
        return NULL;
    shield = PyObject_CallNoArgs(torch.no_functions);
    entered = shield ? PyObject_CallMethod(shield, "__enter__", NULL) : NULL;
    if (!entered) {
        PyErr_Clear();
        Py_CLEAR(shield);
    }
    Py_XDECREF(entered);
    return shield;
}

void tc_tensor_unshield(PyObject *shield)
{
    PyObject *type, *value, *traceback, *done;

    if (!shield)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    done = PyObject_CallMethod(shield, "__exit__", "OOO", Py_None, Py_None, Py_None);
    Py_XDECREF(done);
    Py_DECREF(shield);
    PyErr_Restore(type, value, traceback);
}
