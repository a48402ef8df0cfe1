/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_yaml.c - a configuration of the collector: each option once, or refused with its line
 */
#include <string.h>

#include "base/strtab.h"
#include "collect/collect.h"
#include "fuzz.h"
#include "scratch.h"

struct seen {
    const char *last; /* members of a list come one after the other */
    struct tc_strtab *names;
};

static enum tc_status set(void *context, const char *name, const char *value, struct tc_error *err)
{
    struct seen *seen = context;
    size_t n = tc_strtab_count(seen->names);
    tc_sym sym = tc_strtab_intern_text(seen->names, name);
    const char *text = tc_strtab_text(seen->names, sym);

    FUZZ_CHECK(sym == n || seen->last == text);
    seen->last = text;
    if (value && strstr(value, "refused"))
        return tc_error_set(err, TC_E_USAGE, "refused");
    return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("collect.yaml");
    struct seen seen = {NULL, tc_strtab_new()};
    struct tc_error err = {TC_OK, ""};

    fuzz_put(path, data, size);
    if (tc_collect_config_read(path, set, &seen, &err) != TC_OK)
        FUZZ_CHECK(strstr(err.text, path));
    tc_strtab_free(seen.names);
    return 0;
}
