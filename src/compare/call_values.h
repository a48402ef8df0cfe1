/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_values.h - what a call was given and what it gave, leaf by leaf
 *
 * A leaf is a path, "args.input.dtype", and what stands there. Two runs of one script differ in
 * some leaves by chance: serials, addresses, ports, temporary paths. These are none.
 */
#ifndef TC_COMPARE_CALL_VALUES_H
#define TC_COMPARE_CALL_VALUES_H

#include <stdbool.h>

#include "base/map.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include <traincheck/record.h>

enum tc_leaf_kind {
    TC_LEAF_ARGUMENT, /* class, dtype, shape, mode, integer, text: what a script decides */
    TC_LEAF_NUMBER,   /* a floating point number of Python: decided, or computed */
    TC_LEAF_CONTENT,  /* of tensors: digests, elements, ranges */
};

struct tc_leaf {
    tc_sym path;
    enum tc_leaf_kind kind;
    uint64_t hash;
    const struct tc_value *value;
    const struct tc_value *of; /* the tensor or attributes that it is a member of, or NULL */
    int64_t tensor;            /* the serial of the tensor that it is a leaf of; TC_NONE: of none */
    bool is_receiver;          /* of `self` */
    bool is_class; /* the class of an object, or how many elements of a list are not reported */
};

struct tc_leaves {
    struct tc_leaf *items;
    size_t n, cap;
    bool has_unknown; /* a tensor stands there of whose content nothing was recorded */
};

/* Paths are interned by their parts. All zero but for symbols. */
struct tc_leaf_reader {
    struct tc_strtab *symbols; /* borrowed */
    struct tc_map paths;       /* (path, part) -> path */
    int64_t tensor;            /* of the leaves that are read now */
    const struct tc_value *of;
    bool is_receiver, is_class;
};

/* JSON that gives the same leaves but for those of content. */
void tc_value_print_without_content(const struct tc_value *value, struct tc_strbuf *out);
/* The same of the attributes of a variable; that it has data is reported. */
void tc_variable_print_without_content(const struct tc_value *attrs, struct tc_strbuf *out);

void tc_leaf_reader_release(struct tc_leaf_reader *reader);

/* Of a call, a return or raise, or a variable; what was in leaves is replaced. */
void tc_leaves_of_call(struct tc_leaf_reader *reader, const struct tc_record *call,
                       struct tc_leaves *leaves);
void tc_leaves_of_end(struct tc_leaf_reader *reader, const struct tc_record *end,
                      struct tc_leaves *leaves);
void tc_leaves_of_variable(struct tc_leaf_reader *reader, const struct tc_record *variable,
                           struct tc_leaves *leaves);

#endif /* TC_COMPARE_CALL_VALUES_H */
