/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - one pass over the elements of a tensor in double precision
 *
 * float and double are read where they lie or from a copy on the CPU; the policy converts all
 * other types first. A tensor that cannot be read has no `stats`. Costs a pass over every tensor
 * that is told of, hence only with --stats.
 */
#include "collect/agent/say/stats.h"

#include <math.h>

#include "base/number.h"
#include "collect/agent/look/look.h"

struct stats {
    double min, max, sum; /* of the finite elements */
    size_t n_finite, n_nan, n_inf;
};

static void add_element(struct stats *s, double x)
{
    if (isnan(x)) {
        s->n_nan++;
        return;
    }
    if (isinf(x)) {
        s->n_inf++;
        return;
    }
    if (!s->n_finite || x < s->min)
        s->min = x;
    if (!s->n_finite || x > s->max)
        s->max = x;
    s->sum += x;
    s->n_finite++;
}

static void read_elements(struct stats *s, const void *data, size_t n, bool is_double)
{
    const float *floats = data;
    const double *doubles = data;

    for (size_t i = 0; i < n; i++)
        add_element(s, is_double ? doubles[i] : (double)floats[i]);
}

/* Other types go through a copy in double precision, made by the policy. */
static bool read_converted(struct stats *s, PyObject *tensor)
{
    PyObject *copy = tc_policy_call("as_double", "(O)", tensor);
    struct tc_memory memory = {0};
    struct tc_tensor t;
    bool done = copy && copy != Py_None && tc_tensor_read(copy, &t);

    if (done)
        tc_look_memory(copy, &t, TC_REACH_PLACE, &memory);
    if (memory.data)
        read_elements(s, memory.data, memory.n, true);
    done = done && memory.data;
    tc_memory_release(&memory);
    Py_XDECREF(copy);
    PyErr_Clear();
    return done;
}

static bool read_stats(struct stats *s, PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_memory memory = {0};
    bool done;

    if (as->dtype->number != TC_NUMBER_F32 && as->dtype->number != TC_NUMBER_F64)
        return read_converted(s, tensor);
    tc_look_memory(tensor, as, TC_REACH_COPY, &memory);
    if (memory.data)
        read_elements(s, memory.data, memory.n, as->dtype->number == TC_NUMBER_F64);
    done = memory.data;
    tc_memory_release(&memory);
    return done;
}

void tc_stats_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as)
{
    struct stats s = {0};

    if (!read_stats(&s, tensor, as))
        return;
    tc_strbuf_adds(out, ",\"stats\":{");
    if (s.n_finite) {
        tc_strbuf_adds(out, "\"min\":");
        tc_strbuf_add_number(out, s.min);
        tc_strbuf_adds(out, ",\"max\":");
        tc_strbuf_add_number(out, s.max);
        tc_strbuf_adds(out, ",\"mean\":");
        tc_strbuf_add_number(out, s.sum / (double)s.n_finite);
        tc_strbuf_addc(out, ',');
    }
    tc_strbuf_addf(out, "\"nan\":%zu,\"inf\":%zu}", s.n_nan, s.n_inf);
}
