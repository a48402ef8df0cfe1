/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase_list.h - lists of names in sentences, and what two of them differ in
 */
#ifndef TC_FACT_PHRASE_LIST_H
#define TC_FACT_PHRASE_LIST_H

#include "base/json.h"
#include "base/strbuf.h"
#include "base/strtab.h"

/* A JSON text, parsed, or NULL; to be freed. */
struct tc_json *tc_phrase_json(const struct tc_strtab *symbols, tc_sym value);
/* The texts of a JSON array, as names of calls or as they are. */
void tc_phrase_names(const struct tc_json *array, bool are_calls, struct tc_strbuf *out);
/* Of names with commas those that are not among the others; how many they are. */
size_t tc_phrase_split(const char *text, const char *others, struct tc_strbuf *out);

/* JSON arrays of names: of calls "A(), B() and 4 more"; "25 variables, not 30: a, b are gone". */
void tc_phrase_calls(const struct tc_strtab *symbols, tc_sym names, struct tc_strbuf *out);
void tc_phrase_difference(const struct tc_strtab *symbols, tc_sym was, tc_sym is,
                          struct tc_strbuf *out);
/* Of JSON texts of names with commas those that the first has alone; how many they are. */
size_t tc_phrase_rest(const struct tc_strtab *symbols, tc_sym names, tc_sym others,
                      struct tc_strbuf *out);

#endif /* TC_FACT_PHRASE_LIST_H */
