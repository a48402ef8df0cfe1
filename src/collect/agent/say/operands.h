/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands.h - which tensor operands of one call are equal, and which share memory
 */
#ifndef TC_COLLECT_OPERANDS_H
#define TC_COLLECT_OPERANDS_H

#include "collect/agent/torch/tensor.h"

#define TC_MAX_OPERANDS     16
#define TC_MAX_OPERAND_NAME 96

/* Elements of tensors that are read. To compare two costs a pass where they are equal alone. */
#define TC_MAX_COMPARED ((size_t)1 << 21)

struct tc_call_operand {
    PyObject *tensor;
    struct tc_tensor as;
    const char *name;
};

/* On the C stack of the call: only n and n_names have to be set, to 0. */
struct tc_operands {
    size_t n;
    struct tc_call_operand items[TC_MAX_OPERANDS];
    size_t n_names; /* bytes of names, each of which ends in a zero */
    char names[TC_MAX_OPERANDS * TC_MAX_OPERAND_NAME];
};

/* "args.batch[0]", of n_name bytes; those above the first 16 are left out. */
void tc_operands_put(struct tc_operands *operands, PyObject *tensor, const struct tc_tensor *as,
                     const char *name, size_t n_name);
/* Append ,"equal":[...] and ,"alias":[...] as docs/trace-format.md says, and let go of them all. */
void tc_operands_add(struct tc_strbuf *out, struct tc_operands *operands);

#endif /* TC_COLLECT_OPERANDS_H */
