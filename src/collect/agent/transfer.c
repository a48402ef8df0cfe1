/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/transfer.h"

#include "base/banned.h"

struct tc_transfer {
    PyObject *host; /* the tensor that holds the bytes */
    const unsigned char *data;
    size_t size;
};

const unsigned char *tc_piece_data(const struct tc_piece *piece)
{
    return piece->transfer ? piece->transfer->data + piece->at : NULL;
}

size_t tc_questions_add(struct tc_questions *questions, enum tc_what what, PyObject *tensor,
                        PyObject *other)
{
    const struct tc_question fresh = {
        .tensor = Py_NewRef(tensor), .other = other ? Py_NewRef(other) : NULL, .what = what};

    tc_vec_push(&questions->all, fresh);
    return questions->all.n - 1;
}

/* [(what, tensor, other or None)]; NULL with a Python error set. */
static PyObject *put_questions(const struct tc_questions *questions)
{
    PyObject *list = PyList_New((Py_ssize_t)questions->all.n);

    for (size_t i = 0; list && i < questions->all.n; i++) {
        const struct tc_question *q = &questions->all.items[i];
        PyObject *one =
            Py_BuildValue("(iOO)", (int)q->what, q->tensor, q->other ? q->other : Py_None);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

/* (tensor, address, size) */
static bool take_transfer(struct tc_questions *questions, PyObject *told)
{
    unsigned long long address;
    Py_ssize_t size;
    PyObject *host;
    struct tc_transfer *transfer;

    if (!PyArg_ParseTuple(told, "OKn", &host, &address, &size) || size < 0)
        return false;
    transfer = tc_calloc(1, sizeof(*transfer));
    transfer->host = Py_NewRef(host);
    transfer->data = (const unsigned char *)(uintptr_t)address;
    transfer->size = (size_t)size;
    tc_vec_push(&questions->transfers, transfer);
    return true;
}

/* (number of the transfer, offset), or None */
static void take_place(const struct tc_questions *questions, PyObject *told, struct tc_piece *piece)
{
    Py_ssize_t number, at;

    if (told == Py_None || !PyArg_ParseTuple(told, "nn", &number, &at))
        return;
    if (number < 0 || (size_t)number >= questions->transfers.n || at < 0 ||
        (size_t)at >= questions->transfers.items[number]->size)
        return;
    piece->transfer = questions->transfers.items[number];
    piece->at = (size_t)at;
}

/* ([place of the answer], [transfer]) */
static void take_answers(struct tc_questions *questions, PyObject *answers)
{
    PyObject *places, *transfers;

    if (!PyArg_ParseTuple(answers, "O!O!", &PyList_Type, &places, &PyList_Type, &transfers) ||
        (size_t)PyList_GET_SIZE(places) != questions->all.n)
        return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(transfers); i++)
        if (!take_transfer(questions, PyList_GET_ITEM(transfers, i)))
            return;
    for (size_t i = 0; i < questions->all.n; i++)
        take_place(questions, PyList_GET_ITEM(places, (Py_ssize_t)i),
                   &questions->pieces.items[i]);
}

void tc_questions_submit(struct tc_questions *questions)
{
    PyObject *list, *answers;

    const struct tc_piece none = {0};

    if (!questions->all.n)
        return;
    for (size_t i = 0; i < questions->all.n; i++)
        tc_vec_push(&questions->pieces, none);
    list = put_questions(questions);
    answers = list ? tc_policy_call("look", "(O)", list) : NULL;
    if (answers)
        take_answers(questions, answers);
    Py_XDECREF(answers);
    Py_XDECREF(list);
    PyErr_Clear();
}

void tc_questions_clear(struct tc_questions *questions)
{
    for (size_t i = 0; i < questions->all.n; i++) {
        Py_DECREF(questions->all.items[i].tensor);
        Py_XDECREF(questions->all.items[i].other);
    }
    for (size_t i = 0; i < questions->transfers.n; i++) {
        Py_DECREF(questions->transfers.items[i]->host);
        tc_free(questions->transfers.items[i]);
    }
    questions->all.n = questions->pieces.n = questions->transfers.n = 0;
}

void tc_questions_release(struct tc_questions *questions)
{
    tc_vec_release(&questions->all);
    tc_vec_release(&questions->pieces);
    tc_vec_release(&questions->transfers);
}
