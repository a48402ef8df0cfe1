/*
 * junit.c - JUnit XML: a test case for each invariant
 */
#include "report/report.h"

#include <string.h>

#include "base/banned.h"
#include "base/utf8.h"

/* XML 1.0 has no place at all for most control characters, nor for U+FFFE and U+FFFF. */
static bool is_in_xml(const char *p, size_t size)
{
    unsigned char c = (unsigned char)*p;

    if (size == 1)
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    return size && !(size == 3 && !memcmp(p, "\xef\xbf", 2) && (unsigned char)p[2] >= 0xbe);
}

static void add_xml(struct tc_strbuf *out, const char *text)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {
        {'&',  "&amp;" },
        {'<',  "&lt;"  },
        {'>',  "&gt;"  },
        {'"',  "&quot;"},
        {'\n', "&#10;" },
        {'\r', "&#13;" },
        {'\t', "&#9;"  },
    };
    const char *end = text + strlen(text);

    while (text < end) {
        size_t size = tc_utf8_size(text, end), i = 0;
        const size_t n = sizeof(entities) / sizeof(*entities);
        while (i < n && entities[i].c != *text)
            i++;
        if (i < n)
            tc_strbuf_adds(out, entities[i].entity);
        else if (is_in_xml(text, size))
            tc_strbuf_add(out, text, size);
        else
            tc_strbuf_adds(out, "\xef\xbf\xbd");
        text += size ? size : 1;
    }
}

static void add_attribute(struct tc_strbuf *out, const char *name, const char *text)
{
    tc_strbuf_addf(out, " %s=\"", name);
    add_xml(out, text);
    tc_strbuf_addc(out, '"');
}

static void add_failure(struct tc_strbuf *out, const struct tc_violation *v)
{
    struct tc_strbuf block = TC_STRBUF_INIT;

    tc_strbuf_adds(out, "<failure");
    add_attribute(out, "message", v->seen);
    add_attribute(out, "type", v->relation->name);
    tc_strbuf_addc(out, '>');
    tc_report_text_violation(v, false, &block);
    add_xml(out, block.text);
    tc_strbuf_adds(out, "</failure>");
    tc_strbuf_release(&block);
}

static void add_case(const struct tc_report_input *input, const struct tc_judgement *j,
                     struct tc_strbuf *out)
{
    const struct tc_invariant *x = j->invariant;
    const char *reason = tc_suppressions_reason(input->suppressions, x->id);
    enum tc_verdict verdict = tc_engine_verdict(j);
    struct tc_strbuf name = TC_STRBUF_INIT;

    tc_strbuf_addf(&name, "%s %s", x->id, x->text ? x->text : "");
    tc_strbuf_adds(out, "    <testcase");
    add_attribute(out, "classname", tc_strtab_text(input->symbols, x->relation));
    add_attribute(out, "name", name.text);
    tc_strbuf_release(&name);
    tc_strbuf_addc(out, '>');
    if (verdict == TC_VERDICT_FAILED && !reason) {
        add_failure(out, j->violation);
    } else if (verdict != TC_VERDICT_PASSED) {
        tc_strbuf_adds(out, "<skipped");
        add_attribute(out, "message", verdict == TC_VERDICT_FAILED ? reason : tc_verdict_reason(j));
        tc_strbuf_adds(out, "/>");
    }
    tc_strbuf_adds(out, "</testcase>\n");
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct tc_check_result *r = input->result;
    unsigned long long skipped = r->n_not_triggered + r->n_unchecked + r->n_suppressed;

    tc_strbuf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    tc_strbuf_addf(out,
                   "  <testsuite name=\"traincheck\" tests=\"%llu\" failures=\"%llu\" errors=\"0\" "
                   "skipped=\"%llu\">\n",
                   (unsigned long long)r->n_invariants, (unsigned long long)r->n_failed, skipped);
    for (size_t i = 0; i < tc_engine_count(input->engine); i++)
        add_case(input, tc_engine_judgement(input->engine, i), out);
    tc_strbuf_adds(out, "  </testsuite>\n</testsuites>\n");
}

const struct tc_report tc_report_junit = {
    .name = "junit",
    .file = "junit.xml",
    .summary = "JUnit XML, a test case for each invariant",
    .print = print,
};
