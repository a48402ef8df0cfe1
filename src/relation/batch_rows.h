/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_rows.h - the rows of batches that loaders returned, until a model is given them
 */
#ifndef TC_RELATION_BATCH_ROWS_H
#define TC_RELATION_BATCH_ROWS_H

#include "relation/form.h"

/* No pass of more rows is judged. */
#define TC_MAX_ROWS ((size_t)1 << 20)

struct tc_batch_rows {
    int64_t iterator;   /* that returned it */
    uint64_t n, rows[]; /* what each row is known by */
};

/* What an iterator returned: the batches in it, by their content. */
void tc_batch_rows_note(struct tc_map *batches, const struct tc_value *returned, int64_t iterator);
/* The first of them that a model is given; to be freed with tc_free. NULL: none of them. */
struct tc_batch_rows *tc_batch_rows_take(struct tc_map *batches, const struct tc_call *forward);

#endif /* TC_RELATION_BATCH_ROWS_H */
