/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab.h - interning: equal bytes get equal small numbers
 *
 * Numbers count from 0 in the order of first appearance. Text is any bytes
 * (arrays of integers are interned the same way); the stored copy is followed
 * by a zero byte, aligned to 8, and never moves.
 *
 * A text may be made of others with a space between them, its words: these are kept beside it, so
 * that who compares words compares numbers, and takes no text apart.
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
/* The text of these words. */
tc_sym tc_strtab_join(struct tc_strtab *tab, const tc_sym *words, size_t n);
/* In n words, the last of which has the rest; false if there are fewer. */
bool tc_strtab_split(struct tc_strtab *tab, tc_sym sym, tc_sym *words, size_t n);
/* Those that it was made of by tc_strtab_join, or first split into; *n is 0 if it never was. */
const tc_sym *tc_strtab_words(const struct tc_strtab *tab, tc_sym sym, size_t *n);
size_t tc_strtab_count(const struct tc_strtab *tab);
/* Of tables that are sets of texts. */
void tc_strtab_add_all(struct tc_strtab *to, const struct tc_strtab *from);
bool tc_strtab_has_all(const struct tc_strtab *tab, const struct tc_strtab *of);

/* For qsort(): of two addresses of texts, or of structs that begin with one. */
int tc_compare_texts(const void *a, const void *b);
/* For qsort_r(): of two symbols of the table, by their texts. */
int tc_compare_symbols(const void *a, const void *b, void *tab);

#endif /* TC_BASE_STRTAB_H */
