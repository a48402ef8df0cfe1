/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.c - `same` and `finite` of a result, read here or asked of its device
 *
 * Operands of the same type and shape are compared, which ends at the first difference. The last
 * tensor that was looked through is remembered with its version, as a layer mostly returns what
 * its function did. Subclasses are left alone: to compare them may run the user's code.
 */
#include "collect/agent/say/answers.h"

#include <math.h>
#include <string.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/look/kernel.h"
#include "collect/agent/look/look.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/operands.h"
#include "collect/agent/say/said.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/identity.h"

/* Elements of a tensor that is looked through each time. */
#define MAX_SMALL ((size_t)1024)

#define SAME ",\"same\":["

enum tc_finite {
    TC_FINITE_NO,
    TC_FINITE_YES,
    TC_FINITE_MASKED, /* -inf beside numbers: what is not to be chosen, and no failure */
};

struct answer {
    struct tc_strbuf *out;
    PyObject *result;
    struct tc_tensor tensor;
    struct tc_memory memory;
    bool is_elsewhere; /* the device is asked */
    bool is_asked;     /* some operand was comparable */
    size_t n;          /* operands that are equal */
};

static struct {
    int64_t serial, version;
    uint64_t address;
    enum tc_finite finite;
} last_looked_through;

/* Only plain tensors: a subclass may answer with code of the user. */
static bool read_plain(PyObject *value, struct tc_tensor *tensor)
{
    const struct tc_class *class;

    if (tc_said_read(value, tensor))
        return true;
    class = tc_tensor_is(value) ? tc_class_of(Py_TYPE(value)) : NULL;
    if (class && !class->opaque && tc_tensor_read(value, tensor))
        return true;
    PyErr_Clear();
    return false;
}

static void read_memory(PyObject *value, const struct tc_tensor *tensor, struct tc_memory *memory)
{
    *memory = (struct tc_memory){0};
    if (tensor->n <= TC_MAX_COMPARED)
        tc_look_memory(value, tensor, TC_REACH_PLACE, memory);
}

