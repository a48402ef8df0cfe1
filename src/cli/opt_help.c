/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_help.c - --help and --version as text, from the tool's table
 *
 * 80 columns whatever the terminal, so that pages and tests can quote it; the man page and
 * completion are made by others of the same rows. A row without help is not shown.
 */
#include "cli/opt_help.h"

#include <string.h>

#include <traincheck/version.h>

#define WIDTH  80
#define INDENT 29 /* where the sentences start */

static void pad(struct tc_strbuf *out, size_t n)
{
    while (n--)
        tc_strbuf_addc(out, ' ');
}

/* The sentence at column INDENT, broken between words; the text before it has used `used` columns.
 */
static void add_wrapped(struct tc_strbuf *out, const char *text, size_t used)
{
    if (used + 2 > INDENT) {
        tc_strbuf_addc(out, '\n');
        used = 0;
    }
    pad(out, INDENT - used);
    size_t column = INDENT;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (column + size > WIDTH && column > INDENT) {
            tc_strbuf_addc(out, '\n');
            pad(out, INDENT);
            column = INDENT;
        }
        tc_strbuf_add(out, text, size);
        column += size + 1;
        text += size;
        text += strspn(text, " ");
        if (*text && column + strcspn(text, " ") <= WIDTH)
            tc_strbuf_addc(out, ' ');
    }
    tc_strbuf_addc(out, '\n');
}

static void add_row(struct tc_strbuf *out, const struct tc_opt *opt)
{
    size_t start = out->size;
    if (opt->letter)
        tc_strbuf_addf(out, "  -%c, --%s", opt->letter, opt->name);
    else
        tc_strbuf_addf(out, "      --%s", opt->name);
    if (opt->argument)
        tc_strbuf_addf(out, " %s", opt->argument);
    add_wrapped(out, opt->help, out->size - start);
}

/* "Usage: name form", and "       name form" for each further line. */
static void add_usage(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    const char *head = "Usage:";
    for (const char *line = tool->usage; *line;) {
        size_t size = strcspn(line, "\n");
        tc_strbuf_addf(out, "%-6s %s %.*s\n", head, tool->name, (int)size, line);
        line += size + (line[size] == '\n');
        head = "";
    }
}

static void add_indented(struct tc_strbuf *out, const char *lines)
{
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        tc_strbuf_addf(out, "  %.*s\n", (int)size, lines);
        lines += size + (lines[size] == '\n');
    }
}

void tc_opt_help(const struct tc_opt_tool *tool, struct tc_strbuf *out)
{
    const struct tc_opt *opt;
    add_usage(out, tool);
    tc_strbuf_addf(out, "%s\n\n", tool->summary);
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->help)
            add_row(out, opt);
    tc_strbuf_addf(out, "\nExamples:\n%s", tool->examples);
    tc_strbuf_adds(out, "\nExit status:\n");
    add_indented(out, tool->exit_codes);
}

void tc_opt_version(const struct tc_opt_tool *tool, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s %s\n", tool->name, TC_VERSION);
    tc_strbuf_addf(out, "schemas: trace %d, invariants %d, violations %d\n", TC_TRACE_SCHEMA,
                   TC_INVARIANT_SCHEMA, TC_VIOLATION_SCHEMA);
    tc_strbuf_addf(out, "built with: %s\n", TC_BUILT_WITH);
    if (tool->version)
        tool->version(out);
}
