/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_complete.c - what bash, zsh and fish need to complete a tool's options
 *
 * The name of an argument says what completes it: DIR, FILE or PATH, choices
 * with | between, anything else nothing. Words of the option come beside files,
 * or make a list with commas between.
 */
#include "cli/opt_complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/opt_value.h"

enum argument {
    ARGUMENT_OTHER,
    ARGUMENT_DIR,
    ARGUMENT_FILE,
    ARGUMENT_CHOICE,
    ARGUMENT_WORDS
};

static enum argument argument_of(const struct tc_opt *opt)
{
    const char *name = opt->argument ? opt->argument : "";
    if (strchr(name, '|') && opt->kind == TC_OPT_CHOICE)
        return ARGUMENT_CHOICE;
    if (strncmp(name, "DIR", 3) == 0)
        return ARGUMENT_DIR;
    if (strncmp(name, "FILE", 4) == 0 || strcmp(name, "PATH") == 0)
        return ARGUMENT_FILE;
    return opt->words ? ARGUMENT_WORDS : ARGUMENT_OTHER;
}

/* "auto|always|never" with spaces between. */
static void add_choices(struct tc_strbuf *out, const struct tc_opt *opt)
{
    for (const char *p = opt->argument; *p; p++)
        tc_strbuf_addc(out, *p == '|' ? ' ' : *p);
}

/* The text inside of single quotes, each character of `escaped` after a backslash. */
static void add_quoted(struct tc_strbuf *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            tc_strbuf_adds(out, "'\\'");
        else if (strchr(escaped, *text))
            tc_strbuf_addc(out, '\\');
        tc_strbuf_addc(out, *text);
    }
}

/* traincheck-check as the name of a shell function. */
static void add_function(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    tc_strbuf_addc(out, '_');
    for (const char *p = tool->name; *p; p++)
        tc_strbuf_addc(out, *p == '-' ? '_' : *p);
}

static void bash_value(struct tc_strbuf *out, const struct tc_opt *opt)
{
    if (opt->letter)
        tc_strbuf_addf(out, "    -%c | ", opt->letter);
    else
        tc_strbuf_adds(out, "    ");
    tc_strbuf_addf(out, "--%s) mapfile -t COMPREPLY < <(compgen ", opt->name);
    switch (argument_of(opt)) {
    case ARGUMENT_DIR:
        tc_strbuf_adds(out, "-d");
        break;
    case ARGUMENT_FILE:
        tc_strbuf_adds(out, "-f");
        if (opt->words)
            tc_strbuf_addf(out, " -W '%s'", opt->words);
        break;
    case ARGUMENT_CHOICE:
        tc_strbuf_adds(out, "-W '");
        add_choices(out, opt);
        tc_strbuf_addc(out, '\'');
        break;
    case ARGUMENT_WORDS: /* what follows the last comma is completed, what stands before it kept */
        tc_strbuf_addf(out, "-W '%s' -P \"${cur%%\"${cur##*,}\"}\" -- \"${cur##*,}\"); return ;;\n",
                       opt->words);
        return;
    case ARGUMENT_OTHER:
        tc_strbuf_adds(out, "-W ''");
        break;
    }
    tc_strbuf_adds(out, " -- \"$cur\"); return ;;\n");
}

static void bash(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    const struct tc_opt *opt;
    add_function(out, tool);
    tc_strbuf_adds(out, "()\n{\n"
                        "    local cur=${COMP_WORDS[COMP_CWORD]}\n"
                        "    case ${COMP_WORDS[COMP_CWORD - 1]} in\n");
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->help && tc_opt_takes_value(opt))
            bash_value(out, opt);
    tc_strbuf_adds(out, "    esac\n    if [[ $cur == -* ]]; then\n"
                        "        mapfile -t COMPREPLY < <(compgen -W '");
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->help)
            tc_strbuf_addf(out, "%s--%s", i ? " " : "", opt->name);
    tc_strbuf_adds(out, "' -- \"$cur\")\n    else\n"
                        "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    fi\n}\n"
                        "complete -o filenames -F ");
    add_function(out, tool);
    tc_strbuf_addf(out, " %s\n", tool->name);
}

