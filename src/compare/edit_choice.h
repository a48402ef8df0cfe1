/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_choice.h - does an edit of a script choose another number, or compute another way?
 *
 * A script chooses by what is written out: numbers, texts, and arguments that are given one by
 * name. An edit that changes nothing else is a choice. One that changes a name, an operator, an
 * index or a statement computes another way.
 */
#ifndef TC_COMPARE_EDIT_CHOICE_H
#define TC_COMPARE_EDIT_CHOICE_H

#include "compare/script_edit.h"

bool tc_edit_is_choice(const struct tc_script_edit *edit);

#endif /* TC_COMPARE_EDIT_CHOICE_H */
