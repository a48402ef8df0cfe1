/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_check.c - the rows of traincheck-check, and those it shares with traincheck-onlinecheck
 *
 * Words of rows are what --help and the man page say: they are for users.
 */
#include "options_check.h"

#define AT(member) offsetof(struct check_options, member)

const struct tc_opt check_shared_options[] = {
    TC_OPT_WORDS(LIST, "invariants", 'i', "FILE|@NAME...", AT(invariants),
                 "the invariants: files, or shipped sets (@all: those for the packages of the "
                 "trace); several add up",
                 check_is_invariants, TC_SHIPPED_NAMES),
    TC_OPT_VALUE(STRING, "output-dir", 'o', "DIR", AT(output_dir),
                 "where reports go (default traincheck_check_<trace>_<date-time>)"),
    TC_OPT_SWITCH(FLAG, "overwrite", 0, AT(overwrite),
                  "write into a folder that holds other files and no report"),
    TC_OPT_VALUE(STRING, "suppress", 0, "FILE", AT(suppress),
                 "known violations that do not count: lines of an id and a reason"),
    TC_OPT_WORDS(NAMES, "format", 0, "LIST", AT(formats),
                 "further reports: sarif, junit, github (on stdout), chrome", NULL,
                 "sarif junit github chrome"),
    TC_OPT_VALUE(STRING, "metrics", 0, "FILE", AT(metrics), "counts as OpenMetrics text"),
    TC_OPT_WORDS(NAMES, "track", 0, "LIST", AT(track),
                 "report to trackers, by their Python packages: wandb, mlflow, tensorboard, otel",
                 NULL, "wandb mlflow tensorboard otel"),
    TC_OPT_SWITCH(FLAG, "no-html-report", 0, AT(no_html_report), "write no report.html"),
    TC_OPT_SWITCH(FLAG, "json", 0, AT(json), "findings and violations as JSON Lines on stdout"),
    TC_OPT_VALUE(CHOICE, "fail-on", 0, "any|multi|law|remark", AT(fail_on),
                 "multi: only invariants of two or more pipelines fail the check; law: all but "
                 "changed settings of the script do; remark: what healthy runs break now and "
                 "then does, too"),
    TC_OPT_SWITCH(FLAG, "strict", 0, AT(strict),
                  "exit with 3 if the trace leaves an invariant unchecked, or is damaged"),
    TC_OPT_SWITCH(FLAG, "exit-zero", 0, AT(exit_zero), "exit with 0 although there are violations"),
    TC_OPT_VALUE(UINT, "hang-after", 0, "SECONDS", AT(hang_after_s),
                 "after so long without news, say which ranks wait in which call, and for whom "
                 "(default: never)"),
    TC_OPT_VALUE(CHOICE, "color", 0, TC_APP_WHEN, AT(color),
                 "colours on stdout (auto: on a terminal, unless NO_COLOR is set)"),
    TC_OPT_SWITCH(FLAG, "progress", 0, AT(progress),
                  "progress without a terminal, too: a line every 10 s"),
    TC_OPT_SWITCH(FLAG, "quiet", 'q', AT(quiet), "violations and errors only"),
    TC_OPT_SWITCH(COUNT, "verbose", 'v', AT(verbose),
                  "all notes about the traces and, after the run, all violations"),
    /* as the Python tool spells it */
    TC_OPT_SPELLING(LIST, "trace-folders", 'f', "DIR", AT(traces)),
    TC_OPT_SPELLING(LIST, "traces", 't', "DIR", AT(traces)),
    TC_OPT_SPELLING(COUNT, "debug", 'd', NULL, AT(verbose)),
    TC_OPT_END,
};

