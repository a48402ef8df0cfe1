/* SPDX-License-Identifier: Apache-2.0 */
/*
 * earlier.h - the run before this one: of two healthy runs more is learned than of one
 */
#ifndef TC_COLLECT_EARLIER_H
#define TC_COLLECT_EARLIER_H

#include <stdbool.h>

#include "base/strbuf.h"

/* What is run: a script is one of its words. */
struct tc_command_words {
    const char *const *items;
    size_t n;
};

/*
 * Add the name of the newest folder beside dir that holds a whole trace of the same script, which
 * is one of the words. Not of a run that is known to have failed, nor of one that was traced for
 * some invariants alone.
 */
bool tc_collect_earlier(const struct tc_command_words *command, const char *dir,
                        struct tc_strbuf *name);

#endif /* TC_COLLECT_EARLIER_H */
