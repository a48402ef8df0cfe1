/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_blocks.h - memory for cJSON in a fuzz target
 *
 * Most allocations of a target that reads and writes documents are nodes and texts of cJSON. These
 * come from a block of memory that is used up front to back and begun anew with the next input.
 * AddressSanitizer knows each of them, its end and when it is freed, at a fraction of the cost.
 */
#ifndef TC_TESTS_FUZZ_JSON_BLOCKS_H
#define TC_TESTS_FUZZ_JSON_BLOCKS_H

/* Before an input. */
void fuzz_json_begin(void);
/* After it: aborts if a node or text was not freed. */
void fuzz_json_end(void);

#endif /* TC_TESTS_FUZZ_JSON_BLOCKS_H */
