/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.c - the course of traincheck-infer: select, gather, mine, print, write
 *
 * Outputs are checked before anything is read, as learning may take hours, and written last, after
 * a final question whether to go on: an interrupt leaves files as they were. Invariants and what
 * goes with them are made in memory first.
 */
#include <traincheck/infer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "compare/excerpt_write.h"
#include "infer/gather.h"
#include "infer/grow.h"
#include "infer/kept.h"
#include "infer/mine.h"
#include "infer/runs.h"
#include "infer/thrift.h"
#include "relation/evidence_io.h"
#include <traincheck/version.h>

#define DEFAULT_MIN_SUPPORT 3

struct inference {
    const struct tc_infer_config *config;
    bool enabled[TC_MAX_RELATIONS]; /* by place in tc_relations */
    bool observed[TC_MAX_SOURCES];  /* does an enabled form ask for the source? */
    struct tc_evidence evidence;
    struct tc_evidence held_out; /* of the traces to validate on; shares its words */
    struct tc_gathered gathered;
    struct tc_grow grow;                  /* the file that the traces are added to */
    struct tc_selections held_selections; /* of the traces to validate on */
    struct tc_strtab *left_out;           /* of all traces; NULL: nothing is */
    const struct tc_json *header;         /* of a file that leaves it out, too; may be NULL */
    uint64_t started_ns;
};

const char *tc_infer_relation_name(size_t i)
{
    return tc_relations[i] ? tc_relations[i]->name : NULL;
}

const char *tc_infer_relation_summary(size_t i)
{
    return tc_relations[i]->summary;
}

/* ---- options ------------------------------------------------------------------------------- */

/* "EventContain" names a family, "EventContain/some" a form. */
static bool is_named(const struct tc_relation *relation, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(relation->name, name, n) &&
           (relation->name[n] == '\0' || relation->name[n] == '/');
}

static bool is_any_named(const struct tc_relation *relation, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(relation, names[i]))
            return true;
    return false;
}

static enum tc_status check_names(const char *const *names, size_t n, struct tc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t j = 0; tc_relations[j]; j++)
            found |= is_named(tc_relations[j], names[i]);
        if (!found)
            return tc_error_set(err, TC_E_USAGE,
                                "no relation is called \"%s\" (see --list-relations)", names[i]);
    }
    return TC_OK;
}

static enum tc_status select_relations(struct inference *inference, struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    enum tc_status status = check_names(c->enable, c->n_enable, err);

    if (!status)
        status = check_names(c->disable, c->n_disable, err);
    for (size_t i = 0; tc_relations[i]; i++) {
        inference->enabled[i] =
            tc_relation_is_learned(tc_relations[i]) &&
            (c->specific || !tc_relations[i]->is_specific) &&
            (!c->n_enable || is_any_named(tc_relations[i], c->enable, c->n_enable)) &&
            !is_any_named(tc_relations[i], c->disable, c->n_disable);
        if (inference->enabled[i])
            inference->observed[tc_source_number(tc_relations[i]->source)] = true;
    }
    return status;
}

static bool is_same_trace(const char *a, const char *b)
{
    char *x = realpath(a, NULL), *y = realpath(b, NULL);
    bool same = x && y && !strcmp(x, y);

    tc_free(x);
    tc_free(y);
    return same;
}

/* Every invariant holds where it was learned: that would prove nothing. */
static enum tc_status check_held_out(const struct tc_infer_config *c, struct tc_error *err)
{
    if (c->n_validate && c->evidence)
        return tc_error_set(err, TC_E_USAGE,
                            "--validate has nothing to validate where only evidence is written");
    for (size_t i = 0; i < c->n_validate; i++)
        for (size_t j = 0; j < c->n_traces; j++)
            if (is_same_trace(c->validate[i], c->traces[j]))
                return tc_error_set(err, TC_E_USAGE,
                                    "%s is learned from, so it cannot validate what was learned",
                                    c->validate[i]);
    return TC_OK;
}

/* ---- learning ------------------------------------------------------------------------------ */

static enum tc_status need_traces(const struct tc_infer_config *c, struct tc_error *err)
{
    for (size_t i = 0; i < c->n_traces; i++)
        if (tc_is_evidence_file(c->traces[i]))
            return tc_error_set(err, TC_E_USAGE,
                                "%s: evidence has no calls to leave out: --lean needs the traces",
                                c->traces[i]);
    return TC_OK;
}

static enum tc_status choose(const struct tc_infer_config *c, struct tc_strtab *names,
                             struct tc_notes *notes, struct tc_error *err)
{
    struct tc_thrift thrift = {0};
    enum tc_status status = need_traces(c, err);

