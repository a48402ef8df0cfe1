/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h - reading tensors through their Python attributes
 *
 * Nothing here consumes random numbers, changes grad mode, touches a version
 * counter or runs a user's __torch_function__ (callers see to modes with
 * tc_tensor_shield).
 */
#ifndef TC_COLLECT_TENSOR_H
#define TC_COLLECT_TENSOR_H

#include "collect/agent/torch/layout.h"
#include "collect/agent/torch/torch.h"

#define TC_MAX_DIMS 16

struct tc_tensor {
    int64_t shape[TC_MAX_DIMS];
    size_t n_dims;
    size_t n; /* elements */
    const struct tc_dtype *dtype;
    bool requires_grad;
    bool on_cpu;
    bool is_contiguous;  /* where address is known */
    bool is_here;        /* known to be real numbers at address, in one piece, on the CPU */
    const void *address; /* of the first element on its device; NULL: not known without asking */
    char device[24];
};

/* Contents as contiguous memory of this process. */
struct tc_memory {
    const void *data; /* NULL: cannot be read */
    size_t n, size;   /* elements, bytes */
    PyObject *keep;   /* owns a copy, or NULL */
    bool is_packed;   /* the bytes of all that a wrapper holds, and no numbers of its dtype */
};

bool tc_tensor_read(PyObject *tensor, struct tc_tensor *out);
/* Is it known, without a reading, to be of another shape? */
bool tc_tensor_is_unlike(PyObject *tensor, const struct tc_tensor *as);
/* What all that is read follows from; false where that cannot be known. */
bool tc_tensor_print(PyObject *tensor, struct tc_layout_print *out);
/* Would it be read as it was then? May say no where it would. as is_here; print: of the same time,
 * or NULL. */
bool tc_tensor_is_as(PyObject *tensor, const struct tc_tensor *as,
                     const struct tc_layout_print *print);
/* as is what has just been read of the tensor. */
/* copy: where the memory is elsewhere or not contiguous, make a copy. */
void tc_tensor_memory(PyObject *tensor, const struct tc_tensor *as, bool copy,
                      struct tc_memory *out);
void tc_memory_release(struct tc_memory *memory);
/* Strided memory in one piece that holds real numbers, on whatever device. May leave a Python
 * error. */
bool tc_tensor_is_plain(PyObject *tensor, const struct tc_tensor *as);
/* Are its elements what its memory says? Of a conjugated tensor, and of a negated one, which lies
 * apart, they are computed when they are read. Leaves no Python error. */
bool tc_tensor_is_literal(PyObject *tensor, const struct tc_dtype *dtype, bool is_apart);
/* Its storage was taken away, as sharding does with gathered parameters. */
bool tc_tensor_is_emptied(PyObject *tensor, const struct tc_tensor *as);

/*
 * New reference to the tensor whose memory holds the content: of a distributed one the part of this
 * process (no other process is asked), of any other the tensor itself. NULL, without a Python
 * error, if there is no part.
 */
PyObject *tc_tensor_body(PyObject *tensor);

bool tc_tensor_is_leaf(PyObject *tensor);
/* "strided", "sparse_coo", ...; lives for ever. */
const char *tc_tensor_layout(PyObject *tensor);
/* Which elements of its storage it shows. False if that cannot be known. */
bool tc_tensor_piece(PyObject *tensor, struct tc_layout_piece *out);
/* Address of the contents and count of in-place changes; both 0 where unknown. */
void tc_tensor_version(PyObject *tensor, uint64_t *address, int64_t *version);
/* New reference to .grad, NULL if there is none. */
PyObject *tc_tensor_grad(PyObject *tensor);
bool tc_tensor_requires_grad(PyObject *tensor);

#endif /* TC_COLLECT_TENSOR_H */
