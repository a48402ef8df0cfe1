/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_files.c - one loop over a table of forms, for what is no check: plans, comparisons
 */
#include "report/report_files.h"

#include <string.h>

#include "base/fs.h"
#include "base/vec.h"

static bool is_wanted(const struct tc_report_file *file, const struct tc_report_target *target)
{
    if (file->file && !target->output_dir)
        return false;
    if (!file->format || (!strcmp(file->format, "html") && !target->no_html_report))
        return true;
    for (size_t i = 0; i < target->n_formats; i++)
        if (!strcmp(target->formats[i], file->format))
            return true;
    return false;
}

static enum tc_status write_one(const struct tc_report_file *file,
                                const struct tc_report_target *target, const struct tc_strbuf *text,
                                struct tc_error *err)
{
    if (!file->file) {
        if (text->size)
            target->write(target->context, text->text, text->size);
        return TC_OK;
    }
    char *path = tc_fs_join(target->output_dir, file->file);
    enum tc_status status = tc_fs_write(path, text->text ? text->text : "", text->size, err);

    tc_free(path);
    return status;
}

enum tc_status tc_report_files_write(const struct tc_report_file *files, size_t n_files,
                                     const struct tc_report_target *target,
                                     tc_report_print_fn *print, const void *report,
                                     struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < n_files && !status; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        if (!is_wanted(&files[i], target))
            continue;
        print(report, i, &text);
        if (files[i].file)
            status = tc_fs_mkdirs(target->output_dir, err);
        if (!status)
            status = write_one(&files[i], target, &text, err);
        tc_strbuf_release(&text);
    }
    return status;
}