    if (!status)
        status = tc_thrift_choose(c->traces, c->n_traces, names, &thrift, err);
    if (!status)
        tc_notes_add(notes, "lean", "", 0,
                     "a run traced with these invariants records %.0f %% of the records: %zu of "
                     "%zu APIs are left out",
                     thrift.n_records ? 100.0 * (double)thrift.n_left / (double)thrift.n_records
                                      : 100.0,
                     thrift.n_left_out, thrift.n_apis);
    return status;
}

/* All traces are read as if they had been taken with what is learned from them. */
static enum tc_status find_left_out(struct inference *inference, struct tc_notes *notes,
                                    struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    struct tc_strtab *names = tc_strtab_new();
    enum tc_status status;
    size_t n_of_file;

    tc_invariant_add_left_out(inference->grow.header, names);
    tc_invariant_add_left_out(inference->header, names);
    n_of_file = tc_strtab_count(names);
    status = tc_thrift_told(c->traces, c->n_traces, names, err);
    if (!status && c->adds && tc_strtab_count(names) > n_of_file)
        status = tc_error_set(err, TC_E_USAGE,
                              "%s leaves out %s, which the runs of %s have: trace a run without "
                              "-i, or with that file",
                              c->traces[0], tc_strtab_text(names, (tc_sym)n_of_file), c->output);
    if (!status && c->lean && !c->adds)
        status = choose(c, names, notes, err);
    if (tc_strtab_count(names))
        inference->left_out = names;
    else
        tc_strtab_free(names);
    return status;
}

static enum tc_status learn(struct inference *inference, struct tc_infer_result *result,
                            struct tc_notes *notes, struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    struct tc_gather_how how = {.observed = inference->observed};
    enum tc_status status = TC_OK;

    if (c->adds)
        status = tc_grow_read(c->output, &inference->grow, &inference->evidence, err);
    if (!status && c->adds)
        status = tc_grow_check(c, &inference->evidence, err);
    if (!status && c->specific && !c->evidence) /* which would not say so */
        status = find_left_out(inference, notes, err);
    how.left_out = inference->left_out;
    if (!status)
        status = tc_gather(c, c->traces, c->n_traces, &how, &inference->evidence, result,
                           &inference->gathered, NULL, notes, err);

    if (!status && c->n_validate)
        status = tc_gather(c, c->validate, c->n_validate, &how, &inference->held_out, result, NULL,
                           &inference->held_selections, notes, err);
    result->n_pipelines = inference->evidence.pipelines.n;
    result->n_held_out = inference->held_out.pipelines.n;
    result->n_rows = inference->evidence.rows.n;
    return status;
}

/* ---- output -------------------------------------------------------------------------------- */

static uint64_t n_examples(const struct tc_evidence *evidence)
{
    uint64_t n = 0;

    for (size_t i = 0; i < evidence->rows.n; i++)
        n += evidence->rows.items[i].count;
    return n;
}

/* The last parts of the paths, in the order of the paths: that of merging must not show. */
static struct tc_json *pipeline_names(const struct tc_evidence *evidence)
{
    size_t n = evidence->pipelines.n;
    const char **names = tc_calloc(n + 1, sizeof(*names));
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++)
        names[i] = tc_strtab_text(evidence->symbols, evidence->pipelines.items[i]);
    qsort(names, n, sizeof(*names), tc_compare_texts);
    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(tc_fs_base(names[i])));
    tc_free(names);
    return array;
}

static void print_header(const struct inference *inference, struct tc_strbuf *out)
{
    const struct tc_evidence *evidence = &inference->evidence;
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "traincheck", "invariants");
    tc_json_set_number(object, "schema", TC_INVARIANT_SCHEMA);
    tc_json_set_string(object, "made_by", "traincheck-infer " TC_VERSION);
    tc_json_set(object, "from", pipeline_names(evidence));
    tc_json_set_number(object, "examples", (double)n_examples(evidence));
    if (inference->left_out)
        tc_json_set(object, "lean", tc_thrift_to_json(inference->left_out));
    if (inference->config->adds)
        tc_grow_history(&inference->grow, inference->config, object);
    tc_json_print_line(object, out);
}

static enum tc_status deliver(const struct tc_infer_config *c, const char *path,
                              const struct tc_strbuf *text, struct tc_error *err)
{
    if (strcmp(path, "-"))
        return tc_fs_write(path, text->text ? text->text : "", text->size, err);
    if (text->size)
        c->write(c->context, text->text, text->size);
    return TC_OK;
}

/* So many healthy runs are excerpted: two show where healthy runs differ. */
#define MAX_EXCERPTS 2

static void keep_excerpt(const char *line, struct tc_infer_result *result, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s\n", line);
    result->n_excerpts++;
    result->excerpt_bytes += strlen(line) + 1;
}

