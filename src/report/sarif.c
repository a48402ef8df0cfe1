/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sarif.c - SARIF 2.1.0, for code scanning: a rule for each relation form, a result for each
 * finding
 *
 * A changed setting of the script broke no law, so its level is note. Suppressed violations are
 * results with their reason. The fingerprint is that of the invariant, not of the step or the rank.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/finding_report.h"
#include "report/sarif_parts.h"
#include <traincheck/version.h>

static size_t rule_number(const struct tc_relation *relation)
{
    size_t i = 0;

    while (tc_relation_judged(i) != relation)
        i++;
    return i;
}

static struct tc_json *rules(void)
{
    struct tc_json *array = tc_json_array();
    const struct tc_relation *relation;

    for (size_t i = 0; (relation = tc_relation_judged(i)); i++) {
        struct tc_json *rule = tc_json_object();
        tc_json_set_string(rule, "id", relation->name);
        tc_json_set(rule, "shortDescription", tc_sarif_message(relation->summary));
        if (relation->hint)
            tc_json_set(rule, "help", tc_sarif_message(relation->hint));
        tc_json_append(array, rule);
    }
    return array;
}

/* The invariant, whatever step or rank broke it: what the next run is compared by. */
static struct tc_json *fingerprint(const struct tc_report_input *input,
                                   const struct tc_violation *v)
{
    struct tc_json *object = tc_json_object();
    char text[32];

    snprintf(text, sizeof(text), "%016" PRIx64, tc_invariant_digest(v->invariant, input->symbols));
    tc_json_set_string(object, "invariant/v1", text);
    return object;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void set_message(struct tc_json *result, const struct tc_finding *f)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_finding_sentence(f, &text);
    if (f->head)
        tc_strbuf_addf(&text, ". Expected: %s%s%s", f->head->invariant->text,
                       *f->head->hint ? ". First look: " : "", f->head->hint);
    for (size_t i = 0; i < sizeof(f->told) / sizeof(*f->told) && f->told[i]; i++)
        tc_strbuf_addf(&text, ". So: %s", f->told[i]->seen);
    tc_json_set(result, "message", tc_sarif_message(text.text));
    tc_strbuf_release(&text);
}

static void set_places(struct tc_json *result, const struct tc_finding *f)
{
    struct tc_strbuf at = TC_STRBUF_INIT;

    tc_finding_at(f, &at);
    tc_json_set(result, "locations", tc_sarif_locations(at.text ? at.text : ""));
    tc_strbuf_release(&at);
}

/* The rule is that of the violation that comes first; a changed setting of the script broke no law:
 * scanners count it apart. */
static struct tc_json *result_of(const struct tc_report_input *input, size_t i)
{
    const struct tc_finding *f = &input->findings.items[i];
    const struct tc_violation *v = f->items[0];
    struct tc_json *result = tc_json_object();

    tc_json_set_string(result, "ruleId", v->relation->name);
    tc_json_set_number(result, "ruleIndex", (double)rule_number(v->relation));
    tc_json_set_string(result, "level", tc_finding_level(f));
    set_message(result, f);
    set_places(result, f);
    tc_json_set(result, "partialFingerprints", fingerprint(input, v));
    tc_json_set(result, "properties", tc_finding_to_json(f, i + 1));
    return result;
}

/* ---- what is suppressed -----------------------------------------------------------------------
 */

static struct tc_json *suppressions(const char *reason)
{
    struct tc_json *array = tc_json_array(), *object = tc_json_object();

    tc_json_set_string(object, "kind", "external");
    tc_json_set_string(object, "justification", reason);
    tc_json_append(array, object);
    return array;
}

static struct tc_json *suppressed(const struct tc_report_input *input, const struct tc_violation *v)
{
    struct tc_json *result = tc_json_object();

    tc_json_set_string(result, "ruleId", v->relation->name);
    tc_json_set_number(result, "ruleIndex", (double)rule_number(v->relation));
    tc_json_set_string(result, "level", "warning");
    tc_json_set(result, "message", tc_sarif_message(v->seen));
    tc_json_set(result, "locations", tc_sarif_locations(v->at));
    tc_json_set(result, "partialFingerprints", fingerprint(input, v));
    tc_json_set(result, "suppressions",
                suppressions(tc_suppressions_reason(input->suppressions, v->invariant->id)));
    return result;
}

static struct tc_json *results(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->findings.n; i++)
        tc_json_append(array, result_of(input, i));
    for (size_t i = 0; i < input->n_suppressed; i++)
        tc_json_append(array, suppressed(input, input->suppressed[i]));
    return array;
}

static struct tc_json *driver(void)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "name", "TrainCheck");
    tc_json_set_string(object, "version", TC_VERSION);
    tc_json_set(object, "rules", rules());
    return object;
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    tc_sarif_print(driver(), results(input), out);
}

const struct tc_report tc_report_sarif = {
    .name = "sarif",
    .file = "report.sarif",
    .print = print,
};
