/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pickle.c - a pickle is plain data, which prints as JSON, or is refused with the byte
 */
#include <string.h>

#include "base/pickle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_json *json = NULL;
    struct tc_error err = {TC_OK, ""};
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (tc_pickle_parse(data, size, &json, &err) == TC_OK)
        tc_json_print(json, &text);
    else
        FUZZ_CHECK(!json && !strncmp(err.text, "byte ", 5));
    tc_json_free(json);
    tc_strbuf_release(&text);
    return 0;
}
