/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_collect.c - the rows of traincheck-collect, and the spellings of the Python tool
 *
 * Words of rows are what --help and the man page say: they are for users. Options of ours end at
 * the script; all behind it is the script's (first_argument).
 */
#include "collect.h"

#define AT(member) offsetof(struct collect_options, member)

static const struct tc_opt options[] = {
    TC_OPT_VALUE(STRING, "output-dir", 'o', "DIR", AT(config.output_dir),
                 "the trace folder (default traincheck_<script>_<date-time>)"),
    TC_OPT_SWITCH(FLAG, "overwrite", 0, AT(config.overwrite),
                  "replace the trace that DIR holds, or write among other files"),
    TC_OPT_WORDS(LIST, "invariants", 'i', "FILE|@NAME", AT(invariants),
                 "trace only what these need: a file, or shipped sets (@all: every one)", NULL,
                 TC_SHIPPED_NAMES),
    TC_OPT_LAST(STRING, "module", 'm', "MODULE", AT(module), "run a module, as python -m"),
    TC_OPT_VALUE(NAMES, "instrument", 0, "PKG[,..]", AT(instrument),
                 "trace public functions of more packages than torch"),
    TC_OPT_VALUE(STRING, "apis", 0, "FILE", AT(config.apis_file), "trace the APIs named there"),
    TC_OPT_SWITCH(FLAG, "list-apis", 0, AT(config.list_apis),
                  "name what would be traced, run nothing"),
    TC_OPT_SWITCH(FLAG, "tensor-methods", 0, AT(config.tensor_methods),
                  "trace the methods of torch.Tensor"),
    TC_OPT_SWITCH(FLAG, "no-operators", 0, AT(config.no_operators),
                  "leave out the script's own lines and functions"),
    TC_OPT_SWITCH(FLAG, "no-source", 0, AT(config.no_source),
                  "leave out the text of the script's own files"),
    TC_OPT_VALUE(NAMES, "models-to-track", 0, "NAME[,..]", AT(models),
                 "only these models (default all)"),
    TC_OPT_VALUE(UINT, "sampling-interval", 0, "N", AT(config.sampling_interval),
                 "trace every Nth step"),
    TC_OPT_VALUE(UINT, "warm-up-steps", 0, "N", AT(config.warm_up_steps),
                 "trace each of the first N steps (default 0; with --budget 10)"),
    TC_OPT_VALUE(PERCENT, "budget", 0, "PERCENT", AT(config.budget),
                 "leave out steps so that tracing adds this to the run's time: 2%"),
    TC_OPT_VALUE(SIZE, "digest-budget", 0, "SIZE", AT(config.digest_budget),
                 "bytes of tensors read in full at one look (default 64M)"),
    TC_OPT_VALUE(CHOICE, "content", 0, "off|batches|full", AT(content),
                 "contents of tensors: none; batches, integers, scalars (default); all"),
    TC_OPT_SWITCH(FLAG, "stats", 0, AT(config.stats), "record min, max, mean of tensors"),
    TC_OPT_VALUE(UINT, "stack", 0, "DEPTH", AT(config.stack_depth),
                 "frames of the script on each call"),
    TC_OPT_VALUE(SIZE, "buffer-size", 0, "SIZE", AT(config.buffer_size),
                 "memory for what is not written yet (default 64M)"),
    TC_OPT_VALUE(CHOICE, "on-overflow", 0, "block|drop", AT(overflow),
                 "when that is full: wait for the disk, or drop and count"),
    TC_OPT_VALUE(SIZE, "keep", 0, "SIZE", AT(config.keep),
                 "of each process keep so much on the disk, as 2G: its oldest steps go, but those "
                 "around findings of a live check"),
    TC_OPT_VALUE(CHOICE, "argv", 0, "masked|full|none", AT(argv),
                 "the script's arguments in the trace (default: without secrets)"),
    TC_OPT_VALUE(STRING, "python", 0, "PATH", AT(config.python),
                 "interpreter (default: of the tool's environment, else the active one)"),
    TC_OPT_VALUE(STRING, "config", 0, "FILE", AT(config.config_file),
                 "read options from a YAML file"),
    TC_OPT_VALUE(STRING, "plan", 0, "DIR", AT(config.plan),
                 "write the plan of one step of each rank to DIR, and no trace"),
    TC_OPT_VALUE(UINT, "plan-world", 0, "N", AT(config.plan_world),
                 "ranks of a job that is not started: one process each, nothing is sent"),
    TC_OPT_VALUE(STRING, "plan-ranks", 0, "LIST", AT(config.plan_ranks),
                 "capture these, as 0-7,64; the others count as running the same programs"),
    TC_OPT_VALUE(STRING, "plan-layout", 0, "FILE", AT(config.plan_layout),
                 "how the script splits tensors: lines of a name, a dimension, an axis"),
    TC_OPT_VALUE(UINT, "plan-step", 0, "K", AT(config.plan_step),
                 "the step that is captured (default 2); the script ends after it"),
    TC_OPT_VALUE(UINT, "jobs", 'j', "N", AT(config.plan_jobs),
                 "ranks of --plan-world captured at once (default 1)"),
    TC_OPT_SWITCH(FLAG, "strict", 0, AT(config.strict),
                  "exit with 125 if a part of tracing was switched off"),
    TC_OPT_SWITCH(FLAG, "progress", 0, AT(config.progress), "a status line while running"),
    TC_OPT_SWITCH(FLAG, "quiet", 'q', AT(config.quiet), "print no line of the tool on stderr"),
    TC_OPT_SWITCH(COUNT, "verbose", 'v', AT(config.verbose), "say what is traced and how"),
    TC_OPT_SPELLING(FLAG, "operators", 0, NULL, AT(operators)),
    /* as the Python tool spells it */
    TC_OPT_SPELLING(STRING, "pyscript", 'p', "FILE", AT(pyscript)),
    TC_OPT_SPELLING(STRING, "shscript", 's', "FILE", AT(shscript)),
    TC_OPT_SPELLING(NAMES, "modules-to-instr", 't', "PKG[,..]", AT(instrument)),
    TC_OPT_SPELLING(FLAG, "use-config", 0, NULL, AT(use_config)),
    TC_OPT_SPELLING(COUNT, "debug-mode", 'd', NULL, AT(config.verbose)),
    TC_OPT_END,
};