static void zsh_spec(struct tc_strbuf *out, const struct tc_opt *opt, const char *spelled)
{
    bool repeats = opt->kind == TC_OPT_LIST || opt->kind == TC_OPT_NAMES;
    tc_strbuf_addf(out, "    '%s%s[", repeats ? "*" : "", spelled);
    add_quoted(out, opt->help, "[]:\\");
    tc_strbuf_addc(out, ']');
    if (tc_opt_takes_value(opt)) {
        tc_strbuf_addc(out, ':');
        add_quoted(out, opt->argument, ":\\");
        tc_strbuf_addc(out, ':');
    }
    switch (argument_of(opt)) {
    case ARGUMENT_DIR:
        tc_strbuf_adds(out, "_files -/");
        break;
    case ARGUMENT_FILE:
        if (opt->words)
            tc_strbuf_addf(out, "{_alternative \"sets:set:(%s)\" \"files:file:_files\"}",
                           opt->words);
        else
            tc_strbuf_adds(out, "_files");
        break;
    case ARGUMENT_CHOICE:
        tc_strbuf_addc(out, '(');
        add_choices(out, opt);
        tc_strbuf_addc(out, ')');
        break;
    case ARGUMENT_WORDS:
        tc_strbuf_addf(out, "_values -s , %s %s", opt->argument, opt->words);
        break;
    case ARGUMENT_OTHER:
        break;
    }
    tc_strbuf_adds(out, "' \\\n");
}

static void zsh(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    const struct tc_opt *opt;
    char spelled[64];
    tc_strbuf_addf(out, "#compdef %s\n_arguments -s \\\n", tool->name);
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++) {
        if (!opt->help)
            continue;
        snprintf(spelled, sizeof(spelled), "-%c", opt->letter);
        if (opt->letter)
            zsh_spec(out, opt, spelled);
        snprintf(spelled, sizeof(spelled), "--%s%s", opt->name, tc_opt_takes_value(opt) ? "=" : "");
        zsh_spec(out, opt, spelled);
    }
    tc_strbuf_adds(out, "    '*:file:_files'\n");
}

static void fish(struct tc_strbuf *out, const struct tc_opt_tool *tool)
{
    const struct tc_opt *opt;
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++) {
        if (!opt->help)
            continue;
        tc_strbuf_addf(out, "complete -c %s -l %s", tool->name, opt->name);
        if (opt->letter)
            tc_strbuf_addf(out, " -s %c", opt->letter);
        if (argument_of(opt) == ARGUMENT_CHOICE) {
            tc_strbuf_adds(out, " -x -a '");
            add_choices(out, opt);
            tc_strbuf_addc(out, '\'');
        } else if (argument_of(opt) == ARGUMENT_DIR) {
            tc_strbuf_adds(out, " -x -a '(__fish_complete_directories)'");
        } else if (tc_opt_takes_value(opt)) {
            tc_strbuf_adds(out, argument_of(opt) == ARGUMENT_FILE ? " -r" : " -x");
            if (opt->words)
                tc_strbuf_addf(out, " -a '%s'", opt->words);
        }
        tc_strbuf_adds(out, " -d '");
        add_quoted(out, opt->help, "\\");
        tc_strbuf_adds(out, "'\n");
    }
}

enum tc_status tc_opt_completion(const struct tc_opt_tool *tool, const char *shell,
                                 struct tc_strbuf *out, struct tc_error *err)
{
    if (strcmp(shell, "bash") == 0)
        bash(out, tool);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out, tool);
    else if (strcmp(shell, "fish") == 0)
        fish(out, tool);
    else
        return tc_error_set(err, TC_E_USAGE, "option '--completion': '%s' is not bash, zsh or fish",
                            shell);
    return TC_OK;
}
