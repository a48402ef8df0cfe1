/* SPDX-License-Identifier: Apache-2.0 */
/*
 * found_inf.c - the flags of a gradient scaler, of all its devices in one answer
 *
 * The policy finds the tensors. Those that lie here are read now, the others in one hole of the
 * record; if one of them cannot be known nothing is told. More than 64 devices are not told of.
 */
#include "collect/agent/say/found_inf.h"

#include "collect/agent/look/look.h"
#include "collect/agent/look/summary.h"
#include "collect/agent/say/line.h"

/* What is known of the numbers that a scaler has, one for each device. */
struct found_inf {
    bool is_known; /* nothing but what is asked is unknown */
    bool any;
    const struct tc_dtype *dtype; /* of those that are asked: torch has one for all */
};

static void add_member(struct tc_strbuf *out, bool any)
{
    tc_strbuf_adds(out, any ? ",\"found_inf\":true" : ",\"found_inf\":false");
}

static void fill_found_inf(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                           const struct tc_piece *pieces)
{
    const struct found_inf *f = hole->told;
    bool any = f->any;

    (void)text;
    for (size_t i = 0; i < hole->n_pieces; i++) {
        const unsigned char *data = tc_piece_data(&pieces[i]);

        if (!data)
            return;
        any |= tc_float_at(data, f->dtype->number) != 0;
    }
    add_member(out, any);
}

/* Is it to be asked of its device? Else it is taken here. */
static bool take_or_ask(PyObject *tensor, struct found_inf *f)
{
    struct tc_tensor as;
    struct tc_figure figure = {0};

    if (tc_tensor_is(tensor) && tc_tensor_read(tensor, &as) && as.n == 1 &&
        as.dtype->number != TC_NUMBER_OTHER && (!f->dtype || f->dtype == as.dtype)) {
        if (tc_look_is_asked(tensor, &as, TC_REACH_PLACE)) {
            f->dtype = as.dtype;
            return true;
        }
        tc_look_at(tensor, &as, TC_ASK_VALUE, 0, &figure);
    }
    PyErr_Clear();
    f->is_known &= figure.is_known;
    f->any |= figure.is_known && figure.value.number != 0;
    return false;
}

static void ask_devices(const struct found_inf *f, PyObject *numbers, const bool *is_asked,
                        Py_ssize_t n)
{
    struct found_inf *told = tc_malloc(sizeof(*told));

    *told = *f;
    tc_line_open(fill_found_inf, told);
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_asked[i])
            tc_line_ask(TC_WHAT_BYTES, PyList_GET_ITEM(numbers, i), NULL);
    tc_line_close();
}

static void add_numbers(struct tc_strbuf *out, PyObject *numbers)
{
    struct found_inf f = {.is_known = true};
    bool is_asked[64], any_asked = false;
    const Py_ssize_t n = PyList_GET_SIZE(numbers);

    if (!n || n > (Py_ssize_t)(sizeof(is_asked) / sizeof(is_asked[0])))
        return;
    for (Py_ssize_t i = 0; i < n; i++)
        any_asked |= is_asked[i] = take_or_ask(PyList_GET_ITEM(numbers, i), &f);
    if (f.is_known && any_asked)
        ask_devices(&f, numbers, is_asked, n);
    else if (f.is_known)
        add_member(out, f.any);
}

void tc_found_inf_add(struct tc_strbuf *out, const struct tc_span *span)
{
    PyObject *optimizer = tc_arguments_at(&span->args, "optimizer", 0), *numbers;

    if (!span->receiver || !optimizer || tc_tensor_is(optimizer)) /* as scale() is given one */
        return;
    numbers = tc_policy_call("found_inf", "(OO)", span->receiver, optimizer);
    if (numbers && PyList_Check(numbers))
        add_numbers(out, numbers);
    Py_XDECREF(numbers);
    PyErr_Clear();
}
