/* SPDX-License-Identifier: Apache-2.0 */
/*
 * github.c - workflow commands that GitHub shows as annotations at the lines of a script
 */
#include "report/report.h"

#include "base/safe.h"

static void print_group(const struct tc_group *group, bool names_run, struct tc_strbuf *out)
{
    const struct tc_violation *v = group->items[0];
    struct tc_strbuf path = TC_STRBUF_INIT, text = TC_STRBUF_INIT;
    int64_t line;

    tc_strbuf_adds(out, v->is_setting ? "::notice " : "::error ");
    if (tc_report_location(v->at, &path, &line)) {
        tc_strbuf_adds(out, "file=");
        tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, path.text, path.size);
        tc_strbuf_addf(out, ",line=%lld,", (long long)line);
    }
    tc_strbuf_adds(out, "title=");
    tc_strbuf_addf(&text, "TrainCheck %s%s %s", v->is_setting ? "changed setting, " : "",
                   v->relation->name, v->invariant->id);
    if (v->step >= 0)
        tc_strbuf_addf(&text, " at step %lld", (long long)v->step);
    if (names_run)
        tc_strbuf_addf(&text, " of %s", v->trace);
    tc_safe_add(out, TC_SAFE_GITHUB_PROPERTY, text.text, text.size);
    tc_strbuf_adds(out, "::");
    tc_strbuf_reset(&text);
    tc_strbuf_addf(&text, "%s\nExpected: %s\nFirst look: %s", v->seen, v->invariant->text, v->hint);
    if (group->n > 1)
        tc_strbuf_addf(&text, "\nWith it broke %zu other%s.", group->n - 1,
                       group->n == 2 ? "" : "s");
    tc_safe_add(out, TC_SAFE_GITHUB, text.text, text.size);
    tc_strbuf_addc(out, '\n');
    tc_strbuf_release(&path);
    tc_strbuf_release(&text);
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < input->groups.n; i++)
        print_group(&input->groups.items[i], input->config->n_traces > 1, out);
}

const struct tc_report tc_report_github = {
    .name = "github",
    .summary = "annotations of a GitHub workflow, on stdout",
    .print = print,
};
