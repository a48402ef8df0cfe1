/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_import.c - lines of the Python tool, and invariants of it after a line "---", are read and
 * judged without harm, whatever they hold
 */
#include "fuzz.h"

#include <string.h>

#include "check/engine.h"
#include "replay/symbols.h"
#include "scratch.h"

#define MARK "\n---\n"

static void check_verdicts(const struct tc_engine *engine)
{
    for (size_t i = 0; i < tc_engine_count(engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(engine, i);
        FUZZ_CHECK(!j->broken == !j->violation);
        FUZZ_CHECK(j->relation || (j->invariant->unchecked && j->invariant->unchecked[0]));
    }
}

static void judge(const char *folder, struct tc_invariant_set *set, struct tc_strtab *symbols)
{
    struct tc_notes *notes = tc_notes_new();
    struct tc_engine *engine = tc_engine_new(set, symbols);
    struct tc_trace_folder *read = NULL;
    struct tc_error err = {TC_OK, ""};

    if (tc_trace_folder_open(folder, notes, &read, &err) == TC_OK) {
        struct tc_replay *replay = tc_replay_new(symbols, notes, tc_engine_judge, engine);
        tc_engine_begin(engine, folder);
        FUZZ_CHECK(tc_replay_folder(replay, read, false, NULL, NULL, &err) == TC_OK);
        check_verdicts(engine);
        tc_replay_free(replay);
    } else {
        FUZZ_CHECK(err.text[0]);
    }
    tc_trace_folder_close(read);
    tc_engine_free(engine);
    tc_notes_free(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memmem(data, size, MARK, strlen(MARK)) : NULL;
    size_t n_trace = mark ? (size_t)(mark - data) + 1 : size;
    const char *folder = fuzz_folder("t"), *trace = fuzz_path("t/trace_API_1_1.log"),
               *invariants = fuzz_path("invariants.json");
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;
    struct tc_error err = {TC_OK, ""};

    fuzz_put(trace, data, n_trace);
    fuzz_put(invariants, mark ? mark + strlen(MARK) : data,
             mark ? size - n_trace - strlen(MARK) + 1 : 0);
    tc_invariant_set_init(&set, symbols);
    if (tc_invariant_set_read(&set, invariants, &err) != TC_OK)
        FUZZ_CHECK(err.text[0]);
    judge(folder, &set, symbols);
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return 0;
}