static bool is_comparable(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static bool may_be_asked(PyObject *value, const struct tc_tensor *tensor)
{
    return tensor->n <= TC_MAX_COMPARED && tc_look_is_asked(value, tensor, TC_REACH_PLACE);
}

static void add_name(struct answer *a, const char *where, const char *name)
{
    tc_strbuf_addc(a->out, '"');
    tc_strbuf_adds(a->out, where);
    tc_strbuf_adds(a->out, name);
    tc_strbuf_addc(a->out, '"');
}

static void compare_here(struct answer *a, const char *where, const char *name, PyObject *operand,
                         const struct tc_tensor *tensor)
{
    struct tc_memory memory = {0};
    bool same = operand == a->result;

    if (!same) {
        read_memory(operand, tensor, &memory);
        if (!memory.data || !a->memory.data)
            goto out;
    }
    if (!a->is_asked)
        tc_strbuf_adds(a->out, SAME);
    a->is_asked = true;
    if (!same && memcmp(memory.data, a->memory.data, memory.size) != 0)
        goto out;
    if (a->n++)
        tc_strbuf_addc(a->out, ',');
    add_name(a, where, name);
out:
    tc_memory_release(&memory);
}

static void compare_elsewhere(struct answer *a, const char *where, const char *name,
                              PyObject *operand, const struct tc_tensor *tensor)
{
    bool same = operand == a->result;

    if (!same && (strcmp(tensor->device, a->tensor.device) != 0 || !may_be_asked(operand, tensor) ||
                  !may_be_asked(a->result, &a->tensor)))
        return;
    if (!a->is_asked)
        tc_line_open_list(SAME);
    a->is_asked = true;
    add_name(a, where, name);
    tc_line_end_item(a->result, same ? NULL : operand);
}

static bool read_operand(const struct answer *a, PyObject *operand, struct tc_tensor *tensor)
{
    if (operand == a->result) {
        *tensor = a->tensor;
        return true;
    }
    return tc_tensor_is(operand) && !tc_tensor_is_unlike(operand, &a->tensor) &&
           read_plain(operand, tensor) && is_comparable(tensor, &a->tensor);
}

static void compare_with_result(struct answer *a, const char *where, const char *name,
                                PyObject *operand)
{
    struct tc_tensor tensor;

    if (!read_operand(a, operand, &tensor))
        return;
    if (a->is_elsewhere)
        compare_elsewhere(a, where, name, operand, &tensor);
    else
        compare_here(a, where, name, operand, &tensor);
}

static void compare_all(struct answer *a, const struct tc_span *span)
{
    const struct tc_arguments *args = &span->args;
    const struct tc_sig_param *param;

    if (span->receiver)
        compare_with_result(a, "self", "", span->receiver);
    for (size_t i = 0; i < args->n; i++)
        if ((param = tc_sig_at(span->sig, i)))
            compare_with_result(a, "args.", param->shown, args->items[i]);
    for (Py_ssize_t i = 0; args->names && i < PyTuple_GET_SIZE(args->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(args->names, i);

        param = tc_sig_named(span->sig, name);
        compare_with_result(a, "args.", param ? param->shown : PyUnicode_AsUTF8(name),
                            args->items[args->n + (size_t)i]);
    }
    if (a->is_asked && a->is_elsewhere)
        tc_line_close_list();
    else if (a->is_asked)
        tc_strbuf_addc(a->out, ']');
}

static enum tc_finite look_through(const struct answer *a)
{
    const enum tc_number kind = a->tensor.dtype->number;

    if (!isinf(tc_max_abs(a->memory.data, a->memory.n, kind)))
        return TC_FINITE_YES;
    return tc_is_masked(a->memory.data, a->memory.n, kind) ? TC_FINITE_MASKED : TC_FINITE_NO;
}

/*
 * A layer mostly hands on what its function returned. Between the two runs code of torch alone, so
 * the version counter can be trusted; elsewhere a write through .data would escape. To ask for the
 * version of what is small takes longer than to look through it.
 */
static enum tc_finite finite_of(const struct answer *a, bool is_layer)
{
    int64_t serial, version;
    uint64_t address;

    if (a->memory.n <= MAX_SMALL) {
        last_looked_through.serial = 0;
        return look_through(a);
    }
    serial = tc_identity_tensor(a->result);
    tc_tensor_version(a->result, &address, &version);
    if (!is_layer || !serial || serial != last_looked_through.serial ||
        version != last_looked_through.version || address != last_looked_through.address) {
        last_looked_through.finite = look_through(a);
        last_looked_through.serial = serial;
        last_looked_through.version = version;
        last_looked_through.address = address;
    }
    return last_looked_through.finite;
}

static void write_finite(struct tc_strbuf *out, enum tc_finite finite)
{
    static const char *const words[] = {
        [TC_FINITE_NO] = ",\"finite\":false",
        [TC_FINITE_YES] = ",\"finite\":true",
        [TC_FINITE_MASKED] = "",
    };

    tc_strbuf_adds(out, words[finite]);
}

static enum tc_finite finite_of_flags(unsigned flags)
{
    if (flags & TC_KERNEL_INFINITE || !(flags & TC_KERNEL_NUMBER))
        return TC_FINITE_NO;
    return flags & TC_KERNEL_LOWEST ? TC_FINITE_MASKED : TC_FINITE_YES;
}

/* Of the smallest and the largest element, which are NaN where one is. */
static enum tc_finite finite_of_bounds(const unsigned char *data, const struct tc_dtype *dtype)
{
    if (!isfinite(tc_look_number(data, dtype, 1)))
        return TC_FINITE_NO;
    return isfinite(tc_look_number(data, dtype, 0)) ? TC_FINITE_YES : TC_FINITE_MASKED;
}

static void fill_finite(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                        const struct tc_piece *pieces)
{
    const struct tc_dtype *const *dtype = hole->told;
    const unsigned char *data = tc_piece_data(&pieces[0]);

    (void)text;
    if (data)
        write_finite(out, tc_piece_is_of_kernel(&pieces[0]) ? finite_of_flags(*data)
                                                            : finite_of_bounds(data, *dtype));
}

static void ask_finite(const struct answer *a)
{
    const struct tc_dtype **told = tc_malloc(sizeof(*told)); /* dtypes live for ever */

    *told = a->tensor.dtype;
    tc_line_open(fill_finite, told);
    tc_line_ask(TC_WHAT_FINITE, a->result, NULL);
    tc_line_close();
}

/* Is the memory of the result that of an operand? */
static bool is_memory_of_operand(const struct answer *a, const struct tc_span *span)
{
    uint64_t of_result, address;
    int64_t version;

    tc_tensor_version(a->result, &of_result, &version);
    for (size_t i = 0; of_result && i < span->args.n; i++) {
        if (!tc_tensor_is(span->args.items[i]))
            continue;
        tc_tensor_version(span->args.items[i], &address, &version);
        if (address == of_result)
            return true;
    }
    return false;
}

/* A function of the user's own may fill memory bit by bit and hand it on: the rest is not written
 * yet, and may look like anything. */
static void add_finite(struct answer *a, const struct tc_span *span)
{
    const bool is_layer = span->api->role == TC_ROLE_LAYER;

    if (a->tensor.dtype->number == TC_NUMBER_OTHER ||
        (span->api->flags & TC_API_PARTIAL && is_memory_of_operand(a, span)))
        return;
    if (a->memory.data)
        write_finite(a->out, finite_of(a, is_layer));
    else if (a->is_elsewhere && may_be_asked(a->result, &a->tensor))
        ask_finite(a);
}

void tc_answers_add(struct tc_strbuf *out, const struct tc_span *span, PyObject *result)
{
    bool is_backward = span->api->role == TC_ROLE_BACKWARD;
    struct answer a = {.out = out, .result = is_backward ? span->receiver : result};

    if (!a.result || !tc_tensor_is(a.result) || !read_plain(a.result, &a.tensor))
        return;
    a.is_elsewhere = tc_look_is_elsewhere(&a.tensor) && a.tensor.n;
    if (!a.is_elsewhere)
        read_memory(a.result, &a.tensor, &a.memory);
    if (!is_backward)
        compare_all(&a, span);
    add_finite(&a, span);
    tc_memory_release(&a.memory);
}
