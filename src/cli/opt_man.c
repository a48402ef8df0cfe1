/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_man.c - a man page made from a tool's table
 */
#include "cli/opt_man.h"

#include <string.h>

#include <traincheck/version.h>

/* Text for roff: hyphens are minus signs, backslashes stay, no line starts a request. */
static void add_roff(struct tc_strbuf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\''))
            tc_strbuf_adds(out, "\\&");
        if (text[i] == '-' || text[i] == '\\')
            tc_strbuf_addc(out, '\\');
        tc_strbuf_addc(out, text[i] == '\\' ? 'e' : text[i]);
    }
}

static void add_text(struct tc_strbuf *out, const char *text)
{
    add_roff(out, text, strlen(text));
}

static void add_section(struct tc_strbuf *out, const char *title)
{
    tc_strbuf_addf(out, ".SH %s\n", title);
}

static void add_synopsis(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    add_section(out, "SYNOPSIS");
    for (const char *line = tool->usage; *line;) {
        size_t size = strcspn(line, "\n");
        tc_strbuf_adds(out, ".B ");
        add_text(out, tool->name);
        tc_strbuf_addc(out, '\n');
        add_roff(out, line, size);
        tc_strbuf_adds(out, "\n.br\n");
        line += size + (line[size] == '\n');
    }
}

static void add_option(struct tc_strbuf *out, const struct tc_opt *opt)
{
    tc_strbuf_adds(out, ".TP\n");
    if (opt->letter)
        tc_strbuf_addf(out, "\\fB\\-%c\\fR, ", opt->letter);
    tc_strbuf_adds(out, "\\fB\\-\\-");
    add_text(out, opt->name);
    tc_strbuf_adds(out, "\\fR");
    if (opt->argument)
        tc_strbuf_addf(out, " \\fI%s\\fR", opt->argument);
    tc_strbuf_addc(out, '\n');
    add_text(out, opt->help);
    tc_strbuf_adds(out, ".\n");
}

static void add_literal(struct tc_strbuf *out, const char *title, const char *lines)
{
    add_section(out, title);
    tc_strbuf_adds(out, ".nf\n");
    add_text(out, lines);
    tc_strbuf_adds(out, ".fi\n");
}

void tc_opt_man(const struct tc_opt_tool *tool, struct tc_strbuf *out)
{
    const struct tc_opt *opt;
    tc_strbuf_addf(out, ".TH %s 1 \"\" \"TrainCheck %s\" \"TrainCheck\"\n", tool->name, TC_VERSION);
    add_section(out, "NAME");
    add_text(out, tool->name);
    tc_strbuf_adds(out, " \\- ");
    add_text(out, tool->summary);
    tc_strbuf_addc(out, '\n');
    add_synopsis(out, tool);
    add_section(out, "DESCRIPTION");
    add_text(out, tool->description);
    tc_strbuf_addc(out, '\n');
    add_section(out, "OPTIONS");
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->help)
            add_option(out, opt);
    add_literal(out, "EXIT STATUS", tool->exit_codes);
    add_literal(out, "EXAMPLES", tool->examples);
}
