/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_invariants.c - an invariant file is refused with a text, or read; printed and read again it
 * is the same, and an engine takes it
 */
#include <string.h>

#include "base/utf8.h"
#include "check/engine.h"
#include "fuzz.h"
#include "relation/interest.h"
#include "replay/symbols.h"
#include "scratch.h"

static void judge_nothing(struct tc_invariant_set *set, struct tc_strtab *symbols)
{
    struct tc_engine *engine = tc_engine_new(set, symbols);

    for (size_t i = 0; i < tc_engine_count(engine); i++)
        FUZZ_CHECK(!tc_engine_judgement(engine, i)->violation);
    tc_engine_free(engine);
}

static void select_by(const char *path)
{
    struct tc_interest interest;
    struct tc_error err = {TC_OK, ""};

    tc_interest_init(&interest);
    if (tc_interest_read(&path, 1, &interest, &err) != TC_OK)
        FUZZ_CHECK(err.text[0]);
    tc_interest_release(&interest);
}

/* The text of what is read from path; false if it is refused. */
static bool print(const char *path, struct tc_strbuf *out)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;
    struct tc_error err = {TC_OK, ""};
    enum tc_status status;

    tc_invariant_set_init(&set, symbols);
    status = tc_invariant_set_read(&set, path, &err);
    if (status == TC_OK) {
        judge_nothing(&set, symbols);
        tc_invariant_set_print(&set, NULL, out);
    } else {
        FUZZ_CHECK(err.text[0]);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return status == TC_OK;
}

/* Other bytes are printed as U+FFFD, and names with these have other ids. */
static bool is_utf8(const char *text, size_t size)
{
    size_t n = 1;

    for (const char *p = text; n && p < text + size; p += n)
        n = tc_utf8_size(p, text + size);
    return n > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("invariants.jsonl");
    struct tc_strbuf once = TC_STRBUF_INIT, twice = TC_STRBUF_INIT;

    fuzz_put(path, data, size);
    select_by(path);
    if (print(path, &once) && once.size && is_utf8((const char *)data, size)) {
        fuzz_put(path, once.text, once.size);
        if (print(path, &twice)) /* without a header it is none where the lines are foreign */
            FUZZ_CHECK(once.size == twice.size && !memcmp(once.text, twice.text, once.size));
    }
    tc_strbuf_release(&once);
    tc_strbuf_release(&twice);
    return 0;
}
