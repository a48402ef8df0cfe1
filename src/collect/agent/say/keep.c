/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.c - how much disk the file takes is asked each second; an eighth of the limit goes at once
 *
 * A live check writes the steps with findings into files of the folder, which are read before
 * anything is deleted. Where the file system cannot delete a part of a file, a note says so and all
 * is kept. The writing thread alone calls this.
 */
#include "collect/agent/say/keep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/vec.h"
#include "collect/agent/say/sink.h"
#include "trace/trim.h"

#define EVERY_NS UINT64_C(1000000000)
#define PART     8 /* of the limit: goes at once, and may stay for the first steps */

static struct {
    char *path; /* NULL: all is kept */
    uint64_t limit, asked_ns;
    struct tc_trim *trim;
    TC_VEC(int64_t) marks; /* steps with a finding */
} keep;

void tc_keep_begin(const char *path, uint64_t limit)
{
    tc_trim_close(keep.trim);
    keep.trim = NULL;
    tc_free(keep.path);
    keep.path = limit ? tc_strdup(path) : NULL;
    keep.limit = limit;
    keep.asked_ns = 0;
}

static void give_up(const struct tc_error *err)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_strbuf_adds(&line, "{\"type\":\"note\",\"code\":\"keep\",\"text\":");
    tc_strbuf_add_json(&line, err->text, strlen(err->text));
    tc_strbuf_adds(&line, "}\n");
    tc_sink_put_late(line.text, line.size, 0);
    tc_strbuf_release(&line);
    tc_keep_begin(NULL, 0);
}

/* A line for each step. */
static void read_marks_of(const char *path)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *line, *rest;

    if (tc_fs_read(path, TC_FS_MAX_SMALL, &text, NULL) == TC_OK && text.size)
        for (line = strtok_r(text.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            tc_vec_push(&keep.marks, strtoll(line, NULL, 10));
    tc_strbuf_release(&text);
}

static void read_marks(void)
{
    const size_t n_folder = (size_t)(tc_fs_base(keep.path) - keep.path);
    struct tc_strbuf folder = TC_STRBUF_INIT;
    char **names;
    size_t n;

    keep.marks.n = 0;
    tc_strbuf_add(&folder, keep.path, n_folder);
    tc_strbuf_adds(&folder, n_folder ? "" : ".");
    if (tc_fs_list(folder.text, &names, &n, NULL) == TC_OK) {
        for (size_t i = 0; i < n; i++) {
            if (!tc_trim_is_marks(names[i]))
                continue;
            char *path = tc_fs_join(folder.text, names[i]);
            read_marks_of(path);
            tc_free(path);
        }
        tc_fs_list_free(names, n);
    }
    tc_strbuf_release(&folder);
}

static bool keeps(void *context, int64_t first_step, int64_t last_step, bool *ends)
{
    (void)context;
    *ends = false;
    return tc_trim_is_near(keep.marks.items, keep.marks.n, first_step, last_step);
}

/* Half of what may stay is the newest, whatever lies before it. */
static void trim(const struct stat *st, uint64_t disk)
{
    const uint64_t size = (uint64_t)st->st_size, newest = keep.limit / 2;
    const struct tc_trim_order order = {
        .bytes = disk - keep.limit + keep.limit / PART,
        .until = size > newest ? size - newest : 0, /* a file system may give blocks ahead */
        .keeps = keeps,
    };
    uint64_t freed;
    struct tc_error err;
    enum tc_status status = TC_OK;

    read_marks();
    if (!keep.trim)
        status = tc_trim_open(keep.path, keep.limit / PART, &keep.trim, &err);
    if (!status)
        status = tc_trim_run(keep.trim, &order, &freed, &err);
    if (status)
        give_up(&err);
}

void tc_keep_serve(void)
{
    const uint64_t now_ns = keep.path ? tc_clock_ns() : 0;
    struct stat st;

    if (!keep.path || now_ns - keep.asked_ns < EVERY_NS || stat(keep.path, &st) != 0)
        return;
    keep.asked_ns = now_ns;
    const uint64_t disk = (uint64_t)st.st_blocks * 512;
    if (disk > keep.limit)
        trim(&st, disk);
}
