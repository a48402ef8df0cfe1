/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_collect.c - completes the options of traincheck-collect, from the command line and a file,
 * and runs
 *
 * What stands on the command line wins over the file. Nothing is refused that may be meant for the
 * script: a hint is all.
 */
#include "collect.h"

#include <string.h>

#include "cli/opt_value.h"
#include "collect/python.h"

void collect_version(struct tc_strbuf *out)
{
    struct tc_python python = {0};
    struct tc_error err;
    if (tc_python_find(NULL, &python, &err) != TC_OK)
        tc_strbuf_addf(out, "python: none: %s\n", err.text);
    else
        tc_strbuf_addf(out, "python: %s, %s, %s\n", python.version, python.program,
                       python.library ? python.library : "no shared library");
    tc_python_release(&python);
}

static enum tc_status set_from_file(void *parser, const char *name, const char *value,
                                    struct tc_error *err)
{
    if (strcmp(name, "config") == 0)
        return tc_error_set(err, TC_E_USAGE, "option 'config' has no meaning in a config file");
    return tc_opt_from_file(parser, name, value, err);
}

/* first, then what stood on the command line */
static void put_first(struct collect_options *options, const char *first, struct tc_arena *arena)
{
    struct tc_opt_list old = options->target;
    options->target = (struct tc_opt_list){0};
    tc_opt_list_add(&options->target, first, arena);
    for (size_t i = 0; i < old.n; i++)
        tc_opt_list_add(&options->target, old.items[i], arena);
}

static void choose_target(struct collect_options *options, struct tc_arena *arena)
{
    struct tc_collect_config *config = &options->config;
    config->form = options->dashes ? TC_COLLECT_COMMAND : TC_COLLECT_SCRIPT;
    if (options->module) {
        config->form = TC_COLLECT_MODULE;
        put_first(options, options->module, arena);
    } else if (options->shscript) {
        config->form = TC_COLLECT_COMMAND;
        put_first(options, options->shscript, arena);
        put_first(options, "bash", arena);
    } else if (options->pyscript) {
        put_first(options, options->pyscript, arena);
    }
    config->target = options->target.items;
    config->n_target = options->target.n;
}

static void complete_config(struct collect_options *options)
{
    struct tc_collect_config *config = &options->config;
    config->invariants = options->invariants.items;
    config->n_invariants = options->invariants.n;
    config->instrument = options->instrument.items;
    config->n_instrument = options->instrument.n;
    config->models_to_track = options->models.items;
    config->n_models_to_track = options->models.n;
    config->overflow = (enum tc_collect_overflow)options->overflow;
    config->argv = (enum tc_collect_argv)options->argv;
    if (options->content != TC_CONTENT_NOT_GIVEN)
        config->content = (enum tc_collect_content)(TC_COLLECT_CONTENT_OFF + options->content);
}

/* What can hardly be meant for a script, when we were not told of it ourselves. */
static bool is_option_of_ours(const struct collect_options *options, const char *word)
{
    const struct tc_collect_config *config = &options->config;
    const struct {
        const char *letter, *name;
        bool is_given;
    } ours[] = {
        {"-o",          "--output-dir", config->output_dir   },
        {"-i",          "--invariants", options->invariants.n},
        {"--overwrite", "--overwrite",  config->overwrite    },
    };

    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (!ours[i].is_given && (!strcmp(word, ours[i].letter) || !strcmp(word, ours[i].name)))
            return true;
    return false;
}

/* It may be the script's own all the same, so nothing is refused. */
static void hint_at_order(struct tc_app *app, const struct collect_options *options)
{
    const struct tc_collect_config *config = &options->config;

    for (size_t i = 1; config->form != TC_COLLECT_COMMAND && i < config->n_target; i++)
        if (is_option_of_ours(options, config->target[i])) {
            tc_app_say(app, "note: %s goes to %s; options of traincheck-collect stand before it",
                       config->target[i], config->target[0]);
            return;
        }
}

enum tc_status collect_run(struct tc_app *app, void *options_, struct tc_error *err)
{
    struct collect_options *options = options_;
    struct tc_collect_config *config = &options->config;
    enum tc_status status = TC_OK;
    if (config->config_file)
        status = tc_collect_config_read(config->config_file, set_from_file, &app->parser, err);
    if (status != TC_OK)
        return status;
    app->quiet = config->quiet;
    choose_target(options, &app->arena);
    complete_config(options);
    if (config->n_target == 0 && !config->list_apis)
        return tc_error_set(err, TC_E_USAGE, "no script, module or command given");
    hint_at_order(app, options);
    return tc_collect_run(config, &app->exit_status, err);
}
