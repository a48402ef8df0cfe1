/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fact.h - one simple statement about one script: a subject, an attribute of it, and its value
 *
 * A fact was the same on every occasion in every run learned from. Subjects are tuples of words: a
 * call in its context, a step window, a variable. All words are interned; text is made when a fact
 * is written or told.
 */
#ifndef TC_INVARIANT_FACT_H
#define TC_INVARIANT_FACT_H

#include <stdbool.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/strtab.h"

/* name, text in files */
#define TC_SUBJECT_MAP(X)                                                          \
    X(CALL, "call")           /* calls of an API in one context */                 \
    X(WINDOW, "window")       /* calls of an API within one step window */         \
    X(FLOW, "flow")           /* operands of calls within one step window */       \
    X(USE, "use")             /* of a module's variables within one step window */ \
    X(INSIDE, "inside")       /* what comes after a call, in another one */        \
    X(RUN, "run")             /* calls of an API within one process */             \
    X(CHANGES, "changes")     /* what one kind of call does to variables */        \
    X(VARIABLE, "variable")   /* one variable, by its name */                      \
    X(VARIABLES, "variables") /* all of them together */

/* Of the step windows of the runs learned from, in how many a fact was met. Windows of several
 * ranks with one number are one. */
struct tc_fact_windows {
    uint64_t met, of;
};

/* As files have them: "windows":[met,of] of the object, left out where there are none; false if it
 * is there and is no such pair. */
void tc_fact_windows_print(const struct tc_fact_windows *windows, struct tc_json *object);
bool tc_fact_windows_read(const struct tc_json *object, struct tc_fact_windows *windows);

enum tc_subject_kind {
#define X(name, text) TC_SUBJECT_##name,
    TC_SUBJECT_MAP(X)
#undef X
    TC_N_SUBJECTS
};

/* What tells subjects of one kind apart; TC_NO_SYM where it does not apply. */
#define TC_FACT_FIELD_MAP(X)                                                \
    X(FN, "fn")       /* an API, root.forward, or a kind of call */         \
    X(OF, "of")       /* class of the receiver */                           \
    X(IN, "in")       /* the traced call around it; of a flow where from */ \
    X(IN_OF, "in_of") /* class of the receiver of that one; which result */ \
    X(STAGE, "stage")                                                       \
    X(GRAD, "grad") /* "off" */                                             \
    X(NAME, "name") /* of a variable, an operand; number of a call */       \
    X(BY, "by")     /* the call that changed it; of a call: that made its first operand */

enum tc_fact_field {
#define X(name, text) TC_FACT_##name,
    TC_FACT_FIELD_MAP(X)
#undef X
    TC_FACT_FIELDS
};

/* Attributes, and their texts in files; src/fact/words.c says what each means. */
#define TC_ATTRIBUTE_MAP(X)             \
    X(VALUE, "value")                   \
    X(CLASS, "class")                   \
    X(KEYS, "keys")                     \
    X(LENGTH, "length")                 \
    X(NAMED, "named")                   \
    X(TREND, "trend")                   \
    X(TENSOR, "tensor")                 \
    X(DTYPE, "dtype")                   \
    X(NDIM, "ndim")                     \
    X(SHAPE, "shape")                   \
    X(DIM, "dim")                       \
    X(REQUIRES_GRAD, "requires_grad")   \
    X(SOURCE, "source")                 \
    X(AUTOCAST, "autocast")             \
    X(OWNED, "owned")                   \
    X(OWNED_IN_ORDER, "owned_in_order") \
    X(UNCLEARED, "uncleared")           \
    X(EQUALS, "equals")                 \
    X(FINITE, "finite")                 \
    X(COUNT, "count")                   \
    X(COUNT_FIRST, "count_first")       \
    X(COUNT_LATER, "count_later")       \
    X(PRESENT, "present")               \
    X(FLOWS, "flows")                   \
    X(FLOWS_FIRST, "flows_first")       \
    X(FLOWS_LATER, "flows_later")       \
    X(COUNT_WHERE, "count_where")       \
    X(FLOWS_WHERE, "flows_where")       \
    X(FLOWS_EVER, "flows_ever")         \
    X(DATA, "data")                     \
    X(DATA_FIRST, "data_first")         \
    X(GRADIENTS, "gradients")           \
    X(TRAINABLE, "trainable")           \
    X(EXIST, "exist")                   \
    X(NEXT, "next")                     \
    X(NEXT_FIRST, "next_first")         \
    X(FIRST, "first")                   \
    X(LAST, "last")                     \
    X(UNIFORM, "uniform")               \
    X(ZERO, "zero")                     \
    X(ALIKE, "alike")                   \
    X(RANKS, "ranks")

enum tc_attribute {
#define X(name, text) TC_ATTRIBUTE_##name,
    TC_ATTRIBUTE_MAP(X)
#undef X
    TC_N_ATTRIBUTES
};

/* Those from here on are of the content of tensors. */
#define TC_ATTRIBUTE_CONTENT TC_ATTRIBUTE_FIRST

struct tc_subject {
    uint32_t kind; /* enum tc_subject_kind */
    tc_sym fields[TC_FACT_FIELDS];
};

struct tc_fact {
    struct tc_subject subject;
    tc_sym path; /* of an operand, "args.weight"; TC_NO_SYM where the attribute needs none */
    uint32_t attribute;
    tc_sym value; /* JSON text; TC_NO_SYM in a fact that is being looked for */
};

struct tc_subject tc_subject_of(enum tc_subject_kind kind);

/* What identifies a fact, its value apart, as one line of JSON: the key of its examples. */
void tc_fact_key(const struct tc_fact *fact, const struct tc_strtab *symbols,
                 struct tc_strbuf *out);
tc_sym tc_fact_key_symbol(const struct tc_fact *fact, struct tc_strtab *symbols);
/* Back again, without a value. False if the text is no such key. */
bool tc_fact_of_key(struct tc_fact *fact, struct tc_strtab *symbols, const char *text, size_t size);

/* The two descriptors of an invariant file: subject, and attribute with value. */
struct tc_json *tc_fact_subject_to_json(const struct tc_fact *fact,
                                        const struct tc_strtab *symbols);
struct tc_json *tc_fact_claim_to_json(const struct tc_fact *fact, const struct tc_strtab *symbols);
bool tc_fact_read(struct tc_fact *fact, struct tc_strtab *symbols, const struct tc_json *subject,
                  const struct tc_json *claim);

#endif /* TC_INVARIANT_FACT_H */
