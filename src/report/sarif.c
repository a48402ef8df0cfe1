/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sarif.c - SARIF 2.1.0, for code scanning: a rule for each relation form, a result for each
 * violation
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static struct tc_json *properties(const struct tc_violation *v, size_t group)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "invariant", v->invariant->id);
    tc_json_set_string(object, "expected", v->invariant->text);
    if (v->step >= 0)
        tc_json_set_number(object, "step", (double)v->step);
    if (v->rank >= 0)
        tc_json_set_number(object, "rank", (double)v->rank);
    tc_json_set_string(object, "trace", v->trace);
    if (group)
        tc_json_set_number(object, "group", (double)group);
    if (v->is_setting)
        tc_json_set_bool(object, "setting", true);
    return object;
}

static void set_message(struct tc_json *result, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s. Expected: %s. First look: %s", v->seen, v->invariant->text, v->hint);
    tc_json_set(result, "message", tc_sarif_message(text.text));
    tc_strbuf_release(&text);
}

static struct tc_json *suppressions(const char *reason)
{
    struct tc_json *array = tc_json_array(), *object = tc_json_object();

    tc_json_set_string(object, "kind", "external");
    tc_json_set_string(object, "justification", reason);
    tc_json_append(array, object);
    return array;
}

/* A changed setting of the script broke no law: scanners count it apart. */
static const char *level_of(const struct tc_violation *v, bool is_head)
{
    if (v->is_setting)
        return "note";
    return is_head ? "error" : "warning";
}

/* group 0: suppressed. */
static struct tc_json *result_of(const struct tc_report_input *input, const struct tc_violation *v,
                                 size_t group, bool is_head)
{
    struct tc_json *result = tc_json_object();

    tc_json_set_string(result, "ruleId", v->relation->name);
    tc_json_set_number(result, "ruleIndex", (double)rule_number(v->relation));
    tc_json_set_string(result, "level", level_of(v, is_head));
    set_message(result, v);
    tc_json_set_number(result, "occurrenceCount", (double)v->count);
    tc_json_set(result, "locations", tc_sarif_locations(v->at));
    tc_json_set(result, "partialFingerprints", fingerprint(input, v));
    if (!group)
        tc_json_set(result, "suppressions",
                    suppressions(tc_suppressions_reason(input->suppressions, v->invariant->id)));
    tc_json_set(result, "properties", properties(v, group));
    return result;
}

static struct tc_json *results(const struct tc_report_input *input)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < input->groups.n; i++)
        for (size_t j = 0; j < input->groups.items[i].n; j++)
            tc_json_append(array, result_of(input, input->groups.items[i].items[j], i + 1, j == 0));
    for (size_t i = 0; i < input->n_suppressed; i++)
        tc_json_append(array, result_of(input, input->suppressed[i], 0, false));
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
    .summary = "SARIF 2.1.0, for code scanning",
    .print = print,
};
