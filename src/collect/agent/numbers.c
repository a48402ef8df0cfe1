/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/numbers.h"

#include <string.h>

#include "collect/agent/encode.h"
#include "collect/agent/look.h"
#include "collect/agent/scalar.h"

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

/*
 * A learning rate may be a tensor of one element. One that lies elsewhere makes its device wait, so
 * that it is kept, and read once more only where its version says that it was written.
 */
static bool add_element(struct tc_strbuf *out, PyObject *tensor, bool *keep)
{
    struct tc_tensor as;
    struct tc_figure figure;

    if (!tc_tensor_read(tensor, &as) || as.n != 1 ||
        (as.dtype->number != TC_NUMBER_F32 && as.dtype->number != TC_NUMBER_F64)) {
        PyErr_Clear();
        return false;
    }
    tc_look_at(tensor, &as, TC_ASK_VALUE, 0, &figure);
    if (figure.is_known)
        tc_encode_float(out, figure.value.number);
    *keep = figure.is_known && tc_look_is_elsewhere(&as);
    return figure.is_known;
}

static int64_t version_of(PyObject *value)
{
    uint64_t address;
    int64_t version = 0;

    if (tc_tensor_is(value))
        tc_tensor_version(value, &address, &version);
    return version;
}

/* The value as JSON, or NULL if it is none of these; *keep: it stays what it is while it lives, and
 * while its version does. */
static char *json_of(PyObject *value, bool *keep)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    *keep = is_number(value) || is_numbers(value);
    if (*keep)
        tc_encode(&out, value);
    else if (!tc_tensor_is(value) || !add_element(&out, value, keep))
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
    const int64_t version = version_of(value);
    bool keep, same;
    char *json;

    if (s->value && s->value == value && s->version == version)
        return false;
    json = json_of(value, &keep);
    same = json && s->json ? strcmp(json, s->json) == 0 : json == s->json;
    Py_XDECREF(s->value);
    s->value = keep ? Py_NewRef(value) : NULL;
    s->version = version;
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
