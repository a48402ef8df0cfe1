/* SPDX-License-Identifier: Apache-2.0 */
/*
 * github.c - workflow commands that GitHub shows as annotations at the lines of a script
 */
#include "report/report.h"

#include <string.h>

#include "base/safe.h"
#include "report/compare_report.h"
#include "report/finding_report.h"

static void add_title(const struct tc_finding *f, bool names_run, struct tc_strbuf *out)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, "TrainCheck: ");
    tc_finding_sentence(f, &text);
    const size_t size = text.size;
    tc_strbuf_adds(&text, ", ");
    tc_finding_when(f, &text);
    if (text.size == size + 2)
        text.text[text.size = size] = '\0';
    if (names_run)
        tc_strbuf_addf(&text, ", of %s", f->items[0]->trace);
    tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, text.text, text.size);
    tc_strbuf_release(&text);
}

static void add_message(const struct tc_finding *f, struct tc_strbuf *out)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (f->departure)
        tc_compare_print_quote(f->comparison, f->departure, false, &text);
    if (f->head)
        tc_strbuf_addf(&text, "Expected: %s\n%s%s%s", f->head->invariant->text,
                       *f->head->hint ? "First look: " : "", f->head->hint,
                       *f->head->hint ? "\n" : "");
    for (size_t i = 0; i < sizeof(f->told) / sizeof(*f->told) && f->told[i]; i++)
        tc_strbuf_addf(&text, "So: %s (%s)\n", f->told[i]->seen, f->told[i]->invariant->id);
    tc_strbuf_addf(&text, "%zu broken invariant%s", f->n, f->n == 1 ? "" : "s");
    tc_safe_add(out, TC_SAFE_GITHUB, text.text, text.size);
    tc_strbuf_release(&text);
}

static void print_finding(const struct tc_finding *f, bool names_run, struct tc_strbuf *out)
{
    struct tc_strbuf path = TC_STRBUF_INIT, at = TC_STRBUF_INIT;
    const char *level = tc_finding_level(f);
    int64_t line;

    tc_strbuf_addf(out, "::%s ", strcmp(level, "note") != 0 ? level : "notice");
    tc_finding_at(f, &at);
    if (tc_report_location(at.text ? at.text : "", &path, &line)) {
        tc_strbuf_adds(out, "file=");
        tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, path.text, path.size);
        tc_strbuf_addf(out, ",line=%lld,", (long long)line);
    }
    tc_strbuf_adds(out, "title=");
    add_title(f, names_run, out);
    tc_strbuf_adds(out, "::");
    add_message(f, out);
    tc_strbuf_addc(out, '\n');
    tc_strbuf_release(&path);
    tc_strbuf_release(&at);
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < input->findings.n; i++)
        print_finding(&input->findings.items[i], input->config->n_traces > 1, out);
}

const struct tc_report tc_report_github = {
    .name = "github",
    .print = print,
};
