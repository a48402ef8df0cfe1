/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_opt.c - option tables: what command lines set, and what is refused
 */
#include "../unit/unit.h"

#include "cli/opt.h"

struct config {
    const char *output;
    bool quiet, dashes;
    unsigned verbose, jobs, color;
    uint64_t size;
    struct tc_opt_list files, names, rest;
};

#define AT(member) offsetof(struct config, member)

static bool is_file(const char *argument)
{
    return strncmp(argument, "file", 4) == 0;
}

static const struct tc_opt options[] = {
    TC_OPT_VALUE(STRING, "output", 'o', "FILE", AT(output), "where to"),
    TC_OPT_WORDS(LIST, "files", 'f', "FILE...", AT(files), "files", is_file, "@all @few"),
    TC_OPT_VALUE(NAMES, "names", 0, "NAME[,..]", AT(names), "names"),
    TC_OPT_SWITCH(FLAG, "quiet", 'q', AT(quiet), "quiet"),
    TC_OPT_SWITCH(COUNT, "verbose", 'v', AT(verbose), "verbose"),
    TC_OPT_VALUE(UINT, "jobs", 'j', "N", AT(jobs), "threads"),
    TC_OPT_VALUE(SIZE, "buffer-size", 0, "SIZE", AT(size), "bytes"),
    TC_OPT_VALUE(CHOICE, "color", 0, "auto|always|never", AT(color), "colours"),
    TC_OPT_LAST(STRING, "module", 'm', "MODULE", AT(output), "run a module"),
    TC_OPT_SPELLING(STRING, "out", 0, "FILE", AT(output)),
    TC_OPT_END,
};

static struct tc_opt_tool tool = {
    .name = "tool",
    .summary = "Summary.",
    .description = "Description.",
    .usage = "[OPTION]... FILE...",
    .examples = "  tool x\n  tool y\n",
    .exit_codes = "0  fine\n",
    .options = options,
    .rest = AT(rest),
    .dashes = AT(dashes),
};

static struct config config;
static struct tc_arena arena;
static struct tc_opt_parser parser;
static struct tc_strbuf answer;
static struct tc_error err;

/* Parse words separated by spaces. */
static enum tc_status parse(const char *line)
{
    static char text[256];
    static char *argv[32] = {(char *)(uintptr_t) "tool"};
    int argc = 1;
    snprintf(text, sizeof(text), "%s", line);
    for (char *p = text, *word; (word = strsep(&p, " "));)
        argv[argc++] = word;
    config = (struct config){0};
    err = (struct tc_error){TC_OK, ""};
    parser = (struct tc_opt_parser){&tool, &config, &arena, 0, 0};
    return tc_opt_parse(&parser, *line ? argc : 1, argv, &answer, &err);
}

static int clean_up(void **state)
{
    (void)state;
    tc_arena_release(&arena);
    tc_strbuf_release(&answer);
    tool.first_argument = false;
    return 0;
}

static void values_may_be_joined_or_follow(void **state)
{
    static const char *const lines[] = {"--output x", "--output=x", "-o x",
                                        "-ox",        "-qox",       "-qvo x"};
    (void)state;
    for (size_t i = 0; i < N_OF(lines); i++) {
        assert_int_equal(parse(lines[i]), TC_OK);
        assert_string_equal(config.output, "x");
    }
    assert_int_equal(parse("--output="), TC_OK);
    assert_string_equal(config.output, "");
    assert_int_equal(parse("--out x"), TC_OK);
    assert_string_equal(config.output, "x");
}

static void kinds_are_stored(void **state)
{
    (void)state;
    assert_int_equal(parse("-qvv -v -j 12 --buffer-size 64M --color never"), TC_OK);
    assert_true(config.quiet);
    assert_int_equal(config.verbose, 3);
    assert_int_equal(config.jobs, 12);
    assert_int_equal(config.size, 64 << 20);
    assert_int_equal(config.color, 2);
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *line;
        uint64_t size;
    } cases[] = {
        {"--buffer-size 4096", 4096             },
        {"--buffer-size 3k",   3 << 10          },
        {"--buffer-size 2MiB", 2 << 20          },
        {"--buffer-size 1GB",  1 << 30          },
        {"--buffer-size 5T",   UINT64_C(5) << 40},
    };
    static const char *const bad[] = {"--buffer-size 5X", "--buffer-size M", "--buffer-size 1Mi",
                                      "--buffer-size -1", "--buffer-size 99999999999T"};
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        assert_int_equal(parse(cases[i].line), TC_OK);
        assert_true(config.size == cases[i].size);
    }
    for (size_t i = 0; i < N_OF(bad); i++)
        assert_int_equal(parse(bad[i]), TC_E_USAGE);
}

static void lists_grow(void **state)
{
    (void)state;
    assert_int_equal(parse("-f a -f file1 file2 b --names x,y --names=z,,w, -f c"), TC_OK);
    assert_int_equal(config.files.n, 4);
    assert_string_equal(config.files.items[2], "file2");
    assert_string_equal(config.files.items[3], "c");
    assert_int_equal(config.names.n, 4);
    assert_string_equal(config.names.items[3], "w");
    assert_int_equal(config.rest.n, 1);
    assert_string_equal(config.rest.items[0], "b");
}

