/* SPDX-License-Identifier: Apache-2.0 */
/*
 * junit.c - JUnit XML: a test case for each invariant, a failure for each finding
 *
 * What follows from a finding is skipped, with its sentence.
 */
#include "report/report.h"

#include "base/safe.h"
#include "report/finding_report.h"

static void add_attribute(struct tc_strbuf *out, const char *name, const char *text)
{
    tc_strbuf_addf(out, " %s=\"", name);
    tc_safe_adds(out, TC_SAFE_XML, text);
    tc_strbuf_addc(out, '"');
}

/* The finding of a violation, or NULL. */
static const struct tc_finding *finding_of(const struct tc_report_input *input,
                                           const struct tc_violation *v)
{
    for (size_t i = 0; i < input->findings.n; i++)
        for (size_t j = 0; j < input->findings.items[i].n; j++)
            if (input->findings.items[i].items[j] == v)
                return &input->findings.items[i];
    return NULL;
}

static void add_failure(const struct tc_report_input *input, struct tc_strbuf *out,
                        const struct tc_violation *v)
{
    const struct tc_finding *f = finding_of(input, v);
    struct tc_strbuf block = TC_STRBUF_INIT, sentence = TC_STRBUF_INIT;

    tc_finding_sentence(f, &sentence);
    if (f->items[0] != v) {
        tc_strbuf_addf(&block, "%s; it follows from: %s", v->seen, sentence.text);
        tc_strbuf_adds(out, "<skipped");
        add_attribute(out, "message", block.text);
        tc_strbuf_adds(out, "/>");
    } else {
        tc_strbuf_adds(out, "<failure");
        add_attribute(out, "message", sentence.text);
        add_attribute(out, "type", v->relation->name);
        tc_strbuf_addc(out, '>');
        tc_report_text_finding(f, false, input->config->n_traces > 1, &block);
        tc_safe_add(out, TC_SAFE_XML, block.text, block.size);
        tc_strbuf_adds(out, "</failure>");
    }
    tc_strbuf_release(&sentence);
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
        add_failure(input, out, j->violation);
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
    const unsigned long long failures = input->findings.n;
    unsigned long long skipped =
        r->n_not_triggered + r->n_unchecked + r->n_suppressed + r->n_failed - failures;

    tc_strbuf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    tc_strbuf_addf(out,
                   "  <testsuite name=\"traincheck\" tests=\"%llu\" failures=\"%llu\" errors=\"0\" "
                   "skipped=\"%llu\">\n",
                   (unsigned long long)r->n_invariants, failures, skipped);
    for (size_t i = 0; i < tc_engine_count(input->engine); i++)
        add_case(input, tc_engine_judgement(input->engine, i), out);
    tc_strbuf_adds(out, "  </testsuite>\n</testsuites>\n");
}

const struct tc_report tc_report_junit = {
    .name = "junit",
    .file = "junit.xml",
    .print = print,
};
