/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/transfer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/banned.h"

/* The name of the driver's library, and what it answers while an event has not passed. */
#define CUDA_DRIVER    "libcuda.so.1"
#define CUDA_NOT_READY 600
#define CUDA_RELAXED   2 /* a mode of capture: what the thread does is no part of any */

enum state {
    ON_ITS_WAY,
    HERE,
    LOST,
};

struct tc_transfer {
    atomic_uint n_holders;
    _Atomic enum state state;
    const unsigned char *data;
    size_t size;
    void *event;              /* of CUDA's driver, or NULL */
    PyObject *host;           /* the tensor that holds the bytes */
    PyObject *after;          /* the event behind them, as torch has it; NULL once they are here */
    struct tc_transfer *next; /* of those that nobody holds */
};

static atomic_size_t total;
/* They are freed by the next thread that has the interpreter's lock. */
static _Atomic(struct tc_transfer *) unheld;

size_t tc_transfers_size(void)
{
    return atomic_load(&total);
}

void tc_transfers_abandon(void)
{
    atomic_store(&unheld, NULL);
    atomic_store(&total, 0);
}

/* ---- holding ---- */

struct tc_transfer *tc_transfer_hold(struct tc_transfer *transfer)
{
    if (transfer)
        atomic_fetch_add(&transfer->n_holders, 1);
    return transfer;
}

void tc_transfer_let_go(struct tc_transfer *transfer)
{
    if (!transfer || atomic_fetch_sub(&transfer->n_holders, 1) != 1)
        return;
    atomic_fetch_sub(&total, transfer->size);
    transfer->next = atomic_load(&unheld);
    while (!atomic_compare_exchange_weak(&unheld, &transfer->next, transfer))
        ;
}

static void free_unheld(void)
{
    struct tc_transfer *next;

    for (struct tc_transfer *t = atomic_exchange(&unheld, NULL); t; t = next) {
        next = t->next;
        Py_XDECREF(t->after);
        Py_DECREF(t->host);
        tc_free(t);
    }
}

void tc_piece_hold(const struct tc_piece *piece)
{
    tc_transfer_hold(piece->transfer);
}

void tc_piece_let_go(const struct tc_piece *piece)
{
    tc_transfer_let_go(piece->transfer);
}

/* ---- coming ---- */

/*
 * torch's own way to ask an event needs the interpreter, and may spoil the capture of a graph by
 * another thread. The driver is there if torch has loaded it.
 */
static struct {
    int (*query)(void *event);
    int (*exchange_capture_mode)(int *mode);
} cuda;
static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;

static void find_cuda(void)
{
    void *library = dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_NOLOAD);

    if (!library)
        return;
    *(void **)&cuda.query = dlsym(library, "cuEventQuery");
    *(void **)&cuda.exchange_capture_mode = dlsym(library, "cuThreadExchangeStreamCaptureMode");
}

/* What the driver says to anything but "it has passed" and "not yet" torch is asked about. */
static enum state ask_cuda(struct tc_transfer *transfer, bool *is_sure)
{
    int mode = CUDA_RELAXED, said;

    if (cuda.exchange_capture_mode)
        cuda.exchange_capture_mode(&mode);
    said = cuda.query(transfer->event);
    if (cuda.exchange_capture_mode)
        cuda.exchange_capture_mode(&mode);
    *is_sure = said == 0 || said == CUDA_NOT_READY;
    if (said == 0)
        atomic_store(&transfer->state, HERE);
    return atomic_load(&transfer->state);
}

bool tc_piece_has_come(const struct tc_piece *piece)
{
    struct tc_transfer *t = piece->transfer;
    bool is_sure;

    if (!t || atomic_load(&t->state) != ON_ITS_WAY)
        return true;
    return t->event && ask_cuda(t, &is_sure) != ON_ITS_WAY;
}

void tc_piece_give_up(const struct tc_piece *piece)
{
    enum state expected = ON_ITS_WAY;

    if (piece->transfer)
        atomic_compare_exchange_strong(&piece->transfer->state, &expected, LOST);
}

const unsigned char *tc_piece_data(const struct tc_piece *piece)
{
    const struct tc_transfer *t = piece->transfer;

    return t && atomic_load(&t->state) == HERE ? t->data + piece->at : NULL;
}

/* A device that fails once keeps failing: the job hears of it from torch, the trace once from us.
 */
static void take_state(struct tc_transfer *transfer, PyObject *said)
{
    static bool is_told;

    if (!said) {
        atomic_store(&transfer->state, LOST);
        if (!is_told) {
            is_told = true;
            tc_agent_failed(NULL, "reading from an accelerator");
        }
        PyErr_Clear();
    } else if (PyObject_IsTrue(said) == 1) {
        atomic_store(&transfer->state, HERE);
    }
    Py_XDECREF(said);
}

bool tc_transfer_ask(struct tc_transfer *transfer)
{
    bool is_sure = false;

    if (transfer->event)
        ask_cuda(transfer, &is_sure);
    if (!is_sure && atomic_load(&transfer->state) == ON_ITS_WAY)
        take_state(transfer, tc_policy_call("has_come", "(O)", transfer->after));
    return atomic_load(&transfer->state) != ON_ITS_WAY;
}

void tc_transfer_wait(struct tc_transfer *transfer)
{
    if (atomic_load(&transfer->state) == ON_ITS_WAY)
        take_state(transfer, tc_policy_call("wait_for", "(O)", transfer->after));
}

/* ---- questions ---- */

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

/* (tensor, address, size, event or None, the driver's own pointer to it or 0) */
static bool take_transfer(struct tc_questions *questions, PyObject *told)
{
    unsigned long long address, event;
    Py_ssize_t size;
    PyObject *host, *after;
    struct tc_transfer *transfer;

    if (!PyArg_ParseTuple(told, "OKnOK", &host, &address, &size, &after, &event) || size < 0)
        return false;
    if (event)
        pthread_once(&cuda_once, find_cuda);
    transfer = tc_calloc(1, sizeof(*transfer));
    atomic_init(&transfer->n_holders, 1);
    atomic_init(&transfer->state, after == Py_None ? HERE : ON_ITS_WAY);
    transfer->host = Py_NewRef(host);
    transfer->after = after == Py_None ? NULL : Py_NewRef(after);
    transfer->event = cuda.query ? (void *)(uintptr_t)event : NULL;
    transfer->data = (const unsigned char *)(uintptr_t)address;
    transfer->size = (size_t)size;
    atomic_fetch_add(&total, transfer->size);
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
        take_place(questions, PyList_GET_ITEM(places, (Py_ssize_t)i), &questions->pieces.items[i]);
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
    for (size_t i = 0; i < questions->transfers.n; i++)
        tc_transfer_let_go(questions->transfers.items[i]);
    free_unheld();
    questions->all.n = questions->pieces.n = questions->transfers.n = 0;
}

void tc_questions_release(struct tc_questions *questions)
{
    tc_vec_release(&questions->all);
    tc_vec_release(&questions->pieces);
    tc_vec_release(&questions->transfers);
}
