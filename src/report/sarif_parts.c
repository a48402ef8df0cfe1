/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sarif_parts.c - the log, a message, a location of a script's line
 */
#include "report/sarif_parts.h"

#include <string.h>

#include "report/report.h"

struct tc_json *tc_sarif_message(const char *text)
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

struct tc_json *tc_sarif_locations(const char *at)
{
    struct tc_strbuf path = TC_STRBUF_INIT, uri = TC_STRBUF_INIT;
    struct tc_json *array = tc_json_array(), *object, *physical, *artifact, *region;
    int64_t line;

    if (!tc_report_location(at, &path, &line))
        return array;
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
    tc_json_append(array, object);
    tc_strbuf_release(&path);
    tc_strbuf_release(&uri);
    return array;
}

void tc_sarif_print(struct tc_json *driver, struct tc_json *results, struct tc_strbuf *out)
{
    struct tc_json *log = tc_json_object(), *runs = tc_json_array(), *run = tc_json_object(),
                   *tool = tc_json_object();

    tc_json_set_string(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    tc_json_set_string(log, "version", "2.1.0");
    tc_json_set(tool, "driver", driver);
    tc_json_set(run, "tool", tool);
    tc_json_set(run, "results", results);
    tc_json_append(runs, run);
    tc_json_set(log, "runs", runs);
    tc_json_print_line(log, out);
}