const struct tc_opt_tool collect_tool = {
    .name = "traincheck-collect",
    .summary = "Run a training job and write a trace of it, without changing the job.",
    .description =
        "A script or module runs in this process, with the interpreter of the environment that the tool\n"
        "is installed in, else of the active one, else python3 of PATH. A command after -- runs as a\n"
        "child, and every Python process below it is traced. (Python finds the agent by the environment:\n"
        "not if that was cleared, or with python -I, -E or -S.) Calls of torch and changes of the model's\n"
        "variables go to the trace folder, one file for each process.\n"
        "With --plan the tool writes the operators of one step instead, rank by rank, for\n"
        "traincheck-check --plan; the script ends after that step.\n"
        "Options of the tool come before the script; everything after it belongs to the script.",
    .usage = "[OPTION]... SCRIPT [ARGUMENT]...\n[OPTION]... -m MODULE [ARGUMENT]...\n"
             "[OPTION]... -- COMMAND [ARGUMENT]...",
    .examples = "  traincheck-collect -o trace train.py --epochs 2\n"
                "  traincheck-collect -i @all -o trace train.py --epochs 2\n"
                "  traincheck-collect --budget 2% -o trace train.py --epochs 90\n"
                "  traincheck-collect -i invariants.jsonl -- torchrun --nproc-per-node 2 train.py\n"
                "  traincheck-collect --keep 2G -- torchrun --nproc-per-node 8 train.py\n"
                "  traincheck-collect --plan single train.py --tp 1\n"
                "  traincheck-collect --plan parallel --plan-world 8 train.py --tp 4 --dp 2\n"
                "  traincheck-collect --plan parallel -- torchrun --nproc-per-node 8 train.py\n",
    .exit_codes = "The job's own, 128 + N if signal N ended it.\n"
                  "125  the collector failed before the job started\n",
    .options = options,
    .rest = AT(target),
    .dashes = AT(dashes),
    .first_argument = true,
    .version = collect_version,
};
