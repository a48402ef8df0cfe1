/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_once.h - what an accepted run shows of calls that no run before it made
 */
#ifndef TC_INFER_SEEN_ONCE_H
#define TC_INFER_SEEN_ONCE_H

#include "base/json.h"
#include "base/strtab.h"
#include "infer/set_file.h"

/*
 * Add to the file what its evidence says of these keys (kept.h), each invariant marked with
 * "seen":"once" and the number of the entry of the header that accepted it. What a second run must
 * confirm first, as it may be chance, is left out: --add learns it of the evidence. *n: how many.
 */
enum tc_status tc_seen_once_add(struct tc_set_file *file, struct tc_strtab *keys, size_t number,
                                uint64_t *n, struct tc_error *err);

#endif /* TC_INFER_SEEN_ONCE_H */
