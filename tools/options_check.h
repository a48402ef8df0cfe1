/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_check.h - what the command lines of check and onlinecheck share
 */
#ifndef TC_TOOLS_OPTIONS_CHECK_H
#define TC_TOOLS_OPTIONS_CHECK_H

#include "check.h"

/* Rows over struct check_options. */
extern const struct tc_opt check_shared_options[];

#define CHECK_EXIT_UNKNOWN                                                      \
    "3  no violation, but nothing was judged or the trace is damaged; or the\n" \
    "   invariants are of another script;\n"                                    \
    "   with --strict also: an invariant stayed unchecked\n"

#define CHECK_EXIT_CODES                                                      \
    "0  no violation\n"                                                       \
    "1  violations\n"                                                         \
    "2  wrong usage, unreadable invariants, or no trace\n" CHECK_EXIT_UNKNOWN \
    "130, 143  interrupted; what was found until then was written\n"

#endif /* TC_TOOLS_OPTIONS_CHECK_H */
