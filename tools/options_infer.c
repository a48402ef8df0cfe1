/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_infer.c - the rows of traincheck-infer, and the spellings of the Python tool
 *
 * Words of rows are what --help and the man page say: they are for users.
 */
#include "infer.h"

#define AT(member) offsetof(struct infer_options, member)

static const struct tc_opt options[] = {
    TC_OPT_VALUE(STRING, "output", 'o', "FILE", AT(output),
                 "where invariants go; - is stdout (default invariants.jsonl)"),
    TC_OPT_SWITCH(
        FLAG, "overwrite", 0, AT(overwrite),
        "replace a file that holds no invariants, and invariants.jsonl if you name no output"),
    TC_OPT_VALUE(STRING, "evidence", 0, "FILE", AT(evidence),
                 "write evidence for a later run, infer nothing"),
    TC_OPT_VALUE(STRING, "failed", 0, "FILE", AT(failed),
                 "write hypotheses that broke, and what broke them"),
    TC_OPT_VALUE(STRING, "profile", 0, "FILE", AT(profile),
                 "with --specific: also write the facts as signatures, a line for each call; - is "
                 "stdout"),
    TC_OPT_VALUE(NAMES, "enable-relation", 0, "NAME[,..]", AT(enable),
                 "only these: a family, or family/form"),
    TC_OPT_VALUE(NAMES, "disable-relation", 0, "NAME[,..]", AT(disable), "all but these"),
    TC_OPT_VALUE(UINT, "min-support", 0, "N", AT(min_support),
                 "occurrences an invariant needs (default 3)"),
    TC_OPT_VALUE(UINT, "min-pipelines", 0, "N", AT(min_pipelines),
                 "pipelines it needs (default: as each relation asks)"),
    TC_OPT_SWITCH(FLAG, "specific", 0, AT(specific),
                  "all traces are runs of one script: learn its own settings, too"),
    TC_OPT_SWITCH(FLAG, "lean", 0, AT(lean),
                  "with --specific: leave out calls that tell little, so that a run traced with "
                  "-i FILE has about half of the records"),
    TC_OPT_SWITCH(FLAG, "keep-implied", 0, AT(keep_implied),
                  "also write invariants that others imply"),
    TC_OPT_SWITCH(
        FLAG, "no-excerpts", 0, AT(no_excerpts),
        "with --specific: do not keep in the file what the first two runs called, and their "
        "sources"),
    TC_OPT_SWITCH(FLAG, "no-evidence", 0, AT(no_evidence),
                  "with --specific: do not keep in the file what --add needs"),
    TC_OPT_VALUE(LIST, "add", 0, "DIR", AT(add),
                 "with --specific: add a further healthy run to those that the file of -o was "
                 "learned from"),
    TC_OPT_SWITCH(
        FLAG, "diff", 0, AT(diff),
        "learn nothing: say what the second of two invariant files claims and the first does "
        "not"),
    TC_OPT_SWITCH(FLAG, "json", 0, AT(json), "with --diff: JSON Lines on stdout"),
    TC_OPT_SWITCH(FLAG, "list-relations", 0, AT(list_relations),
                  "name the relations and what they claim"),
    TC_OPT_VALUE(LIST, "validate", 0, "DIR", AT(validate),
                 "a further healthy trace: what breaks on it is dropped"),
    TC_OPT_VALUE(UINT, "jobs", 'j', "N", AT(jobs),
                 "threads (default all cores); the result is the same"),
    TC_OPT_SWITCH(FLAG, "progress", 0, AT(progress),
                  "progress without a terminal, too: a line every 10 s"),
    TC_OPT_SWITCH(FLAG, "quiet", 'q', AT(quiet), "only errors on stderr"),
    TC_OPT_SWITCH(COUNT, "verbose", 'v', AT(verbose), "all notes about the traces, counts by form"),
    /* as the Python tool spells it */
    TC_OPT_SPELLING(LIST, "trace-folders", 'f', "DIR", AT(traces)),
    TC_OPT_SPELLING(LIST, "traces", 't', "DIR", AT(traces)),
    TC_OPT_SPELLING(COUNT, "debug", 'd', NULL, AT(verbose)),
    TC_OPT_END,
};

const struct tc_opt_tool infer_tool = {
    .name = "traincheck-infer",
    .summary = "Learn invariants from traces of healthy training runs.",
    .description =
        "Each folder is the trace of one run, written by traincheck-collect, or an evidence file written\n"
        "by an earlier traincheck-infer. What held in all of them becomes an invariant, with the\n"
        "precondition under which it held. The result depends neither on the order of the folders nor\n"
        "on the number of threads.",
    .usage = "DIR|FILE.tce... [OPTION]...\n"
             "--specific --add DIR -o FILE\n"
             "--diff FILE FILE [--json]",
    .examples = "  traincheck-infer traincheck_train_*/ -o invariants.jsonl\n"
                "  traincheck-infer --specific run1 run2 --profile - | less\n"
                "  traincheck-infer --specific --lean run1 run2 -o lean.jsonl\n"
                "  traincheck-infer --specific --add run3 -o invariants.jsonl\n"
                "  traincheck-infer --diff before.jsonl after.jsonl\n"
                "  traincheck-infer --evidence part1.tce node1/trace_a node1/trace_b\n",
    .exit_codes = "0  invariants (or evidence) were written; with --diff: nothing differs\n"
                  "1  with --diff: the files differ\n"
                  "2  wrong usage, or no trace could be read\n"
                  "130, 143  interrupted; nothing was written\n",
    .options = options,
    .rest = AT(traces),
};
