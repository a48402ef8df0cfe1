/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - transfers with holders counted, on their way, here, or lost
 *
 * A transfer leaves the state "on its way" once and never returns to it; readers on other threads
 * see its bytes after that. The last holder may lack the interpreter's lock: the transfer is then
 * put into a list without locks and freed by the next who has it. What the kernel cannot answer
 * falls to torch's operators, in one call of the policy for the whole look.
 */
#include "collect/agent/look/transfer.h"

#include <stdatomic.h>

#include "collect/agent/look/cuda_table.h"
#include "collect/agent/look/digest.h"
#include "collect/agent/torch/torch.h"

enum transfer_state {
    ON_ITS_WAY,
    HERE,
    LOST,
};

struct tc_transfer {
    atomic_uint n_holders;
    _Atomic enum transfer_state state;
    atomic_bool is_unsure; /* the driver could not say */
    const unsigned char *data;
    size_t size;
    struct tc_cuda_job *job;  /* of the kernel, or NULL; then what torch has is */
    void *event;              /* of CUDA's driver, or NULL */
    PyObject *host;           /* the tensor that holds the bytes */
    PyObject *after;          /* the event behind them; NULL once they are here */
    struct tc_transfer *next; /* of those that nobody holds */
};

static atomic_size_t bytes_on_their_way;
/* They are freed by the next thread that has the interpreter's lock. */
static _Atomic(struct tc_transfer *) unheld;

size_t tc_transfers_size(void)
{
    return atomic_load(&bytes_on_their_way);
}

void tc_transfers_abandon(void)
{
    atomic_store(&unheld, NULL);
    atomic_store(&bytes_on_their_way, 0);
    tc_cuda_abandon();
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
    atomic_fetch_sub(&bytes_on_their_way, transfer->size);
    transfer->next = atomic_load(&unheld);
    while (!atomic_compare_exchange_weak(&unheld, &transfer->next, transfer))
        ;
}

