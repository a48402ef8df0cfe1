/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands.h - which tensor operands of one call are equal, and which share memory
 */
#ifndef TC_COLLECT_OPERANDS_H
#define TC_COLLECT_OPERANDS_H

#include "collect/agent/torch/tensor.h"

#define TC_MAX_OPERANDS     16
#define TC_MAX_OPERAND_NAME 96

struct tc_call_operand {
    PyObject *tensor;
    struct tc_tensor as;
    char name[TC_MAX_OPERAND_NAME];
};

/* On the C stack of the call: only n has to be set, to 0. */
struct tc_operands {
    size_t n;
    struct tc_call_operand items[TC_MAX_OPERANDS];
};

/* "args.batch[0]"; those above the first 16 are left out. */
void tc_operands_put(struct tc_operands *operands, PyObject *tensor, const struct tc_tensor *as,
                     const char *name);
/* Append ,"equal":[...] and ,"alias":[...] as docs/trace-format.md says, and let go of them all. */
void tc_operands_add(struct tc_strbuf *out, struct tc_operands *operands);

#endif /* TC_COLLECT_OPERANDS_H */
