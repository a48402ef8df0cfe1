/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_apis.c - a list of APIs and an invariant file become settings of the agent: whatever they
 * hold, each line of the settings is one that the collector meant
 *
 * The list stands first, the invariants after a line "---".
 */
#include <stdio.h>
#include <string.h>

#include "collect/select.h"
#include "fuzz.h"
#include "scratch.h"

#define MARK "\n---\n"

static void check_line(const char *line, size_t n)
{
    static const char *const keys[] = {
        "inject=", "content=", "mode=",  "variables=", "settings=", "digest=",
        "api=",    "role=",    "extra=", "operators=", "sources="};
    size_t i = 0;

    while (i < sizeof(keys) / sizeof(*keys) && strncmp(line, keys[i], strlen(keys[i])) != 0)
        i++;
    FUZZ_CHECK(i < sizeof(keys) / sizeof(*keys));
    for (size_t at = 0; at < n; at++)
        FUZZ_CHECK(line[at] && line[at] != '\r');
}

static void check_settings(const struct tc_strbuf *settings)
{
    const char *end = settings->text + settings->size, *next;

    for (const char *line = settings->text; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        FUZZ_CHECK(next);
        check_line(line, (size_t)(next - line));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memmem(data, size, MARK, strlen(MARK)) : NULL;
    size_t n = mark ? (size_t)(mark - data) + 1 : size;
    const char *path = fuzz_path("apis.txt"), *invariants = fuzz_path("invariants.jsonl");
    struct tc_collect_config config = {
        .apis_file = path, .invariants = &invariants, .n_invariants = mark ? 1 : 0};
    struct tc_select_run run = {.inject = "inject"};
    struct tc_strbuf settings = TC_STRBUF_INIT;
    struct tc_error err = {TC_OK, ""};

    fuzz_put(path, data, n);
    if (mark)
        fuzz_put(invariants, mark + strlen(MARK), size - n - strlen(MARK) + 1);
    if (tc_select_settings(&config, &run, &settings, &err) == TC_OK)
        check_settings(&settings);
    else
        FUZZ_CHECK(err.text[0]);
    tc_strbuf_release(&settings);
    return 0;
}
