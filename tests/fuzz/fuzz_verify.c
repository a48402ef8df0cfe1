/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_verify.c - plans of two ranks and of one device, with lines "---" between them: verified,
 * refuted or refused with a text, and reported
 */
#include <string.h>

#include "fuzz.h"
#include "scratch.h"
#include <traincheck/plan.h>

#define MARK "\n---\n"

/* What stands before the next mark goes to the file; the rest remains. */
static void put_part(const char *path, const uint8_t **data, size_t *size)
{
    const uint8_t *mark = *size ? memmem(*data, *size, MARK, strlen(MARK)) : NULL;
    size_t n = mark ? (size_t)(mark - *data) + 1 : *size;
    size_t used = mark ? n + strlen(MARK) - 1 : n;

    fuzz_put(path, *data, n);
    *data += used;
    *size -= used;
}

static void write_nothing(void *context, const char *text, size_t size)
{
    (void)context;
    FUZZ_CHECK(!size || text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"sarif", "junit", "github"};
    struct tc_plan_check_config config = {.plan = fuzz_folder("p"),
                                          .reference = fuzz_folder("s"),
                                          .formats = formats,
                                          .n_formats = 3,
                                          .output_dir = fuzz_folder("o"),
                                          .jobs = 1,
                                          .seeds = 1,
                                          .write = write_nothing};
    struct tc_plan_check_result result = {0};
    struct tc_error err = {TC_OK, ""};

    put_part(fuzz_path("p/plan-rank00000.jsonl"), &data, &size);
    put_part(fuzz_path("p/plan-rank00001.jsonl"), &data, &size);
    put_part(fuzz_path("s/plan-rank00000.jsonl"), &data, &size);
    if (tc_plan_check(&config, &result, &err) != TC_OK)
        FUZZ_CHECK(err.text[0]);
    else
        FUZZ_CHECK(result.n_verified + result.n_differ <= result.n_results);
    return 0;
}
