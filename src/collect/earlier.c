/* SPDX-License-Identifier: Apache-2.0 */
/*
 * earlier.c - search the folders beside a new trace for an earlier run of the script
 *
 * Only the first record of a trace is read, and of a short one its last. A folder that cannot be
 * read is passed over: what is found is a suggestion for the closing line, and nothing depends on
 * it.
 */
#include "collect/earlier.h"

#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include <traincheck/trace.h>

#define MAX_FOLDERS 500 /* that are looked into */
/* Of a file that is read for how its run ended: a fifth of a second. */
#define MAX_BYTES (1 << 20)

static bool is_same_script(const struct tc_command_words *command, const struct tc_value *argv)
{
    if (!argv || argv->kind != TC_VALUE_ARRAY || !argv->n)
        return false;
    for (size_t i = 0; i < command->n; i++)
        if (tc_value_is(&argv->items[0], command->items[i]))
            return true;
    return false;
}

/* It says so in its last record; the end of one that was killed is not known. */
static bool has_failed(struct tc_trace_file *file)
{
    const struct tc_record *record;
    struct tc_error err;
    int64_t exit_status = -1;

    while (tc_trace_file_next(file, &record, &err) == TC_OK)
        if (record->type == TC_RECORD_END)
            exit_status = tc_value_int(tc_value_get(record->object, "exit"), 0);
    return exit_status != 0;
}

static bool is_example(const struct tc_command_words *command, const char *path, off_t size)
{
    struct tc_trace_file *file;
    struct tc_error err;

    if (tc_trace_file_open(path, NULL, &file, &err) != TC_OK)
        return false;
    const struct tc_value *process = tc_trace_file_process(file)->object;
    bool is_one = tc_value_is(tc_value_get(process, "role"), "main") &&
                  !tc_value_get(process, "selection") &&
                  is_same_script(command, tc_value_get(process, "argv")) &&
                  (size > MAX_BYTES || !has_failed(file));
    tc_trace_file_close(file);
    return is_one;
}

/* When the folder's first trace was written last; 0 if it is no example. */
static int64_t written_ns(const struct tc_command_words *command, const char *folder)
{
    struct tc_error err;
    struct stat info;
    char **names;
    size_t n;
    int64_t when = 0;

    if (!tc_fs_is_dir(folder) || tc_fs_list(folder, &names, &n, &err) != TC_OK)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(names[i], "trace_", 6) != 0)
            continue;
        char *path = tc_fs_join(folder, names[i]);
        if (stat(path, &info) == 0 && is_example(command, path, info.st_size))
            when = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
        tc_free(path);
        break;
    }
    tc_fs_list_free(names, n);
    return when;
}

bool tc_collect_earlier(const struct tc_command_words *command, const char *dir,
                        struct tc_strbuf *name)
{
    struct tc_strbuf parent = TC_STRBUF_INIT;
    struct tc_error err;
    const char *base = tc_fs_base(dir);
    const char *newest = NULL;
    char **names;
    size_t n;
    int64_t newest_ns = 0;

    tc_strbuf_add(&parent, dir, (size_t)(base - dir));
    if (tc_fs_list(parent.size ? parent.text : ".", &names, &n, &err) != TC_OK) {
        tc_strbuf_release(&parent);
        return false;
    }
    for (size_t i = 0; i < n && i < MAX_FOLDERS; i++) {
        if (!strncmp(names[i], base, strlen(names[i])) && strcspn(base, "/") == strlen(names[i]))
            continue; /* this run's own */
        char *path = parent.size ? tc_fs_join(parent.text, names[i]) : tc_strdup(names[i]);
        int64_t when = written_ns(command, path);
        tc_free(path);
        if (when <= newest_ns)
            continue;
        newest_ns = when;
        newest = names[i];
    }
    if (newest)
        tc_strbuf_addf(name, "%s%s", parent.size ? parent.text : "", newest);
    tc_fs_list_free(names, n);
    tc_strbuf_release(&parent);
    return newest;
}
