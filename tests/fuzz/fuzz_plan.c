/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_plan.c - lines of a plan: read, or refused with a text; what was read can be put into slots
 */
#include <string.h>

#include "fuzz.h"
#include "plan/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_strtab *names = tc_strtab_new();
    struct tc_plan_rank *rank = NULL;
    struct tc_error err = {TC_OK, ""};
    struct tc_plan_set set;
    enum tc_status status = TC_OK;
    uint64_t number = 0;

    tc_plan_init(&set, "folder", names);
    for (size_t at = 0, n; at < size && !status; at += n + 1) {
        const char *line = (const char *)data + at, *end = memchr(line, '\n', size - at);
        n = end ? (size_t)(end - line) : size - at;
        status = tc_plan_read_line(&set, "plan.jsonl", &rank, line, n, ++number, &err);
    }
    if (status)
        FUZZ_CHECK(err.text[0]);
    else if (rank)
        tc_plan_put_in_slots(rank);
    tc_plan_release(&set);
    tc_strtab_free(names);
    return 0;
}
