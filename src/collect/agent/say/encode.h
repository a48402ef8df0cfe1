/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - Python values as the JSON of docs/trace-format.md, "Values"
 */
#ifndef TC_COLLECT_ENCODE_H
#define TC_COLLECT_ENCODE_H

#include "collect/agent/say/content.h"
#include "collect/agent/say/scalar.h"

/* Never fails and leaves no Python error: what cannot be read is written by its class alone. */
void tc_encode(struct tc_strbuf *out, PyObject *value);
/* As tc_encode; what is asked of the content of tensors is added. name is that of the operand. */
void tc_encode_asked(struct tc_strbuf *out, PyObject *value, const char *name,
                     const struct tc_asked *asked);
/* The receiver of a call; is_root marks a root forward. */
void tc_encode_self(struct tc_strbuf *out, PyObject *value, bool is_root,
                    const struct tc_asked *asked);

#endif /* TC_COLLECT_ENCODE_H */
