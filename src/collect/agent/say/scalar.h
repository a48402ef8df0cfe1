/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.h - numbers and texts as the JSON of docs/trace-format.md, "Values"
 */
#ifndef TC_COLLECT_SCALAR_H
#define TC_COLLECT_SCALAR_H

#include "collect/agent/agent.h"

/* A float, int, bool, str, None or subclass of one. */
bool tc_is_scalar(PyObject *value);
/* False, with nothing written, if it is none. Leaves no Python error. */
bool tc_encode_scalar(struct tc_strbuf *out, PyObject *value);
/* A finite number keeps its point: 5.0; the others are objects. */
void tc_encode_float(struct tc_strbuf *out, double number);
/* A Python str with its quotes, whole. */
void tc_encode_str(struct tc_strbuf *out, PyObject *text);
/* Is it one of those of which a function of the script's own tells the length alone: long, or with
 * an address? is_outside: a function of a package's, of which less is told. */
bool tc_text_is_withheld(PyObject *text, bool is_outside);
/* {"str":"","len":25} */
void tc_encode_withheld(struct tc_strbuf *out, PyObject *text);
/* "%016x" of a digest in quotes. */
void tc_encode_digest(struct tc_strbuf *out, uint64_t digest, bool is_sampled);

#endif /* TC_COLLECT_SCALAR_H */
