/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_scan.c - what the scanner takes comes back when printed, and cJSON takes it too
 */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "fuzz.h"
#include "trace/scan.h"

#define CJSON_NUMBER 63 /* cJSON cuts longer numbers off */

static bool has_long_number(const char *text, size_t size)
{
    size_t run = 0;

    for (size_t i = 0; i < size && run <= CJSON_NUMBER; i++)
        run = text[i] && strchr("+-.0123456789eE", text[i]) ? run + 1 : 0;
    return run > CJSON_NUMBER;
}

/* cJSON knows no NaN and no Infinity either. */
static void ask_cjson(const char *text, size_t size)
{
    struct tc_json *json;

    if (memchr(text, 'N', size) || memchr(text, 'I', size) || has_long_number(text, size))
        return;
    FUZZ_CHECK(tc_json_parse(text, size, &json, NULL) == TC_OK);
    tc_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_strbuf once = TC_STRBUF_INIT, twice = TC_STRBUF_INIT;
    struct tc_value value, again;
    struct tc_error err = {TC_OK, ""};

    if (tc_scan((const char *)data, size, &arena, &value, &err) == TC_OK) {
        tc_value_print(&value, &once);
        FUZZ_CHECK(tc_scan(once.text, once.size, &arena, &again, NULL) == TC_OK);
        FUZZ_CHECK(again.kind == value.kind);
        tc_value_print(&again, &twice);
        FUZZ_CHECK(once.size == twice.size && !memcmp(once.text, twice.text, once.size));
        ask_cjson((const char *)data, size);
    } else {
        FUZZ_CHECK(err.status == TC_E_FORMAT && err.text[0]);
    }
    tc_strbuf_release(&once);
    tc_strbuf_release(&twice);
    tc_arena_release(&arena);
    return 0;
}
