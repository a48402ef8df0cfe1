/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.c - report.html: one file without network, that shows its own data
 *
 * html/report.html has places for the style, the data and the script, each on a name between two @.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe.h"
#include "report/finding_report.h"
#include "report/html/parts.h"

static const char *const verdicts[] = {
    [TC_VERDICT_FAILED] = "failed",
    [TC_VERDICT_PASSED] = "passed",
    [TC_VERDICT_NOT_TRIGGERED] = "not_triggered",
    [TC_VERDICT_UNCHECKED] = "unchecked",
};

static struct tc_json *invariant(const struct tc_report_input *input, const struct tc_judgement *j)
{
    struct tc_json *object = tc_json_object(), *learned = tc_json_object();
    const struct tc_invariant *x = j->invariant;
    const char *reason = tc_suppressions_reason(input->suppressions, x->id);
    bool is_suppressed = reason && tc_engine_verdict(j) == TC_VERDICT_FAILED;
    const char *why = is_suppressed ? reason : tc_verdict_reason(j);

    tc_json_set_string(object, "id", x->id);
    tc_json_set_string(object, "relation", tc_strtab_text(input->symbols, x->relation));
    tc_json_set_string(object, "text", x->text ? x->text : "");
    tc_json_set_string(object, "verdict",
                       is_suppressed ? "suppressed" : verdicts[tc_engine_verdict(j)]);
    if (*why)
        tc_json_set_string(object, "why", why);
    tc_json_set_number(object, "held", (double)j->held);
    tc_json_set_number(object, "broken", (double)j->broken);
    tc_json_set_number(learned, "held", (double)x->held);
    tc_json_set_number(learned, "pipelines", (double)x->pipelines);
    tc_json_set(object, "learned", learned);
    return object;
}

static struct tc_json *invariants(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < tc_engine_count(input->engine); i++)
        tc_json_append(array, invariant(input, tc_engine_judgement(input->engine, i)));
    return array;
}

static struct tc_json *violations(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->findings.n; i++)
        for (size_t j = 0; j < input->findings.items[i].n; j++)
            tc_json_append(array, tc_evidence_to_json(input, i, j));
    return array;
}

static struct tc_json *findings(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->findings.n; i++)
        tc_json_append(array, tc_finding_to_json(&input->findings.items[i], i + 1));
    return array;
}

static struct tc_json *stretches(const struct tc_track *track)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < track->stretches.n; i++) {
        const struct tc_stretch *s = &track->stretches.items[i];
        struct tc_json *object;

        if (s->first_step < 0)
            continue;
        object = tc_json_object();
        tc_json_set_string(object, "stage", s->stage);
        tc_json_set_number(object, "first_step", (double)s->first_step);
        tc_json_set_number(object, "last_step", (double)s->last_step);
        tc_json_append(array, object);
    }
    return array;
}

/* By trace, rank and file: not in the order in which files were read. */
static int compare_tracks(const void *a_, const void *b_)
{
    const struct tc_track *a = *(const struct tc_track *const *)a_;
    const struct tc_track *b = *(const struct tc_track *const *)b_;
    int order = strcmp(a->trace, b->trace);

    order = order ? order : (a->rank > b->rank) - (a->rank < b->rank);
    return order ? order : strcmp(a->file, b->file);
}

static struct tc_json *timeline(const struct tc_timeline *timeline)
{
    struct tc_json *array = tc_json_array();
    size_t n = timeline->tracks.n;
    const struct tc_track **tracks = tc_calloc(n + 1, sizeof(*tracks));

    for (size_t i = 0; i < n; i++)
        tracks[i] = &timeline->tracks.items[i];
    qsort(tracks, n, sizeof(*tracks), compare_tracks);
    for (size_t i = 0; i < n; i++) {
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "trace", tracks[i]->trace);
        tc_json_set_string(object, "file", tracks[i]->file);
        if (tracks[i]->rank >= 0)
            tc_json_set_number(object, "rank", (double)tracks[i]->rank);
        tc_json_set(object, "stretches", stretches(tracks[i]));
        tc_json_append(array, object);
    }
    tc_free(tracks);
    return array;
}

static void print_data(const struct tc_report_input *input, struct tc_strbuf *out)
{
    struct tc_json *data = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set(data, "summary", tc_summary_to_json(input));
    tc_json_set_number(data, "refresh_s", (double)input->refresh_s);
    tc_json_set(data, "findings", findings(input));
    tc_json_set(data, "violations", violations(input));
    tc_json_set(data, "timeline", timeline(tc_engine_timeline(input->engine)));
    tc_json_set(data, "invariants", invariants(input));
    tc_json_print(data, &text);
    tc_json_free(data);
    tc_safe_add(out, TC_SAFE_SCRIPT, text.text, text.size);
    tc_strbuf_release(&text);
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const char *from = tc_text_report_html, *next;

    for (; (next = strchr(from, '@')); from = strchr(next + 1, '@') + 1) {
        tc_strbuf_add(out, from, (size_t)(next - from));
        if (!strncmp(next, "@CSS@", 5))
            tc_strbuf_adds(out, tc_text_report_css);
        else if (!strncmp(next, "@JS@", 4))
            tc_strbuf_adds(out, tc_text_report_js);
        else if (!strncmp(next, "@DATA@", 6))
            print_data(input, out);
        else if (input->refresh_s)
            tc_strbuf_addf(out, "<meta http-equiv=\"refresh\" content=\"%u\">", input->refresh_s);
    }
    tc_strbuf_adds(out, from);
}

const struct tc_report tc_report_html = {
    .file = "report.html",
    .summary = "for a browser",
    .print = print,
};
