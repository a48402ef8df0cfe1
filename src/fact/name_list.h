/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_list.h - names as a value of a fact: a JSON array
 */
#ifndef TC_FACT_NAME_LIST_H
#define TC_FACT_NAME_LIST_H

#include "base/strbuf.h"
#include "base/strtab.h"

/* In the order of their letters, each once; how many are left. */
size_t tc_fact_sort_names(struct tc_strtab *symbols, tc_sym *names, size_t n);
/* As they stand. */
void tc_fact_print_names(const struct tc_strtab *symbols, const tc_sym *names, size_t n,
                         struct tc_strbuf *out);

#endif /* TC_FACT_NAME_LIST_H */