static const struct tc_opt check_options[] = {
    TC_OPT_VALUE(LIST, "explain", 0, "ID", AT(explain),
                 "say all about an invariant, with its verdict in the traces, if any"),
    TC_OPT_SWITCH(FLAG, "accept", 0, AT(accept),
                  "what broke is intended: write into the file of -i what these runs show instead; "
                  "read the reports first"),
    TC_OPT_VALUE(STRING, "note", 0, "TEXT", AT(note),
                 "with --accept: why, as \"wider model, PR 312\"; the file keeps it"),
    TC_OPT_SWITCH(
        FLAG, "each", 0, AT(each),
        "judge each folder by itself: a line for each on stdout and in runs.jsonl, and a page "
        "for all, index.html"),
    TC_OPT_SWITCH(FLAG, "skip-checked", 0, AT(skip_checked),
                  "with --each and the output folder of an earlier check: only runs that are new "
                  "or have changed"),
    TC_OPT_VALUE(UINT, "jobs", 'j', "N", AT(jobs),
                 "threads (default all cores; without --each two are enough for traces); the "
                 "result is the same"),
    TC_OPT_VALUE(
        STRING, "plan", 0, "DIR", AT(plan),
        "verify the plans in DIR, of all ranks of a parallel job, in place of traces (no -i)"),
    TC_OPT_VALUE(STRING, "plan-reference", 0, "DIR", AT(plan_reference),
                 "the plan of the same job on one device, which --plan must match"),
    TC_OPT_WORDS(
        LIST, "against", 0, "DIR...", AT(against),
        "say why a run differs from a healthy one, in place of invariants (no -i); several "
        "healthy ones set aside what differs among them; or an invariant file with excerpts "
        "of healthy runs",
        check_is_trace, ""),
    TC_OPT_SWITCH(FLAG, "resumed", 0, AT(resumed),
                  "with --against: the run goes on from a checkpoint of the healthy one"),
    TC_OPT_VALUE(STRING, "from-step", 0, "N", AT(from_step),
                 "with --resumed: the step of the healthy run at which the run goes on, from 0 "
                 "(default: found by the weights)"),
    TC_OPT_SWITCH(FLAG, "self-test", 0, AT(self_test),
                  "tell whether this installation works: judge two traces that come with it"),
    TC_OPT_END,
};

const struct tc_opt_tool check_tool = {
    .name = "traincheck-check",
    .summary = "Check finished training runs by invariants.",
    .description =
        "Each folder is the trace of one run, written by traincheck-collect. Every invariant is judged\n"
        "at every step: it failed, passed, was not triggered (its precondition never held), or stayed\n"
        "unchecked (the trace lacks what it needs). stdout shows the violations, with the step, the rank\n"
        "and the line of the script. The reports are in the output folder.\n"
        "\n"
        "With --plan the tool verifies that a parallel job computes what the single-device job computes:\n"
        "every gradient and updated parameter of every rank. Plans are written by\n"
        "traincheck-collect --plan.\n"
        "\n"
        "With --against the tool says why two runs differ: which package, seed, batch, call, argument or\n"
        "variable differs first, with the lines of both scripts, and what is equal. Equal seeds show\n"
        "most. Set aside are differences among several healthy runs, what follows from another seed, and\n"
        "what may follow from values that differed before. --format takes sarif and github.",
    .usage = "DIR... -i FILE|@NAME... [OPTION]...\n"
             "DIR... --each -i FILE|@NAME... [OPTION]...\n"
             "DIR --against DIR... [OPTION]...\n"
             "--plan DIR --plan-reference DIR [OPTION]...\n"
             "--self-test",
    .examples =
        "  traincheck-check traincheck_train_2026-07-01_10-00-00 -i invariants.jsonl\n"
        "  traincheck-check traincheck_train_2026-07-01_10-00-00 -i @all\n"
        "  traincheck-check run1 run2 -i mine.jsonl team.jsonl -o report --fail-on multi\n"
        "  traincheck-check --explain EC-3f9a1c20 -i invariants.jsonl run1\n"
        "  traincheck-check run1 -i invariants.jsonl --accept --note 'wider model, PR 312'\n"
        "  traincheck-check runs/*/ --each -i @all -o checks --skip-checked\n"
        "  traincheck-check run1 -i invariants.jsonl --hang-after 300\n"
        "  traincheck-check after --against before\n"
        "  traincheck-check rest --against whole --resumed\n"
        "  traincheck-check --plan parallel --plan-reference single\n"
        "  traincheck-check --self-test\n",
    .exit_codes =
        "0  no violation; with --each: in no run; with --against: nothing counts as a difference\n"
        "1  violations; with --against: a difference\n"
        "2  wrong usage, unreadable invariants, no trace, or a self-test that failed;\n"
        "   with --against: runs that cannot be compared, as their calls were recorded in different ways\n" CHECK_EXIT_UNKNOWN
        "130, 143  interrupted; what was found until then was written, but nothing of a comparison\n",
    .options = check_options,
    .shared = check_shared_options,
    .rest = AT(traces),
};
