/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said.h - what was said of a tensor, to be said again
 *
 * What one call returns is handed to the next, and a weight is handed to each of its calls. As long
 * as such a tensor is what it was, its text is the same. All is called with the interpreter's lock.
 */
#ifndef TC_COLLECT_SAID_H
#define TC_COLLECT_SAID_H

#include "collect/agent/say/content.h"

/* Append what was said of the tensor: as it was read then, or NULL if something is not as it was.
 * It is asked for what lasts. */
const struct tc_tensor *tc_said_again(struct tc_strbuf *out, PyObject *tensor);
/* Is it still read as it was when it was said? Its elements may be others. */
bool tc_said_read(PyObject *tensor, struct tc_tensor *out);
/* Keep what was said of what it is asked for, which is lasting. as: as it was read; print: with
 * impl NULL where it has none. */
void tc_said_keep(PyObject *tensor, int64_t serial, const struct tc_tensor *as,
                  const struct tc_layout_print *print, const char *text, size_t size);

#endif /* TC_COLLECT_SAID_H */
