/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failed.c - lines of refused hypotheses, collected and sorted
 *
 * Each is rendered at once, as its arena and its counterexample are gone later; sorting by text
 * makes the file the same whatever the order of mining.
 */
#include "infer/failed.h"

#include <stdlib.h>

#include "base/json.h"
#include "relation/evidence_io.h"

void tc_failures_release(struct tc_failures *failures)
{
    for (size_t i = 0; i < failures->lines.n; i++)
        tc_free(failures->lines.items[i]);
    tc_vec_release(&failures->lines);
}

void tc_failures_add(struct tc_failures *failures, const struct tc_deduce_rows *rows,
                     struct tc_invariant *invariant, enum tc_deduction why,
                     const struct tc_row *counterexample)
{
    struct tc_strtab *symbols = rows->evidence->symbols;
    struct tc_strbuf text = TC_STRBUF_INIT, line = TC_STRBUF_INIT;
    struct tc_arena arena = TC_ARENA_INIT;

    tc_relation_describe_claim(rows->relation, symbols, invariant->params, invariant->n_params,
                               &text);
    invariant->text = text.text;
    tc_deduce_count(rows, &arena, invariant);
    tc_invariant_name(invariant, symbols);
    struct tc_json *object = tc_invariant_to_json(invariant, symbols);
    tc_json_set_string(object, "why", tc_deduction_text(why));
    if (counterexample && counterexample->first != TC_NO_SYM)
        tc_json_set_string(object, "broken_at", tc_strtab_text(symbols, counterexample->first));
    if (counterexample)
        tc_json_set(object, "broken_when", tc_evidence_situation(rows->evidence, counterexample));
    tc_json_print_line(object, &line);
    tc_vec_push(&failures->lines, tc_strbuf_take(&line));
    tc_strbuf_release(&text);
    tc_arena_release(&arena);
}

void tc_failures_print(struct tc_failures *failures, struct tc_strbuf *out)
{
    if (failures->lines.n)
        qsort(failures->lines.items, failures->lines.n, sizeof(*failures->lines.items),
              tc_compare_texts);
    for (size_t i = 0; i < failures->lines.n; i++)
        tc_strbuf_adds(out, failures->lines.items[i]);
}
