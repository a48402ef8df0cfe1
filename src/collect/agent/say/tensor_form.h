/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_form.h - shape, dtype, device and requires_grad of a tensor, read and written
 */
#ifndef TC_COLLECT_TENSOR_FORM_H
#define TC_COLLECT_TENSOR_FORM_H

#include "collect/agent/torch/tensor.h"

/* Append ,"shape":[...],"dtype":... of the tensor, and give it as it is read; false where it cannot
 * be read. print: with impl NULL where it has none. May leave a Python error. */
bool tc_form_add(struct tc_strbuf *out, PyObject *tensor, struct tc_tensor *as,
                 struct tc_layout_print *print);
void tc_form_add_shape(struct tc_strbuf *out, const struct tc_tensor *as);

#endif /* TC_COLLECT_TENSOR_FORM_H */
