/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - tensors read where torch's C++ keeps them
 *
 * torch promises nothing of where a TensorImpl keeps what. So the places are searched for once, in
 * samples of which all is known, and a tensor is read there only where one of its kind, which is
 * its dtype, device and all its flags, was read the slow way before and was the same. Whoever is
 * told "unknown" asks torch.
 */
#ifndef TC_COLLECT_LAYOUT_H
#define TC_COLLECT_LAYOUT_H

#include "collect/agent/torch/dlpack.h"

/*
 * Search for the places. samples: a tuple of tuples
 * (tensor, TensorImpl, StorageImpl, address of its memory, offset, elements, sizes, strides,
 * grad_fn or None), the addresses as int. unlike: a tuple of tensors that are all of other kinds.
 * False, without a Python error, where they are not found.
 */
bool tc_layout_find(PyObject *samples, PyObject *unlike);
/* Thereafter, where it is kept whether a leaf wants a gradient. tensors: that autograd knows, of
 * which the first n_yes are leaves that want one; in all others the same place says no. */
bool tc_layout_find_flag(PyObject *tensors, Py_ssize_t n_yes);

/* All below are given tensors of no subclass, and leave no Python error. */

/* What a tensor shows of its storage. */
struct tc_layout_piece {
    uint64_t storage; /* address of the StorageImpl; 0: unknown, or none */
    int64_t offset, n;
};

/* What DLPack would say; false: unknown. */
bool tc_layout_view(PyObject *tensor, struct tc_dlpack_view *out);
/* Where a tensor is and all that makes it what it is, to see whether it still is. */
#define TC_LAYOUT_WORDS 24
struct tc_layout_print {
    const void *impl, *storage, *data;
    enum tc_answer requires_grad;
    uint64_t words[TC_LAYOUT_WORDS];
};

/* False where that cannot be known. */
bool tc_layout_take(PyObject *tensor, struct tc_layout_print *out);
bool tc_layout_is_as(PyObject *tensor, const struct tc_layout_print *print);
/* Do the two differ in nothing but their places? That makes one hash. */
bool tc_layout_is_like(const struct tc_layout_print *a, const struct tc_layout_print *b);
uint64_t tc_layout_hash(const struct tc_layout_print *print);

/* What DLPack said of a tensor: those of its kind are read here from now on. */
void tc_layout_meet(PyObject *tensor, const struct tc_dlpack_view *view);
/* Are its elements what its memory says? */
enum tc_answer tc_layout_is_literal(PyObject *tensor);
enum tc_answer tc_layout_requires_grad(PyObject *tensor);
enum tc_answer tc_layout_is_leaf(PyObject *tensor);
/* False: unknown. */
bool tc_layout_piece(PyObject *tensor, struct tc_layout_piece *out);

#endif /* TC_COLLECT_LAYOUT_H */
