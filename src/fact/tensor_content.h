/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_content.h - what a trace tells of the content of one tensor, in few words
 *
 * Numbers of elements differ from batch to batch: what is claimed has few values, so that calls of
 * a loop go on saying the same.
 */
#ifndef TC_FACT_TENSOR_CONTENT_H
#define TC_FACT_TENSOR_CONTENT_H

#include <string.h>

#include "base/strbuf.h"
#include "invariant/fact.h"
#include <traincheck/value.h>

#define TC_N_CONTENT 4

#define TC_FACT_SOME  "\"some\""
#define TC_FACT_MIXED "\"mixed\""
/* Behind the value of a column: it may be by chance that it shows one element alone. */
#define TC_FACT_DOUBT '?'
/* As many calls as are recorded of one function, so there may have been more: is never claimed. */
#define TC_FACT_MANY "\"many\""
/* It was drawn: is never claimed. */
#define TC_FACT_DRAWN "\"drawn\""

/* The members of a tensor's value that facts ask for; NULL where it has none of that name. */
struct tc_fact_tensor {
    const struct tc_value *id, *dtype, *shape, *requires_grad, *device;
    const struct tc_value *value, *constant, *summary;
    uint32_t n_elements; /* UINT32_MAX: that many or more */
};

void tc_fact_tensor(struct tc_fact_tensor *t, const struct tc_value *tensor);

/* Inline, as it is asked of each member of each operand. */
static inline bool tc_fact_is_name(struct tc_str key, struct tc_str name)
{
    return key.size == name.size && !memcmp(key.text, name.text, name.size);
}
/* A literal as one that needs no strlen(). */
#define TC_FACT_NAME(literal)          \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }

enum tc_attribute tc_fact_content_attribute(size_t i);
/* is_computed: by a model, so that it is another one as training goes on.
 * Append the value of the i-th of these attributes, as JSON; false where the tensor has none. */
bool tc_fact_content(size_t i, const struct tc_fact_tensor *tensor, bool is_computed,
                     struct tc_strbuf *out);

#endif /* TC_FACT_TENSOR_CONTENT_H */
