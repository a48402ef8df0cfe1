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
    bool is_lasting;              /* tc_content_lasts() says so of all that stands above */
    struct tc_operands *operands; /* what is to be compared, or NULL */
};

/*
 * Does what is told of the tensor depend on nothing but itself? Then it is told the same as long as
 * tc_content_is_as() says so of what was taken then.
 */
struct tc_content_taken {
    unsigned char bytes[64]; /* all, of few elements */
};
bool tc_content_lasts(const struct tc_asked *asked);
/* But for the last batches; how many there were until now. */
bool tc_content_is_batch(int64_t serial);
size_t tc_content_n_batches(void);
/* False where more is told than such few numbers. */
bool tc_content_take(const struct tc_tensor *as, struct tc_content_taken *out);
bool tc_content_is_as(const struct tc_tensor *as, const struct tc_content_taken *taken);

/* Append the members. serial is that of the tensor, 0 if it has none. */
void tc_content_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as,
                    int64_t serial, const struct tc_asked *asked);

#endif /* TC_COLLECT_CONTENT_H */
