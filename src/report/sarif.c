/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sarif.c - SARIF 2.1.0, for code scanning: a rule for each relation form, a result for each
 * violation
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <traincheck/version.h>

static struct tc_json *message(const char *text)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "text", text);
    return object;
}

/* RFC 3986: what may not stand in a path is written as its bytes in hexadecimal. */
static void add_uri(struct tc_strbuf *out, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-._~/!$&'()*+,;=@";

    if (*path == '/')
        tc_strbuf_adds(out, "file://");
    for (; *path; path++) {
        if (strchr(plain, *path))
            tc_strbuf_addc(out, *path);
        else
            tc_strbuf_addf(out, "%%%02X", (unsigned char)*path);
    }
}

static struct tc_json *location(const char *at)
{
    struct tc_strbuf path = TC_STRBUF_INIT, uri = TC_STRBUF_INIT;
    struct tc_json *object, *physical, *artifact, *region;
    int64_t line;

    if (!tc_report_location(at, &path, &line))
        return NULL;
    object = tc_json_object();
    physical = tc_json_object();
    artifact = tc_json_object();
    region = tc_json_object();
    add_uri(&uri, path.text);
    tc_json_set_string(artifact, "uri", uri.text);
    tc_json_set_number(region, "startLine", (double)line);
    tc_json_set(physical, "artifactLocation", artifact);
    tc_json_set(physical, "region", region);
    tc_json_set(object, "physicalLocation", physical);
    tc_strbuf_release(&path);
    tc_strbuf_release(&uri);
    return object;
}

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
        tc_json_set(rule, "shortDescription", message(relation->summary));
        tc_json_set(rule, "help", message(relation->hint));
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
    tc_json_set(result, "message", message(text.text));
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
    struct tc_json *result = tc_json_object(), *locations = tc_json_array();
    struct tc_json *place = location(v->at);

    tc_json_set_string(result, "ruleId", v->relation->name);
    tc_json_set_number(result, "ruleIndex", (double)rule_number(v->relation));
    tc_json_set_string(result, "level", level_of(v, is_head));
    set_message(result, v);
    tc_json_set_number(result, "occurrenceCount", (double)v->count);
    if (place)
        tc_json_append(locations, place);
    tc_json_set(result, "locations", locations);
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

static struct tc_json *tool(void)
{
    struct tc_json *object = tc_json_object(), *driver = tc_json_object();

    tc_json_set_string(driver, "name", "TrainCheck");
    tc_json_set_string(driver, "version", TC_VERSION);
    tc_json_set(driver, "rules", rules());
    tc_json_set(object, "driver", driver);
    return object;
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    struct tc_json *log = tc_json_object(), *runs = tc_json_array(), *run = tc_json_object();

    tc_json_set_string(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    tc_json_set_string(log, "version", "2.1.0");
    tc_json_set(run, "tool", tool());
    tc_json_set(run, "results", results(input));
    tc_json_append(runs, run);
    tc_json_set(log, "runs", runs);
    tc_json_print(log, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(log);
}

const struct tc_report tc_report_sarif = {
    .name = "sarif",
    .file = "report.sarif",
    .summary = "SARIF 2.1.0, for code scanning",
    .print = print,
};