static void long_lists_keep_their_order(void **state)
{
    (void)state;
    assert_int_equal(parse("a b c d e f g h i j k l m n o p q r s t"), TC_OK);
    assert_int_equal(config.rest.n, 20);
    assert_string_equal(config.rest.items[19], "t");
}

static void options_end(void **state)
{
    (void)state;
    assert_int_equal(parse("a -q -- -v - -- --nothing"), TC_OK);
    assert_true(config.quiet && config.dashes);
    assert_int_equal(config.verbose, 0);
    assert_int_equal(config.rest.n, 5);
    assert_string_equal(config.rest.items[4], "--nothing");

    assert_int_equal(parse("-m package -q"), TC_OK);
    assert_false(config.quiet);
    assert_string_equal(config.rest.items[0], "-q");

    tool.first_argument = true;
    assert_int_equal(parse("-q train.py -v -- x"), TC_OK);
    assert_int_equal(config.verbose, 0);
    assert_false(config.dashes);
    assert_int_equal(config.rest.n, 4);
}

static void mistakes_are_named(void **state)
{
    static const char *const cases[][2] = {
        {"--outputs x",   "unknown option '--outputs': did you mean '--output'?" },
        {"--ouptut=x",    "unknown option '--ouptut': did you mean '--output'?"  },
        {"--buf 3",       "unknown option '--buf': did you mean '--buffer-size'?"},
        {"--vresion",     "unknown option '--vresion': did you mean '--version'?"},
        {"--frobnicate",  "unknown option '--frobnicate'"                        },
        {"-x",            "unknown option '-x'"                                  },
        {"-qx",           "unknown option '-x'"                                  },
        {"--output",      "option '--output' needs its argument FILE"            },
        {"-qo",           "option '--output' needs its argument FILE"            },
        {"--quiet=1",     "option '--quiet' takes no argument"                   },
        {"-j 1x",         "option '--jobs': '1x' is not a whole number"          },
        {"-j 4294967296", "option '--jobs': '4294967296' is not a whole number"  },
        {"--color red",   "option '--color': 'red' is not auto|always|never"     },
        {"--color a",     "option '--color': 'a' is not auto|always|never"       },
    };
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        assert_int_equal(parse(cases[i][0]), TC_E_USAGE);
        assert_string_equal(err.text, cases[i][1]);
    }
}

static void files_give_way_to_the_command_line(void **state)
{
    (void)state;
    assert_int_equal(parse("-o mine"), TC_OK);
    assert_int_equal(tc_opt_from_file(&parser, "output", "theirs", &err), TC_OK);
    assert_int_equal(tc_opt_from_file(&parser, "out", "theirs", &err), TC_OK);
    assert_string_equal(config.output, "mine");
    assert_int_equal(tc_opt_from_file(&parser, "buffer_size", "3K", &err), TC_OK);
    assert_int_equal(config.size, 3072);
    assert_int_equal(tc_opt_from_file(&parser, "names", "a", &err), TC_OK);
    assert_int_equal(tc_opt_from_file(&parser, "names", "b", &err), TC_OK);
    assert_int_equal(config.names.n, 2);
    assert_int_equal(tc_opt_from_file(&parser, "quiet", NULL, &err), TC_OK);
    assert_true(config.quiet);
}

static void files_are_checked(void **state)
{
    (void)state;
    assert_int_equal(parse(""), TC_OK);
    assert_int_equal(tc_opt_from_file(&parser, "quite", NULL, &err), TC_E_USAGE);
    assert_string_equal(err.text, "unknown option 'quite': did you mean 'quiet'?");
    assert_int_equal(tc_opt_from_file(&parser, "help", NULL, &err), TC_E_USAGE);
    assert_int_equal(tc_opt_from_file(&parser, "quiet", "maybe", &err), TC_E_USAGE);
    assert_int_equal(tc_opt_from_file(&parser, "output", NULL, &err), TC_E_USAGE);
}

static void help_fits_the_screen(void **state)
{
    (void)state;
    assert_int_equal(parse("--nothing --help"), TC_E_USAGE);
    assert_int_equal(parse("-q --help --nothing"), TC_END);
    assert_non_null(strstr(answer.text, "Usage: tool [OPTION]... FILE...\n"));
    assert_non_null(strstr(answer.text, "  -o, --output FILE"));
    assert_null(strstr(answer.text, "--out "));
    for (const char *line = answer.text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(values_may_be_joined_or_follow, clean_up),
        cmocka_unit_test_teardown(kinds_are_stored, clean_up),
        cmocka_unit_test_teardown(sizes_have_units, clean_up),
        cmocka_unit_test_teardown(lists_grow, clean_up),
        cmocka_unit_test_teardown(long_lists_keep_their_order, clean_up),
        cmocka_unit_test_teardown(options_end, clean_up),
        cmocka_unit_test_teardown(mistakes_are_named, clean_up),
        cmocka_unit_test_teardown(files_give_way_to_the_command_line, clean_up),
        cmocka_unit_test_teardown(files_are_checked, clean_up),
        cmocka_unit_test_teardown(help_fits_the_screen, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
