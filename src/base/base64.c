/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.c - three bytes are four letters
 */
#include "base/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void tc_base64_add(struct tc_strbuf *out, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    tc_strbuf_reserve(out, (size + 2) / 3 * 4 + 1);
    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        const uint32_t word = (uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (n > 2 ? bytes[i + 2] : 0);
        const char four[4] = {letters[word >> 18], letters[word >> 12 & 63],
                              n > 1 ? letters[word >> 6 & 63] : '=',
                              n > 2 ? letters[word & 63] : '='};
        tc_strbuf_add(out, four, sizeof(four));
    }
}

/* 64 for what is no letter. */
static uint32_t number_of_letter(char c)
{
    const char *at = c ? strchr(letters, c) : NULL;

    return at ? (uint32_t)(at - letters) : 64;
}

enum tc_status tc_base64_decode(const char *text, size_t size, struct tc_strbuf *out,
                                struct tc_error *err)
{
    size_t n = size;

    while (n && size - n < 2 && text[n - 1] == '=')
        n--;
    if (size % 4)
        return tc_error_set(err, TC_E_FORMAT, "base64 of %zu letters, which four do not divide",
                            size);
    tc_strbuf_reserve(out, size / 4 * 3 + 1);
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        for (size_t k = 0; k < 4; k++) {
            const uint32_t number = i + k < n ? number_of_letter(text[i + k]) : 0;
            if (number == 64)
                return tc_error_set(err, TC_E_FORMAT, "base64: letter %zu is none of it",
                                    i + k + 1);
            word = word << 6 | number;
        }
        const char three[3] = {(char)(word >> 16), (char)(word >> 8), (char)word};
        tc_strbuf_add(out, three, n - i < 4 ? n - i - 1 : 3);
    }
    return TC_OK;
}
