/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.c - one run among many: the object of runs.jsonl, and its line of text
 */
#include "report/fleet.h"

#include <string.h>

#include "base/safe.h"

#define SCHEMA 1

static const char *const names[] = {
#define X(verdict, name) name,
    TC_FLEET_VERDICT_MAP(X)
#undef X
};

const char *tc_fleet_verdict_name(enum tc_fleet_verdict verdict)
{
    return names[verdict];
}

static struct tc_json *begin(const char *trace, enum tc_fleet_verdict verdict, int status)
{
    struct tc_json *run = tc_json_object();

    tc_json_set_string(run, "traincheck", "run");
    tc_json_set_number(run, "schema", SCHEMA);
    tc_json_set_string(run, "run", trace);
    tc_json_set_string(run, "verdict", names[verdict]);
    tc_json_set_number(run, "status", status);
    return run;
}

static enum tc_fleet_verdict verdict_of(const struct tc_check_result *r)
{
    if (r->n_failed)
        return TC_FLEET_FAILED;
    return r->damaged || r->n_passed + r->n_suppressed == 0 ? TC_FLEET_UNJUDGED : TC_FLEET_PASSED;
}

static void add_first(struct tc_json *run, const struct tc_json *finding)
{
    static const char *const keys[] = {"kind", "sentence", "at", "when", "step", "rank"};
    struct tc_json *first = tc_json_object();

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (tc_json_get(finding, keys[i]))
            tc_json_set(first, keys[i], tc_json_copy(tc_json_get(finding, keys[i])));
    tc_json_set(run, "first", first);
}

struct tc_json *tc_fleet_run(const char *trace, const char *script, int status,
                             const struct tc_check_result *r, const struct tc_json *first,
                             const char *reports)
{
    struct tc_json *run = begin(trace, verdict_of(r), status);
    const struct {
        const char *key;
        uint64_t n;
    } counts[] = {
        {"findings",      r->n_findings     },
        {"failed",        r->n_failed       },
        {"passed",        r->n_passed       },
        {"not_triggered", r->n_not_triggered},
        {"unchecked",     r->n_unchecked    },
        {"suppressed",    r->n_suppressed   },
        {"steps",         r->n_windows      },
    };

    if (*script)
        tc_json_set_string(run, "script", script);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        tc_json_set_number(run, counts[i].key, (double)counts[i].n);
    tc_json_set_number(run, "exit", r->exit_status);
    tc_json_set_bool(run, "damaged", r->damaged);
    if (first)
        add_first(run, first);
    tc_json_set_string(run, "reports", reports);
    return run;
}

struct tc_json *tc_fleet_unread(const char *trace, int status, const char *error)
{
    struct tc_json *run = begin(trace, TC_FLEET_UNREAD, status);

    tc_json_set_string(run, "error", error);
    return run;
}

enum tc_fleet_verdict tc_fleet_verdict(const struct tc_json *run)
{
    const char *name = tc_json_text(tc_json_get(run, "verdict"));

    for (unsigned i = 0; name && i < TC_FLEET_N_VERDICTS; i++)
        if (!strcmp(name, names[i]))
            return (enum tc_fleet_verdict)i;
    return TC_FLEET_UNREAD;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void add_part(struct tc_strbuf *out, const char *before, const struct tc_json *node)
{
    const char *text = tc_json_text(node);

    if (!text || !*text)
        return;
    tc_strbuf_adds(out, before);
    tc_safe_adds(out, TC_SAFE_LINE, text);
}

static void add_finding(struct tc_strbuf *out, const struct tc_json *finding)
{
    add_part(out, "  ", tc_json_get(finding, "at"));
    add_part(out, "  ", tc_json_get(finding, "sentence"));
    add_part(out, ", ", tc_json_get(finding, "when"));
}

void tc_fleet_finding(const char *trace, const struct tc_json *finding, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%-8s  ", "finding");
    tc_safe_adds(out, TC_SAFE_LINE, trace);
    add_finding(out, finding);
    tc_strbuf_addc(out, '\n');
}

static void add_first_finding(struct tc_strbuf *out, const struct tc_json *run)
{
    const double n = tc_json_to_number(tc_json_get(run, "findings"), 0);

    add_finding(out, tc_json_get(run, "first"));
    if (n > 1)
        tc_strbuf_addf(out, " (and %.0f more finding%s)", n - 1, n > 2 ? "s" : "");
}

void tc_fleet_text(const struct tc_json *run, struct tc_strbuf *out)
{
    const double status = tc_json_to_number(tc_json_get(run, "exit"), 0);

    tc_strbuf_addf(out, "%-8s", names[tc_fleet_verdict(run)]);
    add_part(out, "  ", tc_json_get(run, "run"));
    add_first_finding(out, run);
    add_part(out, "  ", tc_json_get(run, "error"));
    if (tc_json_to_bool(tc_json_get(run, "damaged"), false))
        tc_strbuf_adds(out, "  the trace is damaged");
    if (status != 0)
        tc_strbuf_addf(out, "  the run itself failed: exit status %.0f", status);
    tc_strbuf_addc(out, '\n');
}
