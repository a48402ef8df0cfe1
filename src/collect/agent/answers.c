#include "collect/agent/answers.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"
#include "collect/agent/encode.h"
#include "collect/agent/identity.h"
#include "collect/agent/tensor.h"

#define MAX_SAME   ((size_t)1 << 16) /* elements compared */
#define MAX_FINITE ((size_t)1 << 21) /* elements looked through */

struct answer {
    struct tc_strbuf *out;
    PyObject *result;
    struct tc_tensor tensor;
    struct tc_memory memory;
    bool is_asked; /* some operand was comparable */
    size_t n;      /* operands that are equal */
};

/* Only plain tensors: a subclass may answer with code of the user. */
static bool read_plain(PyObject *value, struct tc_tensor *tensor, struct tc_memory *memory)
{
    const struct tc_class *class = tc_tensor_is(value) ? tc_class_of(Py_TYPE(value)) : NULL;

    memset(memory, 0, sizeof(*memory));
    if (!class || class->opaque || !tc_tensor_read(value, tensor)) {
        PyErr_Clear();
        return false;
    }
    if (tensor->on_cpu && tensor->n <= MAX_FINITE)
        tc_tensor_memory(value, tensor, false, memory);
    return true;
}

static bool is_comparable(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static void compare(struct answer *a, const char *where, const char *name, PyObject *operand)
{
    struct tc_tensor tensor;
    struct tc_memory memory;
    bool same = operand == a->result;

    if (!tc_tensor_is(operand) || !read_plain(operand, &tensor, &memory))
        return;
    if (!is_comparable(&tensor, &a->tensor))
        goto out;
    if (!same && (!memory.data || !a->memory.data || memory.n > MAX_SAME))
        goto out;
    if (!a->is_asked)
        tc_strbuf_adds(a->out, ",\"same\":[");
    a->is_asked = true;
    if (!same && memcmp(memory.data, a->memory.data, memory.size) != 0)
        goto out;
    tc_strbuf_adds(a->out, a->n++ ? ",\"" : "\"");
    tc_strbuf_adds(a->out, where);
    tc_strbuf_adds(a->out, name);
    tc_strbuf_addc(a->out, '"');
out:
    tc_memory_release(&memory);
}

static void compare_all(struct answer *a, const struct tc_span *span)
{
    const struct tc_arguments *args = &span->args;
    const struct tc_param *param;

    if (span->receiver)
        compare(a, "self", "", span->receiver);
    for (size_t i = 0; i < args->n; i++)
        if ((param = tc_sig_at(span->sig, i)))
            compare(a, "args.", param->shown, args->items[i]);
    for (Py_ssize_t i = 0; args->names && i < PyTuple_GET_SIZE(args->names); i++) {
        PyObject *name = PyTuple_GET_ITEM(args->names, i);

        param = tc_sig_named(span->sig, name);
        compare(a, "args.", param ? param->shown : PyUnicode_AsUTF8(name),
                args->items[args->n + (size_t)i]);
    }
    if (a->is_asked)
        tc_strbuf_addc(a->out, ']');
}

static void add_finite(struct answer *a)
{
    enum tc_number number = a->tensor.dtype->number;

    if (!a->memory.data || number == TC_NUMBER_OTHER)
        return;
    tc_strbuf_adds(a->out, isinf(tc_max_abs(a->memory.data, a->memory.n, number))
                               ? ",\"finite\":false"
                               : ",\"finite\":true");
}

void tc_answers_add(struct tc_strbuf *out, const struct tc_span *span, PyObject *result)
{
    bool is_backward = span->api->role == TC_ROLE_BACKWARD;
    struct answer a = {.out = out, .result = is_backward ? span->receiver : result};

    if (!a.result || !tc_tensor_is(a.result) || !read_plain(a.result, &a.tensor, &a.memory))
        return;
    if (!is_backward)
        compare_all(&a, span);
    add_finite(&a);
    tc_memory_release(&a.memory);
}
