/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - which items of one sequence are which of another
 *
 * A patience diff (B. Cohen) on numbers: what occurs once in both sequences anchors them. Where
 * nothing does, the shortest edit is searched for (E. Myers, An O(ND) Difference Algorithm, 1986),
 * up to a fixed number of edits: the furthest that they reach is taken then, and the search starts
 * anew from there. So time grows with the length, and never with its square.
 */
#ifndef TC_COMPARE_DIFF_H
#define TC_COMPARE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define TC_UNMATCHED SIZE_MAX

/* match[i] becomes the index in b of the item that a[i] is, or TC_UNMATCHED. It rises. */
void tc_diff(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, size_t *match);

/* The same for those that an earlier diff of the same sequences, by other numbers, left unmatched.
 */
void tc_diff_rest(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, size_t *match);

#endif /* TC_COMPARE_DIFF_H */
