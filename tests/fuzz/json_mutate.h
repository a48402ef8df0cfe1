/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_mutate.h - changes to JSON Lines that keep most lines what they are
 *
 * A fuzzer that changes bytes rarely gets past the reader. These change lines and fields: swap,
 * duplicate, drop, move, give a field the value of another place, of the schema or of a list, or
 * drop it. For libFuzzer's LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver; a target for
 * other lines (plans, facts) includes this file and gives its own words.
 */
#ifndef TC_TESTS_JSON_MUTATE_H
#define TC_TESTS_JSON_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* words: texts of values that mean something to the reader, NULL at the end. Returns the new size.
 */
size_t tc_json_mutate(uint8_t *data, size_t size, size_t max, unsigned seed,
                      const char *const *words);
/* Lines of a and of b, taken in turns of random lengths. */
size_t tc_json_cross(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b, uint8_t *out,
                     size_t max, unsigned seed);
/* What means something in a trace. */
extern const char *const tc_trace_words[];

#endif /* TC_TESTS_JSON_MUTATE_H */
