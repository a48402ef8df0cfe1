/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab.h - interning: equal bytes get equal small numbers
 *
 * Numbers count from 0 in the order of first appearance. Text is any bytes
 * (arrays of integers are interned the same way); the stored copy is followed
 * by a zero byte, aligned to 8, and never moves.
 */
#ifndef TC_BASE_STRTAB_H
#define TC_BASE_STRTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t tc_sym;
#define TC_NO_SYM UINT32_MAX

struct tc_strtab;

struct tc_strtab *tc_strtab_new(void);
void tc_strtab_free(struct tc_strtab *tab);
tc_sym tc_strtab_intern(struct tc_strtab *tab, const void *text, size_t size);
tc_sym tc_strtab_intern_text(struct tc_strtab *tab, const char *text);
/* TC_NO_SYM if it was never interned. */
tc_sym tc_strtab_find(const struct tc_strtab *tab, const void *text, size_t size);
const char *tc_strtab_text(const struct tc_strtab *tab, tc_sym sym);
size_t tc_strtab_size(const struct tc_strtab *tab, tc_sym sym); /* bytes */
size_t tc_strtab_count(const struct tc_strtab *tab);

#endif /* TC_BASE_STRTAB_H */
