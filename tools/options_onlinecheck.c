/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_onlinecheck.c - the rows that traincheck-onlinecheck has beside those of traincheck-
 * check
 *
 * Words of rows are what --help and the man page say: they are for users.
 */
#include "options_check.h"

#define AT(member) offsetof(struct check_options, member)

static const struct tc_opt onlinecheck_options[] = {
    TC_OPT_VALUE(UINT, "lateness", 0, "SECONDS", AT(lateness_s),
                 "how long a step waits for a rank that is silent (default 30)"),
    TC_OPT_VALUE(UINT, "exit-on-idle", 0, "SECONDS", AT(idle_s),
                 "end after so long without news (default: wait for the run to end)"),
    TC_OPT_VALUE(UINT, "report-interval", 0, "SECONDS", AT(report_interval_s),
                 "between reports while the run goes on (default 30; 0: only at the end)"),
    TC_OPT_VALUE(STRING, "on-violation", 0, "COMMAND", AT(on_violation),
                 "run this in a shell for each finding, with its first violation as JSON on stdin"),
    TC_OPT_VALUE(UINT, "on-violation-timeout", 0, "SECONDS", AT(on_violation_limit_s),
                 "end a command after so long, with all it started (default 60; 0: never)"),
    TC_OPT_VALUE(
        STRING, "state", 0, "FILE", AT(state),
        "remember what was reported and run, so that a new start repeats and loses nothing"),
    TC_OPT_SWITCH(FLAG, "delete-checked", 0, AT(delete_checked),
                  "delete checked steps from the trace, except the first ones and those around "
                  "findings"),
    TC_OPT_VALUE(
        STRING, "watch", 0, "ROOT", AT(watch),
        "follow every run that appears in a folder of ROOT, each with the files of -i that "
        "were learned from its script (needs -o)"),
    TC_OPT_END,
};

const struct tc_opt_tool onlinecheck_tool = {
    .name = "traincheck-onlinecheck",
    .summary = "Check a training run by invariants while it runs.",
    .description =
        "Follows the trace folder that traincheck-collect writes, also before it exists. stdout shows each\n"
        "finding as soon as the step of its first violation is on the disk. On a terminal one line on\n"
        "stderr shows the state of the check: the step, steps a second, findings, and how far it is\n"
        "behind the run (lag). The check ends when all processes of the run have ended. Then it has the\n"
        "verdicts and reports of traincheck-check over the same folder.",
    .usage = "DIR -i FILE|@NAME... [OPTION]...\n"
             "--watch ROOT -i FILE|@NAME... -o DIR [OPTION]...",
    .examples = "  traincheck-onlinecheck trace -i invariants.jsonl\n"
                "  traincheck-onlinecheck trace -i @all\n"
                "  traincheck-onlinecheck trace -i invariants.jsonl --on-violation 'scancel 4711'\n"
                "  traincheck-onlinecheck --watch /runs -i sets/*.jsonl -o /checks\n",
    .exit_codes = CHECK_EXIT_CODES,
    .options = onlinecheck_options,
    .shared = check_shared_options,
    .rest = AT(traces),
};