/* That of the trace, or the one that the file had of it. */
static enum tc_status add_excerpt(const struct inference *inference, const char *trace,
                                  struct tc_infer_result *result, struct tc_strbuf *out,
                                  struct tc_notes *notes, struct tc_error *err)
{
    const char *line = tc_grow_excerpt_of(&inference->grow, trace);
    struct tc_excerpt_size size;

    if (line) {
        keep_excerpt(line, result, out);
        return TC_OK;
    }
    enum tc_status status = tc_excerpt_make(trace, out, &size, notes, err);
    result->n_excerpts += size.bytes > 0;
    result->excerpt_bytes += size.bytes;
    return status;
}

/* The paths of traces, sorted; what is merged from evidence has no calls. *n: how many. The caller
 * frees the array. */
static const char **paths_to_excerpt(const struct inference *inference, size_t *n)
{
    const struct tc_infer_config *c = inference->config;
    const struct tc_grow *grow = &inference->grow;
    const char **paths = tc_calloc(c->n_traces + grow->excerpts.n + 1, sizeof(*paths));

    *n = 0;
    for (size_t i = 0; i < c->n_traces; i++)
        if (!tc_is_evidence_file(c->traces[i]))
            paths[(*n)++] = c->traces[i];
    for (size_t i = 0; i < grow->excerpts.n; i++)
        paths[(*n)++] = grow->excerpts.items[i].path;
    qsort(paths, *n, sizeof(*paths), tc_compare_texts);
    return paths;
}

/* Of the first traces by name. A run that was accepted stays the one to lay others beside. */
static enum tc_status add_excerpts(const struct inference *inference,
                                   struct tc_infer_result *result, struct tc_strbuf *out,
                                   struct tc_notes *notes, struct tc_error *err)
{
    const struct tc_grow *grow = &inference->grow;
    enum tc_status status = TC_OK;
    size_t n;

    if (tc_grow_was_accepted(grow)) {
        for (size_t i = 0; i < grow->excerpts.n; i++)
            keep_excerpt(grow->excerpts.items[i].line, result, out);
        return TC_OK;
    }
    const char **paths = paths_to_excerpt(inference, &n);
    for (size_t i = 0; i < n && result->n_excerpts < MAX_EXCERPTS && !status; i++)
        status = add_excerpt(inference, paths[i], result, out, notes, err);
    tc_free(paths);
    return status;
}

/* What stands before the invariants of one script: excerpts of its runs, and the evidence. */
static enum tc_status add_script(const struct inference *inference, struct tc_infer_result *result,
                                 struct tc_strbuf *out, struct tc_notes *notes,
                                 struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    enum tc_status status = TC_OK;

    if (c->specific && !c->no_excerpts)
        status = add_excerpts(inference, result, out, notes, err);
    if (!status && c->specific && !c->no_evidence)
        status = tc_kept_add(&inference->evidence, out, &result->evidence_bytes, err);
    return status;
}

static enum tc_status print_set(struct inference *inference, const struct tc_invariant_set *set,
                                struct tc_strbuf *out, struct tc_error *err)
{
    struct tc_strbuf lines = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    if (!inference->config->adds) {
        tc_invariant_set_print(set, NULL, out);
        return TC_OK;
    }
    tc_invariant_set_print(set, NULL, &lines);
    status = tc_grow_print(&inference->grow, &lines, out, err);
    tc_strbuf_release(&lines);
    return status;
}

static void count_forms(const struct tc_invariant_set *set, struct tc_infer_result *result)
{
    const size_t most = sizeof(result->per_form) / sizeof(*result->per_form);

    for (size_t i = 0; tc_relations[i] && result->n_forms < most; i++) {
        if (!tc_relation_is_learned(tc_relations[i]))
            continue;
        struct tc_infer_count *count = &result->per_form[result->n_forms++];
        snprintf(count->name, sizeof(count->name), "%s", tc_relations[i]->name);
        for (size_t j = 0; j < set->items.n; j++)
            count->n += !strcmp(tc_strtab_text(set->symbols, set->items.items[j]->relation),
                                tc_relations[i]->name);
    }
    result->n_invariants = set->items.n;
}

static void count_dropped(const struct tc_mined *mined, struct tc_infer_result *result)
{
    for (unsigned i = 0; i < TC_DEDUCE_COUNT; i++) {
        if (i == TC_DEDUCE_ACCEPTED || !mined->dropped[i])
            continue;
        struct tc_infer_count *count = &result->dropped[result->n_dropped++];
        snprintf(count->name, sizeof(count->name), "%s", tc_deduction_text((enum tc_deduction)i));
        count->n = mined->dropped[i];
    }
    if (mined->n_implied)
        result->dropped[result->n_dropped++] =
            (struct tc_infer_count){"implied by others", mined->n_implied};
}

