/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overwrite.h - what was there before is replaced only if it is ours, or --overwrite says so
 */
#ifndef TC_TOOLS_OVERWRITE_H
#define TC_TOOLS_OVERWRITE_H

#include <traincheck/error.h>

/* Invariants go to path: TC_E_USAGE if a file of another kind is there. */
enum tc_status overwrite_file(const char *path, struct tc_error *err);
/* Reports go into dir: TC_E_USAGE if it holds files, and no report. */
enum tc_status overwrite_folder(const char *dir, struct tc_error *err);

#endif /* TC_TOOLS_OVERWRITE_H */
