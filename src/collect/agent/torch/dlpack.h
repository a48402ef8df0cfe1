/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlpack.h - shape, type and address of a tensor in one call
 *
 * torch from 2.10 on has the C interface of DLPack 1.2: a tenth of the time of asking for the same
 * attribute by attribute, and no code of the user runs. Elsewhere there is nothing to view.
 */
#ifndef TC_COLLECT_DLPACK_H
#define TC_COLLECT_DLPACK_H

#include "collect/agent/agent.h"

enum tc_answer {
    TC_ANSWER_NO,
    TC_ANSWER_YES,
    TC_ANSWER_UNKNOWN,
};

/* Borrowed from the tensor: valid until something else happens to it. */
struct tc_dlpack_view {
    const void *data;
    const int64_t *shape, *strides; /* in elements */
    size_t n_dims;
    uint32_t type; /* equal for equal dtypes, and only for those */
    bool on_cpu;
    bool is_literal; /* its elements are known to be what its memory says */
    int cuda;        /* number of the device of CUDA, -1: it is none */
    enum tc_answer requires_grad;
};

/* Take the interface from torch.Tensor, if it has one. Leaves no Python error. */
void tc_dlpack_init(PyObject *tensor_class);
/* Has it one? */
bool tc_dlpack_is_there(void);
/* False, without a Python error, where the tensor cannot be told this way. */
bool tc_dlpack_view(PyObject *tensor, struct tc_dlpack_view *out);
bool tc_dlpack_is_contiguous(const struct tc_dlpack_view *view);

#endif /* TC_COLLECT_DLPACK_H */
