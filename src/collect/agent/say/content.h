/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h - what is recorded of the content of tensors: docs/trace-format.md, "Content"
 *
 * What lies elsewhere than in this process's memory leaves a hole in the current thread's line
 * (line.h).
 */
#ifndef TC_COLLECT_CONTENT_H
#define TC_COLLECT_CONTENT_H

#include "collect/agent/say/operands.h"

/* How much is told of one value, and what is asked of its tensors. */
struct tc_asked {
    bool content;                 /* the members of "Content" */
    bool is_batch;                /* the value is a batch */
    bool digests;                 /* digests of small tensors, whatever --content says */
    bool is_brief;                /* of objects their class, of long lists and texts the length */
    bool is_drawn;                /* the same, and of all lists the length */
    bool is_noise;                /* was drawn: with its digest */
    bool is_outside;              /* a package's: and of texts that may be a key the length */
    bool is_unmade;               /* before its __init__: its class alone */
    bool is_secret;               /* and of all texts the length */
    bool is_named;                /* objects by the names that the script has for them */
    struct tc_operands *operands; /* what is to be compared, or NULL */
};

/* Append the members. serial is that of the tensor, 0 if it has none. */
void tc_content_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as,
                    int64_t serial, const struct tc_asked *asked);

#endif /* TC_COLLECT_CONTENT_H */
