/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board.h - what the traced processes of one run tell the collector while they run
 *
 * A piece of shared memory, so that the closing line, --progress and --strict know of children too,
 * also of those that were killed. The collector makes it; the processes below open it by a path, as
 * launchers close the files that they do not know. Where none can be had, each process speaks for
 * itself and nothing else changes.
 */
#ifndef TC_COLLECT_BOARD_H
#define TC_COLLECT_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Of one process, or of all. */
struct tc_board_totals {
    uint64_t processes; /* Python processes that joined, but for forked ones */
    uint64_t passed_by; /* Python processes that were started so that they cannot */
    uint64_t files;     /* trace files opened */
    uint64_t file_id;   /* of one process: its file's, as tc_writer_file_id gives it */
    uint64_t steps;     /* of all processes: the largest */
    uint64_t calls;
    uint64_t records;               /* in the files */
    uint64_t dropped;               /* lost, as they could not be written */
    uint64_t first_lost, last_lost; /* the steps of those, if has_lost_steps */
    bool has_lost_steps;
    uint64_t errors; /* parts of tracing that were switched off */
    uint64_t bytes;  /* of the files */
    /* Of a budget: steps after the warm-up, those of them that were traced (of all processes: the
     * most), the time since then that tracing took, and the job's own, in one unit. No steps: there
     * is no budget. */
    uint64_t budget_steps, budget_traced, budget_spent, budget_worked;
    bool has_torch;    /* torch was imported */
    char failure[128]; /* why writing ended before its time, or empty; of all: the first */
};

/*
 * Make the board of a run. Returns its path for the processes below (the caller frees it), NULL if
 * the system gives none. It lives as long as this process, also through exec if survives_exec.
 */
char *tc_board_make(bool survives_exec);

/* What the closing line says that the collector alone knows: the interpreter that it started, and
 * the command to type next. Either may be NULL; a text that is too long is left out. */
void tc_board_announce(const char *program, const char *next);

/* Use the board at path, if there is one. */
void tc_board_open(const char *path);

/* There is one more process, perhaps to be traced. */
void tc_board_join(void);
/* There is one that will not join: its environment or its options keep it from the agent. */
void tc_board_pass_by(void);
/* What this process has done so far. One thread at a time. */
void tc_board_tell(const struct tc_board_totals *mine);
/* In a forked child: it has done nothing yet. */
void tc_board_forked(void);

/*
 * The length in bytes that was told of the file of that number. False if nobody told of it, or if
 * more processes had files than the board has room for.
 */
bool tc_board_told_of(uint64_t file_id, uint64_t *bytes);

/*
 * Which step is traced next is chosen by the first that gets there. replicas: a number that all of
 * one group have and no others; 0: a process is alone. number: of the choice, counted by each from
 * 0. distance: to the next that the caller could pay. Returns the step, which is the given one
 * where the choice is its own, or was made too long ago to be known.
 */
uint64_t tc_board_choose(uint64_t replicas, uint64_t number, uint64_t step, uint64_t distance);
/* The largest distance of those that had no choice last time, or 0. */
uint64_t tc_board_wanted(uint64_t replicas);

/* What all have told. Any thread, any process. */
void tc_board_sum(struct tc_board_totals *out);

/* "120 steps, 45678 records, 1.2 MB of 3 processes" */
void tc_board_describe(struct tc_strbuf *out, const struct tc_board_totals *totals);
/* "traincheck-infer …" where there is something to go on with, the run did not fail as far as is
 * known, and a person at the terminal of stderr reads it; else NULL. */
const char *tc_board_next(const struct tc_board_totals *totals, int exit_status);
/* "; lost: 3 records", or nothing. */
void tc_board_describe_losses(struct tc_strbuf *out, const struct tc_board_totals *totals);
/* Was any part of tracing switched off, or any record lost? */
bool tc_board_has_losses(const struct tc_board_totals *totals);

#endif /* TC_COLLECT_BOARD_H */
