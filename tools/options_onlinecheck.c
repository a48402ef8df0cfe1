#include "options_check.h"

#include "base/banned.h"

const struct tc_opt_tool onlinecheck_tool = {
    .name = "traincheck-onlinecheck",
    .summary = "Check the trace of a training run by invariants.",
    .description = "The same engine, options and verdicts as traincheck-check, for one folder.",
    .usage = "[OPTION]... DIR -i FILE...",
    .examples =
        "  traincheck-onlinecheck traincheck_train_2026-07-01_10-00-00 -i invariants.jsonl\n"
        "  traincheck-onlinecheck trace -i invariants.jsonl --json | jq .expected\n",
    .exit_codes = CHECK_EXIT_CODES,
    .shared = check_shared_options,
    .rest = offsetof(struct check_options, traces),
};
