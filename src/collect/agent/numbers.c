/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/numbers.h"

#include <string.h>

#include "base/banned.h"
#include "collect/agent/encode.h"
#include "collect/agent/tensor.h"

#define MAX_NUMBERS 64 /* more are left out */

static bool is_number(PyObject *value)
{
    return value == Py_None || PyLong_Check(value) || PyFloat_Check(value);
}

static bool is_numbers(PyObject *value)
{
    if (!PyTuple_CheckExact(value))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
        if (!is_number(PyTuple_GET_ITEM(value, i)))
            return false;
    return true;
}

/* A learning rate may be a tensor of one element; on an accelerator it is not asked for. */
static bool add_element(struct tc_strbuf *out, PyObject *tensor)
{
    struct tc_tensor as;
    struct tc_memory memory;
    PyObject *number = NULL;

    if (!tc_tensor_read(tensor, &as) || as.n != 1 || !as.on_cpu) {
        PyErr_Clear();
        return false;
    }
    tc_tensor_memory(tensor, &as, false, &memory);
    if (memory.data && as.dtype->number == TC_NUMBER_F32) {
        float x;

        memcpy(&x, memory.data, sizeof(x));
        number = PyFloat_FromDouble((double)x);
    } else if (memory.data && as.dtype->number == TC_NUMBER_F64) {
        double x;

        memcpy(&x, memory.data, sizeof(x));
        number = PyFloat_FromDouble(x);
    }
    tc_memory_release(&memory);
    if (number)
        tc_encode(out, number);
    Py_XDECREF(number);
    return number != NULL;
}

/* The value as JSON, or NULL if it is none of these; *keep: it stays what it is while it lives. */
static char *json_of(PyObject *value, bool *keep)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    *keep = is_number(value) || is_numbers(value);
    if (*keep)
        tc_encode(&out, value);
    else if (!tc_tensor_is(value) || !add_element(&out, value))
        tc_strbuf_release(&out);
    return out.text ? tc_strbuf_take(&out) : NULL;
}

static bool is_of(const struct tc_number_said *said, PyObject *key)
{
    return said->key == key || PyUnicode_Compare(said->key, key) == 0;
}

static struct tc_number_said *find(struct tc_numbers *numbers, PyObject *key)
{
    struct tc_number_said fresh = {0};

    /* a dict keeps its order, so that the next one is the one after the last */
    if (numbers->next < numbers->all.n && numbers->all.items[numbers->next].key == key)
        return &numbers->all.items[numbers->next++];
    for (size_t i = 0; i < numbers->all.n; i++) {
        if (is_of(&numbers->all.items[i], key)) {
            numbers->next = i + 1;
            return &numbers->all.items[i];
        }
    }
    if (numbers->all.n == MAX_NUMBERS)
        return NULL;
    fresh.key = Py_NewRef(key);
    tc_vec_push(&numbers->all, fresh);
    numbers->next = numbers->all.n;
    return &numbers->all.items[numbers->all.n - 1];
}

/* Take the value; true if it is another than before. */
static bool take(struct tc_number_said *s, PyObject *value)
{
    bool keep, same;
    char *json;

    if (s->value && s->value == value)
        return false;
    json = json_of(value, &keep);
    same = json && s->json ? strcmp(json, s->json) == 0 : json == s->json;
    Py_XDECREF(s->value);
    s->value = keep ? Py_NewRef(value) : NULL;
    tc_free(s->json);
    s->json = json;
    return !same && json;
}

const char *tc_numbers_take(struct tc_numbers *numbers, PyObject *key, PyObject *value)
{
    struct tc_number_said *said = PyUnicode_CheckExact(key) ? find(numbers, key) : NULL;

    return said && take(said, value) ? said->json : NULL;
}

void tc_numbers_release(struct tc_numbers *numbers)
{
    for (size_t i = 0; i < numbers->all.n; i++) {
        Py_DECREF(numbers->all.items[i].key);
        Py_XDECREF(numbers->all.items[i].value);
        tc_free(numbers->all.items[i].json);
    }
    tc_vec_release(&numbers->all);
}
