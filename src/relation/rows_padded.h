/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_padded.h - what a model is told of rows that are filled up to one length
 *
 * A mask of [rows, columns] says which places of a batch hold something. Its name tells which way
 * round it is: an attention_mask has one there, a padding mask zero or false.
 */
#ifndef TC_RELATION_ROWS_PADDED_H
#define TC_RELATION_ROWS_PADDED_H

#include "relation/relation.h"

struct tc_rows_padded {
    int64_t rows, columns;
    int64_t n_visible;    /* places that hold something */
    bool ends_in_padding; /* some rows do, and all begin with something */
};

/* Among the operands of a forward, in dictionaries too; false if there is none. */
bool tc_rows_padded_of(const struct tc_call *forward, struct tc_rows_padded *out);

/* How many elements of integers are that number, of which the trace counts zero, one and those
 * below zero, as if these were one number; -1: that is not recorded. */
int64_t tc_count_of_number(const struct tc_value *tensor, int64_t number);

#endif /* TC_RELATION_ROWS_PADDED_H */
