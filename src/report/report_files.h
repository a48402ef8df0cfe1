/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_files.h - the files of an output folder, from a table of forms
 */
#ifndef TC_REPORT_REPORT_FILES_H
#define TC_REPORT_REPORT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include <traincheck/error.h>

struct tc_report_file {
    const char *format; /* NULL: written always; html: unless it is not wanted; else if asked for */
    const char *file;   /* in the output folder; NULL: goes to stdout */
};

/* Print form i of the table. */
typedef void tc_report_print_fn(const void *report, size_t i, struct tc_strbuf *out);

struct tc_report_target {
    const char *output_dir;     /* created; NULL: no files are written */
    const char *const *formats; /* those that are asked for */
    size_t n_formats;
    bool no_html_report;
    void (*write)(void *context, const char *text, size_t size); /* stdout */
    void *context;
};

/* Print each that is wanted. The first that cannot be written ends it. */
enum tc_status tc_report_files_write(const struct tc_report_file *files, size_t n_files,
                                     const struct tc_report_target *target,
                                     tc_report_print_fn *print, const void *report,
                                     struct tc_error *err);

#endif /* TC_REPORT_REPORT_FILES_H */
