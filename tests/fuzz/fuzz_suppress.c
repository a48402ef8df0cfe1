/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_suppress.c - a list of accepted violations: each has an id and a reason, or it is refused
 */
#include <string.h>

#include "check/suppress.h"
#include "fuzz.h"
#include "scratch.h"

static void check_items(const struct tc_suppressions *known)
{
    for (size_t i = 0; i < known->items.n; i++) {
        const struct tc_suppression *item = &known->items.items[i];

        FUZZ_CHECK(item->id[0] && item->reason[0] && !strpbrk(item->id, " \t\n"));
        FUZZ_CHECK(!strchr(item->reason, '\n'));
        FUZZ_CHECK(tc_suppressions_reason(known, item->id));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("accepted.txt");
    struct tc_suppressions known = {0};
    struct tc_error err = {TC_OK, ""};

    fuzz_put(path, data, size);
    if (tc_suppressions_read(&known, path, &err) == TC_OK)
        check_items(&known);
    else
        FUZZ_CHECK(strstr(err.text, path));
    tc_suppressions_release(&known);
    return 0;
}