/* The last moment at which an interrupt leaves everything as it was. */
static enum tc_status ask_to_go_on(const struct tc_infer_config *c,
                                   const struct tc_infer_result *result, struct tc_error *err)
{
    if (!c->progress || c->progress(c->context, c->n_traces, c->n_traces, result->json_bytes))
        return TC_OK;
    return tc_error_set(err, TC_E_INTERRUPTED, "interrupted");
}

static enum tc_status mine_and_write(struct inference *inference, struct tc_infer_result *result,
                                     struct tc_notes *notes, struct tc_error *err)
{
    const struct tc_infer_config *c = inference->config;
    struct tc_strbuf text = TC_STRBUF_INIT, failed = TC_STRBUF_INIT, profile = TC_STRBUF_INIT;
    const struct tc_mine_options options = {
        .deduce = {.min_support = c->min_support ? c->min_support : DEFAULT_MIN_SUPPORT,
                   .min_pipelines = c->min_pipelines},
        .keep_implied = c->keep_implied,
        .is_one_script = c->specific,
        .enabled = inference->enabled,
        .held_out = c->n_validate ? &inference->held_out : NULL,
        .held_selections = &inference->held_selections,
        .profile = c->profile ? &profile : NULL,
        .notes = notes,
    };
    struct tc_failures failures = {0};
    struct tc_invariant_set set;
    struct tc_mined mined;
    enum tc_status status;

    tc_invariant_set_init(&set, inference->evidence.symbols);
    tc_mine(&inference->evidence, &options, &set, c->failed ? &failures : NULL, &mined);
    count_forms(&set, result);
    count_dropped(&mined, result);
    result->n_confirmed = mined.n_confirmed;
    result->n_untold = mined.n_untold;
    result->n_facts = mined.n_facts;
    if (c->specific)
        result->n_differed = tc_runs_compare(&inference->evidence, &inference->gathered, notes);
    print_header(inference, &text);
    status = add_script(inference, result, &text, notes, err);
    if (!status)
        status = print_set(inference, &set, &text, err);
    tc_failures_print(&failures, &failed);
    if (!status)
        status = ask_to_go_on(c, result, err);
    if (!status)
        status = deliver(c, c->output, &text, err);
    if (!status && c->profile)
        status = deliver(c, c->profile, &profile, err);
    if (!status && c->failed)
        status = tc_fs_write(c->failed, failed.text ? failed.text : "", failed.size, err);
    tc_strbuf_release(&text);
    tc_strbuf_release(&failed);
    tc_strbuf_release(&profile);
    tc_failures_release(&failures);
    tc_invariant_set_release(&set);
    return status;
}

/* Learning may take hours. */
static enum tc_status check_outputs(const struct tc_infer_config *c, struct tc_error *err)
{
    const char *const outputs[] = {c->evidence ? c->evidence : c->output, c->profile, c->failed};
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs) && !status; i++)
        if (outputs[i] && strcmp(outputs[i], "-") != 0)
            status = tc_fs_may_write(outputs[i], err);
    return status;
}

enum tc_status tc_infer_run_as(const struct tc_infer_config *config, const struct tc_json *header,
                               struct tc_infer_result *result, struct tc_notes *notes,
                               struct tc_error *err)
{
    struct inference inference = {.config = config, .header = header, .started_ns = tc_clock_ns()};
    enum tc_status status;

    *result = (struct tc_infer_result){0};
    status = select_relations(&inference, err);
    if (!status)
        status = check_held_out(config, err);
    if (!status)
        status = check_outputs(config, err);
    if (status)
        return status;
    tc_evidence_init(&inference.evidence);
    tc_evidence_init_beside(&inference.held_out, &inference.evidence);
    status = learn(&inference, result, notes, err);
    if (!status && config->evidence)
        status = ask_to_go_on(config, result, err);
    if (!status && config->evidence)
        status = tc_evidence_write(&inference.evidence, config->evidence, err);
    else if (!status)
        status = mine_and_write(&inference, result, notes, err);
    tc_selections_release(&inference.held_selections);
    tc_strtab_free(inference.left_out);
    tc_grow_release(&inference.grow);
    tc_evidence_release(&inference.held_out);
    tc_evidence_release(&inference.evidence);
    result->wall_ns = tc_clock_ns() - inference.started_ns;
    return status;
}

enum tc_status tc_infer_run(const struct tc_infer_config *config, struct tc_infer_result *result,
                            struct tc_notes *notes, struct tc_error *err)
{
    return tc_infer_run_as(config, NULL, result, notes, err);
}
