/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_once.c - the evidence of a file is mined again, and what is new of it comes in
 *
 * All of it is mined, as what is new may follow from what was known.
 */
#include "infer/seen_once.h"

#include "fact/attribute.h"
#include "infer/kept.h"
#include "infer/mine.h"

#define MIN_SUPPORT 3

static bool may_be_chance(const struct tc_invariant *x, const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(x);

    return fact && tc_fact_needs_two_runs(fact, symbols);
}

static bool is_new(const struct tc_invariant *x, struct tc_strtab *symbols,
                   const struct tc_strtab *keys)
{
    struct tc_strbuf key = TC_STRBUF_INIT;

    tc_kept_key_of(x, symbols, &key);
    const bool is = key.size && tc_strtab_find(keys, key.text, key.size) != TC_NO_SYM;
    tc_strbuf_release(&key);
    return is;
}

static enum tc_status add_invariant(struct tc_set_file *file, struct tc_invariant *x,
                                    const struct tc_strtab *symbols, size_t number,
                                    struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    x->pipelines = 1;
    struct tc_json *document = tc_invariant_to_json(x, symbols);
    tc_json_set_string(document, "seen", "once");
    tc_json_set_number(document, "accepted", (double)number);
    tc_json_print(document, &text);
    const enum tc_status status = tc_set_file_add(file, text.text, text.size, err);
    tc_json_free(document);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_seen_once_add(struct tc_set_file *file, struct tc_strtab *keys, size_t number,
                                uint64_t *n, struct tc_error *err)
{
    bool enabled[TC_MAX_RELATIONS];
    const struct tc_mine_options options = {
        .deduce = {.min_support = MIN_SUPPORT}, .is_one_script = true, .enabled = enabled};
    struct tc_evidence evidence;
    struct tc_invariant_set set;
    struct tc_mined mined;

    for (size_t i = 0; i < TC_MAX_RELATIONS; i++)
        enabled[i] = true;
    *n = 0;
    tc_evidence_init(&evidence);
    tc_invariant_set_init(&set, evidence.symbols);
    enum tc_status status = tc_kept_read(file->kept, &evidence, err);
    if (!status)
        tc_mine(&evidence, &options, &set, NULL, &mined);
    for (size_t i = 0; i < set.items.n && !status; i++) {
        struct tc_invariant *x = set.items.items[i];
        if (!is_new(x, set.symbols, keys) || may_be_chance(x, set.symbols))
            continue;
        status = add_invariant(file, x, set.symbols, number, err);
        ++*n;
    }
    tc_invariant_set_release(&set);
    tc_evidence_release(&evidence);
    return status;
}
