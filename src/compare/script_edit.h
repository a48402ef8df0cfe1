/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_edit.h - where the sources of two runs differ, and the words that an edit changed
 *
 * An edit is a hunk of the sources' diff. Its words, names and keywords of Python of two letters or
 * more, tell what it may have to do with: with a line, a call or a sentence that has one of them.
 * Words are sets of hashes.
 */
#ifndef TC_COMPARE_SCRIPT_EDIT_H
#define TC_COMPARE_SCRIPT_EDIT_H

#include "base/map.h"
#include "compare/differences.h"
#include "compare/script_text.h"

struct tc_script_edit {
    const struct tc_script *a, *b; /* one file of the reference and of the run; NULL: no edit */
    size_t hunk;                   /* tc_script_hunk() */
};

/* The edit that a line is in, if it is in one. is_run: the script is of the run. */
struct tc_script_edit tc_script_edit_at(const struct tc_script *script, size_t line, bool is_run);

/* edit, and its first line of code in each script; script_a or script_b is NULL where it has none.
 */
typedef void tc_script_edit_fn(void *context, const struct tc_script_edit *edit,
                               const struct tc_edited_lines *lines);
/* Each edit that has such a line. */
void tc_script_edits_each(const struct tc_scripts *run, tc_script_edit_fn *fn, void *context);

/* Add the words of a text; those of the line of a place, "train.py:16". */
void tc_words_of_text(struct tc_map *words, const char *text);
void tc_words_of_place(struct tc_map *words, const struct tc_scripts *scripts, const char *at);

enum {
    TC_WORD_KEPT = 1,    /* both versions of the edited lines have it */
    TC_WORD_CHANGED = 2, /* one of them has */
};

/* The words of the edited lines, each with one of these. */
struct tc_map tc_words_of_edit(const struct tc_script_edit *edit);
/* Count each of the words once more. */
void tc_words_count(struct tc_map *counts, const struct tc_map *words);
/* Words of the scripts, each with how many lines have it. */
struct tc_map tc_words_by_line(const struct tc_scripts *scripts);
/* How much of the words the edit has: each counts as often as its value says, twice if it was
 * changed, and the less, the more lines of the program have it. */
double tc_words_share(const struct tc_map *edit, const struct tc_map *words,
                      const struct tc_map *n_lines);

#endif /* TC_COMPARE_SCRIPT_EDIT_H */
