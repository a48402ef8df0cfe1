/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_list.c - names as a value of a fact: a JSON array
 */
#include "fact/name_list.h"

#include <stdlib.h>

size_t tc_fact_sort_names(struct tc_strtab *symbols, tc_sym *names, size_t n)
{
    size_t n_kept = 0;

    if (n)
        qsort_r(names, n, sizeof(*names), tc_compare_symbols, symbols);
    for (size_t i = 0; i < n; i++)
        if (!i || names[i] != names[i - 1])
            names[n_kept++] = names[i];
    return n_kept;
}

void tc_fact_print_names(const struct tc_strtab *symbols, const tc_sym *names, size_t n,
                         struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        tc_strbuf_adds(out, i ? "," : "");
        tc_strbuf_add_json(out, tc_strtab_text(symbols, names[i]),
                           tc_strtab_size(symbols, names[i]));
    }
    tc_strbuf_addc(out, ']');
}
