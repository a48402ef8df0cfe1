/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_text.h - the sources of two runs, and which line of one is which of the other
 *
 * Sources come from the `source` records of traces. A file of one run is that of the other that has
 * the same name, else the same name without its folders, else both are the program that was
 * started, else most lines are the same.
 */
#ifndef TC_COMPARE_SCRIPT_TEXT_H
#define TC_COMPARE_SCRIPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include <traincheck/record.h>

struct tc_script_line {
    const char *text; /* not terminated, without its newline */
    uint32_t size;
    uint32_t number; /* equal for equal lines, blanks at the end left out */
    bool is_code;    /* not blank, no comment, and not of a text of several lines */
};

struct tc_script {
    const char *at; /* as calls name it: "examples/train.py" */
    const char *digest;
    struct tc_script_line *lines; /* NULL where the trace has no text */
    size_t n_lines;
    struct tc_script *other; /* the same file of the other run; NULL: there is none */
    size_t *match;           /* line of this, from 0, to that of other, or TC_UNMATCHED */
};

/* The sources of a run, in the order in which they are reported. All zero to begin with. */
struct tc_scripts {
    struct tc_arena arena;
    TC_VEC(struct tc_script *) items;
};

/* A `source` record. What was reported before is reported once. */
void tc_scripts_add(struct tc_scripts *scripts, const struct tc_record *record);
void tc_scripts_release(struct tc_scripts *scripts);

/* A letter, a digit or '_', as names of Python have them. */
bool tc_script_is_in_word(char c);

/* Pair the files of two runs and their lines, in both directions. */
void tc_scripts_pair(struct tc_scripts *a, struct tc_scripts *b);
/* Undo that, for the scripts of a. */
void tc_scripts_unpair(struct tc_scripts *a);

/* The file of that name, size bytes; NULL if none was reported. */
struct tc_script *tc_scripts_find(const struct tc_scripts *scripts, const char *at, size_t size);

/* "train.py:16": how many bytes the name has, and the line, from 1; 0 bytes where it names none. */
size_t tc_place_split(const char *at, size_t *line);

/* The file of a place, as "train.py:16", with its line from 0; NULL: no text of it was reported. */
const struct tc_script *tc_scripts_at(const struct tc_scripts *scripts, const char *at,
                                      size_t *line);

/* Is line_b of b, which is a's other, what line_a of a became: the same line, or in the same hunk?
 */
bool tc_script_is_same_hunk(const struct tc_script *a, size_t line_a, const struct tc_script *b,
                            size_t line_b);

/* The line of the other file that is this one, or stands where it was. */
size_t tc_script_line_in_other(const struct tc_script *script, size_t line);
/* Lines of one hunk of both files have one number: how many lines of the reference stand before it.
 * is_run: the script is of the run. */
size_t tc_script_hunk(const struct tc_script *script, size_t line, bool is_run);

/* Is the program of run b, its first script, one that run a has, if edited? Not where a trace has
 * no sources. */
bool tc_scripts_are_of_one_program(const struct tc_scripts *a, const struct tc_scripts *b);

/* Have both runs this file, with the same content? Not where it could not be read. */
bool tc_script_is_equal(const struct tc_script *script);

/* Lines of the file that the other run's file does not have. */
size_t tc_script_n_changed(const struct tc_script *script);

#endif /* TC_COMPARE_SCRIPT_TEXT_H */