static void free_unheld(void)
{
    struct tc_transfer *next;

    for (struct tc_transfer *t = atomic_exchange(&unheld, NULL); t; t = next) {
        next = t->next;
        if (t->job)
            tc_cuda_give_back(t->job, atomic_load(&t->state) == HERE);
        Py_XDECREF(t->after);
        Py_XDECREF(t->host);
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

/* torch's own way to ask an event needs the interpreter, and may spoil the capture of a graph by
 * another thread. */
static void ask_driver(struct tc_transfer *transfer)
{
    const int said =
        transfer->job ? tc_cuda_ask(transfer->job) : tc_cuda_ask_event(transfer->event);

    if (said > 0)
        atomic_store(&transfer->state, HERE);
    if (said < 0)
        atomic_store(&transfer->is_unsure, true);
}

static bool knows_driver(const struct tc_transfer *transfer)
{
    return (transfer->job || transfer->event) && !atomic_load(&transfer->is_unsure);
}

bool tc_piece_has_come(const struct tc_piece *piece)
{
    struct tc_transfer *t = piece->transfer;

    if (!t || atomic_load(&t->state) != ON_ITS_WAY)
        return true;
    if (knows_driver(t))
        ask_driver(t);
    return atomic_load(&t->state) != ON_ITS_WAY;
}

bool tc_pieces_have_come(const struct tc_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tc_piece_has_come(&pieces[i]))
            return false;
    return true;
}

void tc_piece_give_up(const struct tc_piece *piece)
{
    enum transfer_state expected = ON_ITS_WAY;

    if (piece->transfer)
        atomic_compare_exchange_strong(&piece->transfer->state, &expected, LOST);
}

bool tc_piece_is_of_kernel(const struct tc_piece *piece)
{
    return piece->transfer && piece->transfer->job;
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

static void wait_for_job(struct tc_transfer *transfer)
{
    if (tc_cuda_wait(transfer->job)) {
        atomic_store(&transfer->state, HERE);
    } else {
        PyErr_SetString(PyExc_RuntimeError, "the device is lost");
        take_state(transfer, NULL);
    }
}

bool tc_transfer_ask(struct tc_transfer *transfer)
{
    if (atomic_load(&transfer->state) == ON_ITS_WAY && !knows_driver(transfer)) {
        if (transfer->job) {
            tc_cuda_distrust(transfer->job);
            wait_for_job(transfer);
        } else {
            take_state(transfer, tc_policy_call("has_come", "(O)", transfer->after));
        }
    }
    return atomic_load(&transfer->state) != ON_ITS_WAY;
}

void tc_transfer_wait(struct tc_transfer *transfer)
{
    if (atomic_load(&transfer->state) != ON_ITS_WAY)
        return;
    if (transfer->job)
        wait_for_job(transfer);
    else
        take_state(transfer, tc_policy_call("wait_for", "(O)", transfer->after));
}

/* ---- questions ---- */

/* Of the digest of its bytes: its dtype's. */
static uint64_t seed_of(PyObject *tensor)
{
    PyObject *object = tc_tensor_get(tensor, TC_ATTRIBUTE_dtype);
    const struct tc_dtype *dtype = object ? tc_dtype_of(object) : NULL;

    Py_XDECREF(object);
    PyErr_Clear();
    return dtype ? tc_digest_seed(dtype->name, NULL, 0) : 0;
}

size_t tc_questions_add(struct tc_questions *questions, enum tc_what what, PyObject *tensor,
                        PyObject *other)
{
    const struct tc_question fresh = {.tensor = Py_NewRef(tensor),
                                      .other = other ? Py_NewRef(other) : NULL,
                                      .what = what,
                                      .seed = what == TC_WHAT_STRIPES ? seed_of(tensor) : 0};

    tc_vec_push(&questions->all, fresh);
    return questions->all.n - 1;
}

static struct tc_transfer *add_transfer(struct tc_questions *questions, const void *data,
                                        size_t size, enum transfer_state state)
{
    struct tc_transfer *transfer = tc_calloc(1, sizeof(*transfer));

    atomic_init(&transfer->n_holders, 1);
    atomic_init(&transfer->state, state);
    transfer->data = data;
    transfer->size = size;
    atomic_fetch_add(&bytes_on_their_way, size);
    tc_vec_push(&questions->transfers, transfer);
    return transfer;
}

/* ---- asked by operators of torch ---- */

/* [(what, tensor, other or None, seed)]; NULL with a Python error set. */
static PyObject *put_questions(const struct tc_questions *questions)
{
    PyObject *list = PyList_New((Py_ssize_t)questions->left.n);

    for (size_t i = 0; list && i < questions->left.n; i++) {
        const struct tc_question *q = &questions->all.items[questions->left.items[i]];
        PyObject *one = Py_BuildValue("(iOOK)", (int)q->what, q->tensor,
                                      q->other ? q->other : Py_None, (unsigned long long)q->seed);

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
    transfer = add_transfer(questions, (const void *)(uintptr_t)address, (size_t)size,
                            after == Py_None ? HERE : ON_ITS_WAY);
    transfer->host = Py_NewRef(host);
    transfer->after = after == Py_None ? NULL : Py_NewRef(after);
    transfer->event = event && tc_cuda_is_loaded() ? (void *)(uintptr_t)event : NULL;
    return true;
}

/* (number of the transfer, offset), or None; first is that of transfer 0. */
static void take_place(const struct tc_questions *questions, PyObject *told, size_t first,
                       struct tc_piece *piece)
{
    Py_ssize_t number, at;

    if (told == Py_None || !PyArg_ParseTuple(told, "nn", &number, &at))
        return;
    if (number < 0 || first + (size_t)number >= questions->transfers.n || at < 0 ||
        (size_t)at >= questions->transfers.items[first + (size_t)number]->size)
        return;
    piece->transfer = questions->transfers.items[first + (size_t)number];
    piece->at = (size_t)at;
}

/* ([place of the answer], [transfer]) */
static void take_answers(struct tc_questions *questions, PyObject *answers)
{
    const size_t first = questions->transfers.n;
    PyObject *places, *transfers;

    if (!PyArg_ParseTuple(answers, "O!O!", &PyList_Type, &places, &PyList_Type, &transfers) ||
        (size_t)PyList_GET_SIZE(places) != questions->left.n)
        return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(transfers); i++)
        if (!take_transfer(questions, PyList_GET_ITEM(transfers, i)))
            return;
    for (size_t i = 0; i < questions->left.n; i++)
        take_place(questions, PyList_GET_ITEM(places, (Py_ssize_t)i), first,
                   &questions->pieces.items[questions->left.items[i]]);
}

static void ask_torch(struct tc_questions *questions)
{
    PyObject *list, *answers;

    if (!questions->left.n)
        return;
    list = put_questions(questions);
    answers = list ? tc_policy_call("look", "(O)", list) : NULL;
    if (answers)
        take_answers(questions, answers);
    Py_XDECREF(answers);
    Py_XDECREF(list);
    PyErr_Clear();
}

/* ---- asked by the kernel ---- */

/* Those of one look, of which each is a device's. While the policy is asked another thread may have
 * a look of its own: it takes others. */
struct tables {
    struct tc_table of[TC_CUDA_MAX_DEVICES];
};

static struct tables *spare;

static struct tables *take_tables(void)
{
    struct tables *tables = spare ? spare : tc_calloc(1, sizeof(*tables));

    spare = NULL;
    return tables;
}

static void give_tables_back(struct tables *tables)
{
    if (!spare) {
        spare = tables;
        return;
    }
    for (size_t i = 0; i < TC_CUDA_MAX_DEVICES; i++)
        tc_table_release(&tables->of[i]);
    tc_free(tables);
}

static void take_job(struct tc_questions *questions, const struct tc_table *table,
                     struct tc_cuda_job *job)
{
    struct tc_transfer *transfer = add_transfer(questions, job->host, job->host_size, ON_ITS_WAY);

    transfer->job = job;
    for (size_t i = 0; i < table->asked.n; i++) {
        struct tc_piece *piece = &questions->pieces.items[table->asked.items[i].number];

        piece->transfer = transfer;
        piece->at = tc_table_place(table, &table->asked.items[i]);
    }
}

/* What cannot be asked this way is left to torch. */
static void ask_kernel(struct tc_questions *questions, struct tc_table *table, int device)
{
    bool is_captured;
    struct tc_cuda_job *job = tc_table_start(table, device, &is_captured);

    if (job)
        take_job(questions, table, job);
    else if (!is_captured)
        for (size_t i = 0; i < table->asked.n; i++)
            tc_vec_push(&questions->left, table->asked.items[i].number);
    tc_table_clear(table);
}

void tc_questions_submit(struct tc_questions *questions)
{
    const struct tc_piece none = {0};
    struct tables *tables = take_tables();

    questions->left.n = 0;
    for (size_t i = 0; i < questions->all.n; i++) {
        tc_vec_push(&questions->pieces, none);
        if (!tc_table_add(tables->of, &questions->all.items[i], i))
            tc_vec_push(&questions->left, i);
    }
    for (int i = 0; questions->left.n < questions->all.n && i < TC_CUDA_MAX_DEVICES; i++)
        if (tables->of[i].asked.n)
            ask_kernel(questions, &tables->of[i], i);
    give_tables_back(tables);
    ask_torch(questions);
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
    tc_vec_release(&questions->left);
}
