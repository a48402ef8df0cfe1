/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_safe.c - the promises of base/safe.h, for any text
 */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "base/safe.h"
#include "base/utf8.h"
#include "fuzz.h"

/* Written apart from the code under test: by code point, where that goes by bytes. */
static uint32_t code_at(const char *p, size_t size)
{
    const uint8_t *u = (const uint8_t *)p;
    uint32_t code = size == 1 ? u[0] : u[0] & (0xffu >> (size + 1));

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (u[i] & 0x3f);
    return code;
}

static bool is_steering(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
           code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

static void check_characters(const struct tc_strbuf *text)
{
    const char *end = text->text + text->size;

    for (const char *p = text->text; p < end;) {
        size_t size = tc_utf8_size(p, end);
        FUZZ_CHECK(size && !is_steering(code_at(p, size)));
        p += size;
    }
}

static bool holds(const struct tc_strbuf *text, const char *what)
{
    return text->size && memmem(text->text, text->size, what, strlen(what));
}

static void check_log(const struct tc_strbuf *text)
{
    FUZZ_CHECK(!holds(text, "##") && !holds(text, " ::"));
    FUZZ_CHECK(text->size < 2 || memcmp(text->text, "::", 2) != 0);
}

/* What stands between entities has none of the characters that end a text or an attribute. */
static void check_xml(const struct tc_strbuf *text)
{
    for (size_t i = 0; i < text->size; i++) {
        char c = text->text[i];

        FUZZ_CHECK(c && c != '<' && c != '>' && c != '"' && c != '\'' && c != '\n' && c != '\r' &&
                   c != '\t');
        if (c == '&')
            FUZZ_CHECK(strchr("alq#g", text->text[i + 1]) && memchr(text->text + i, ';', 6));
    }
}

/* Nothing of a text is lost: read back, it is the same, but that U+FFFD stands for other bytes. */
static void check_json(const struct tc_strbuf *json, const uint8_t *data, size_t size)
{
    struct tc_json *node = NULL;
    struct tc_strbuf again = TC_STRBUF_INIT;
    const char *text = (const char *)data, *end = text + size;

    tc_strbuf_reserve(&again, 3 * size);
    FUZZ_CHECK(tc_json_parse(json->text, json->size, &node, NULL) == TC_OK);
    while (text < end) {
        size_t n = tc_utf8_size(text, end);
        tc_strbuf_add(&again, n ? text : "\xef\xbf\xbd", n ? n : 3);
        text += n ? n : 1;
    }
    if (size && !memchr(data, 0, size)) /* cJSON's texts end with a zero byte */
        FUZZ_CHECK(!strcmp(tc_json_text(node), again.text));
    tc_strbuf_release(&again);
    tc_json_free(node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_strbuf out[TC_SAFE_SCRIPT + 1] = {0};

    for (int sink = 0; sink < TC_SAFE_SCRIPT; sink++) {
        tc_safe_add(&out[sink], (enum tc_safe)sink, (const char *)data, size);
        if (out[sink].size)
            check_characters(&out[sink]);
    }
    tc_safe_add(&out[TC_SAFE_SCRIPT], TC_SAFE_SCRIPT, out[TC_SAFE_JSON].text,
                out[TC_SAFE_JSON].size);
    check_log(&out[TC_SAFE_LINE]);
    check_log(&out[TC_SAFE_GITHUB]);
    check_log(&out[TC_SAFE_GITHUB_PROPERTY]);
    FUZZ_CHECK(!holds(&out[TC_SAFE_GITHUB], "%0A::")); /* a newline once it is read */
    FUZZ_CHECK(!holds(&out[TC_SAFE_GITHUB_PROPERTY], ":") &&
               !holds(&out[TC_SAFE_GITHUB_PROPERTY], ","));
    check_xml(&out[TC_SAFE_XML]);
    FUZZ_CHECK(!holds(&out[TC_SAFE_JSON], "##") && !holds(&out[TC_SAFE_SCRIPT], "<"));
    check_json(&out[TC_SAFE_JSON], data, size);
    check_json(&out[TC_SAFE_SCRIPT], data, size);
    for (int sink = 0; sink <= TC_SAFE_SCRIPT; sink++)
        tc_strbuf_release(&out[sink]);
    return 0;
}
