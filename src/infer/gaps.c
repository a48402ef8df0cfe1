/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gaps.c - what the process record and the counts of a folder say of its use for learning
 *
 * The main process is the first that is no worker. Texts point into the folder. Notes only:
 * nothing is refused here.
 */
#include "infer/gaps.h"

#include <inttypes.h>

/* As many examples as most relations ask for. */
#define FEW_STEPS 3

static const struct tc_record *main_process(const struct tc_trace_folder *folder)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_record *process = tc_trace_file_process(tc_trace_folder_file(folder, i));
        if (process && !tc_str_is(process->role, "worker"))
            return process;
    }
    return NULL;
}

bool tc_folder_has_begun(const struct tc_trace_folder *folder)
{
    return main_process(folder) != NULL;
}

struct tc_str tc_folder_torch(const struct tc_trace_folder *folder)
{
    const struct tc_record *process = main_process(folder);
    struct tc_str version = {"", 0};

    if (process) {
        struct tc_str found =
            tc_value_str(tc_value_get(tc_value_get(process->object, "packages"), "torch"));
        version = found.text ? found : version;
    }
    return version;
}

struct tc_str tc_folder_script(const struct tc_trace_folder *folder)
{
    const struct tc_record *process = main_process(folder);
    const struct tc_value *argv = process ? tc_value_get(process->object, "argv") : NULL;
    struct tc_str script = {"", 0};

    if (argv && argv->kind == TC_VALUE_ARRAY && argv->n && tc_value_str(&argv->items[0]).text)
        script = tc_value_str(&argv->items[0]);
    return script;
}

bool tc_folder_has_operators(const struct tc_trace_folder *folder)
{
    const struct tc_record *process = main_process(folder);
    const struct tc_value *said = process ? tc_value_get(process->object, "operators") : NULL;

    return !process || tc_value_is_true(said) ||
           !tc_value_is(tc_value_get(process->object, "mode"), "full");
}

void tc_gaps_note(const struct tc_trace_folder *folder, const struct tc_replay_counts *counts,
                  const char *name, struct tc_notes *notes)
{
    if (!main_process(folder))
        tc_notes_add(notes, "no-main", name, 0,
                     "only DataLoader workers: nothing is learned about training");
    else if (!counts->n_calls)
        tc_notes_add(notes, "no-calls", name, 0, "no call: nothing is learned");
    else if (!counts->n_step_windows)
        tc_notes_add(notes, "no-steps", name, 0,
                     "no optimizer step: nothing is learned about steps and their order");
    else if (counts->n_step_windows < FEW_STEPS)
        tc_notes_add(notes, "few-steps", name, 0, "only %" PRIu64 " step%s: most relations need %d",
                     counts->n_step_windows, counts->n_step_windows == 1 ? "" : "s", FEW_STEPS);
    if (main_process(folder) && counts->n_calls && !counts->n_variables)
        tc_notes_add(notes, "no-variables", name, 0,
                     "no parameter was looked at: nothing is learned about weights and gradients");
}
