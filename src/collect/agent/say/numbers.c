/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.c - the numbers of a dict, seen by a look and told in its order
 *
 * A value that is the same object as last time, with the same version, is not rendered again: most
 * settings never change. A dict keeps its order, so the search for a key begins behind the last
 * one found. What was told is shared between a group and the records that wait, and counted by
 * holders.
 */
#include "collect/agent/say/numbers.h"

#include <string.h>

#include "collect/agent/look/look.h"
#include "collect/agent/look/summary.h"
#include "collect/agent/say/encode.h"
#include "collect/agent/say/scalar.h"

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

/* ---- what a look sees ---- */

/*
 * A learning rate may be a tensor of one element. One that lies elsewhere is kept, and asked once
 * more only where its version says that it was written.
 */
static bool take_element(PyObject *tensor, struct tc_questions *questions,
                         struct tc_number_said *out, bool *keep)
{
    struct tc_strbuf json = TC_STRBUF_INIT;
    struct tc_tensor as;
    struct tc_figure figure;

    if (!tc_tensor_read(tensor, &as) || as.n != 1 ||
        (as.dtype->number != TC_NUMBER_F32 && as.dtype->number != TC_NUMBER_F64)) {
        PyErr_Clear();
        return false;
    }
    *keep = tc_look_is_elsewhere(&as);
    if (tc_look_is_asked(tensor, &as, TC_REACH_PLACE)) {
        out->dtype = as.dtype;
        out->question = tc_questions_add(questions, TC_WHAT_BYTES, tensor, NULL);
        return true;
    }
    tc_look_at(tensor, &as, TC_ASK_VALUE, 0, &figure);
    if (!figure.is_known)
        return false;
    tc_encode_float(&json, figure.value.number);
    out->json = tc_strbuf_take(&json);
    return true;
}

/* *keep: the value stays what it is while it lives, and while its version does. */
static bool take_value(PyObject *value, struct tc_questions *questions, struct tc_number_said *out,
                       bool *keep)
{
    struct tc_strbuf json = TC_STRBUF_INIT;

    *keep = is_number(value) || is_numbers(value);
    if (!*keep)
        return tc_tensor_is(value) && take_element(value, questions, out, keep);
    tc_encode(&json, value);
    out->json = tc_strbuf_take(&json);
    return true;
}

static int64_t version_of(PyObject *value)
{
    uint64_t address;
    int64_t version = 0;

    if (tc_tensor_is(value))
        tc_tensor_version(value, &address, &version);
    return version;
}

static bool has_key(const struct tc_number_seen *seen, PyObject *key)
{
    return seen->key == key || PyUnicode_Compare(seen->key, key) == 0;
}

static struct tc_number_seen *find_number(struct tc_numbers *numbers, PyObject *key)
{
    struct tc_number_seen fresh = {0};

    /* a dict keeps its order, so that the next one is the one after the last */
    if (numbers->next < numbers->all.n && numbers->all.items[numbers->next].key == key)
        return &numbers->all.items[numbers->next++];
    for (size_t i = 0; i < numbers->all.n; i++) {
        if (has_key(&numbers->all.items[i], key)) {
            numbers->next = i + 1;
            return &numbers->all.items[i];
        }
    }
    if (numbers->all.n == TC_MAX_NUMBERS)
        return NULL;
    fresh.key = Py_NewRef(key);
    tc_vec_push(&numbers->all, fresh);
    numbers->next = numbers->all.n;
    return &numbers->all.items[numbers->all.n - 1];
}

void tc_numbers_take(struct tc_numbers *numbers, PyObject *key, PyObject *value,
                     struct tc_questions *questions, struct tc_number_news *news)
{
    struct tc_number_seen *seen = PyUnicode_CheckExact(key) ? find_number(numbers, key) : NULL;
    const int64_t version = seen ? version_of(value) : 0;
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_number_said fresh = {0};
    bool keep, is_taken;

    if (!seen || (seen->value && seen->value == value && seen->version == version))
        return;
    is_taken = take_value(value, questions, &fresh, &keep);
    Py_XDECREF(seen->value);
    seen->value = is_taken && keep ? Py_NewRef(value) : NULL;
    seen->version = version;
    if (!is_taken)
        return;
    fresh.index = (size_t)(seen - numbers->all.items);
    tc_encode_str(&text, key);
    fresh.key = tc_strbuf_take(&text);
    tc_vec_push(&news->all, fresh);
}

void tc_numbers_place(struct tc_numbers *numbers, const struct tc_questions *questions,
                      struct tc_number_news *news)
{
    for (size_t i = 0; i < news->all.n; i++) {
        struct tc_number_said *n = &news->all.items[i];
        struct tc_piece piece;

        if (n->json)
            continue;
        piece = questions->pieces.items[n->question];
        n->question = news->pieces.n;
        tc_piece_hold(&piece);
        tc_vec_push(&news->pieces, piece);
        if (!piece.transfer && numbers && n->index < numbers->all.n)
            Py_CLEAR(numbers->all.items[n->index].value);
    }
}

void tc_numbers_release(struct tc_numbers *numbers)
{
    for (size_t i = 0; i < numbers->all.n; i++) {
        Py_DECREF(numbers->all.items[i].key);
        Py_XDECREF(numbers->all.items[i].value);
    }
    tc_vec_release(&numbers->all);
}

/* ---- what is told ---- */

struct tc_numbers_told *tc_numbers_told_new(void)
{
    struct tc_numbers_told *told = tc_calloc(1, sizeof(*told));

    atomic_init(&told->n_holders, 1);
    return told;
}

struct tc_numbers_told *tc_numbers_told_hold(struct tc_numbers_told *told)
{
    atomic_fetch_add(&told->n_holders, 1);
    return told;
}

void tc_numbers_told_let_go(struct tc_numbers_told *told)
{
    if (atomic_fetch_sub(&told->n_holders, 1) != 1)
        return;
    for (size_t i = 0; i < TC_MAX_NUMBERS; i++)
        tc_free(told->json[i]);
    tc_free(told);
}

/* To be freed; NULL: the answer was lost. */
static char *json_of(const struct tc_number_said *n, const struct tc_piece *pieces)
{
    const unsigned char *data = n->json ? NULL : tc_piece_data(&pieces[n->question]);
    struct tc_strbuf json = TC_STRBUF_INIT;

    if (n->json)
        return tc_strdup(n->json);
    if (!data)
        return NULL;
    tc_encode_float(&json, tc_float_at(data, n->dtype->number));
    return tc_strbuf_take(&json);
}

void tc_numbers_tell(struct tc_strbuf *out, struct tc_numbers_told *told,
                     const struct tc_number_news *news)
{
    for (size_t i = 0; i < news->all.n; i++) {
        const struct tc_number_said *n = &news->all.items[i];
        char **last = &told->json[n->index], *json = json_of(n, news->pieces.items);

        if (!json || (*last && strcmp(json, *last) == 0)) {
            tc_free(json);
            continue;
        }
        tc_free(*last);
        *last = json;
        tc_strbuf_addf(out, ",%s:", n->key);
        tc_strbuf_adds(out, json);
    }
}

void tc_number_news_release(struct tc_number_news *news)
{
    for (size_t i = 0; i < news->all.n; i++) {
        tc_free(news->all.items[i].key);
        tc_free(news->all.items[i].json);
    }
    tc_vec_release(&news->all);
    tc_vec_release(&news->pieces);
}
