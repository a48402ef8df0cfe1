/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_pack.h - what a value of a trace says, as bytes
 *
 * Without the serials that differ from call to call the bytes tell at once whether a call is like
 * one before it. What is known of the tensors in it beside others is added by who knows.
 */
#ifndef TC_FACT_OPERAND_PACK_H
#define TC_FACT_OPERAND_PACK_H

#include "base/strbuf.h"
#include "base/strtab.h"
#include "invariant/fact.h"
#include <traincheck/value.h>

/* Of so many tensors among the operands of a call the source is reported; so many are remembered.
 */
#define TC_FACT_SOURCES 6
#define TC_FACT_TENSORS 32
/* Longer lists are reported by their length alone. */
#define TC_FACT_LIST  8
#define TC_FACT_DEPTH 5

/* A value, packed. */
struct tc_fact_pack {
    struct tc_strbuf bytes;
    int64_t tensors[TC_FACT_TENSORS];  /* their serials, in order */
    bool is_computed[TC_FACT_TENSORS]; /* takes a gradient, or a model computed it; set by who knows
                                        */
    bool is_counted[TC_FACT_TENSORS];  /* of whole numbers, or of truth values */
    bool is_choice[TC_FACT_TENSORS];   /* of these made from such, by a model; set so */
    uint32_t n_elements[TC_FACT_TENSORS];
    size_t n_tensors;
    bool has_content; /* the trace tells of contents */
    bool has_names; /* an operand has the name of the caller's variable in the first call of all */
};

void tc_fact_pack_value(struct tc_fact_pack *pack, const struct tc_value *value, unsigned depth);

/* How many elements of a list the trace leaves out: its last item says so, and nothing else. -1 if
 * it has all. */
int64_t tc_fact_left_out(const struct tc_value *list);
/* What a value is; and of a scalar member of a tensor the attribute, TC_N_ATTRIBUTES if it says
 * nothing here. */
bool tc_fact_is_tensor(const struct tc_value *value);
bool tc_fact_is_object(const struct tc_value *value);
enum tc_attribute tc_fact_tensor_attribute(struct tc_str key);

#endif /* TC_FACT_OPERAND_PACK_H */
