/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recount.c - reads the untold ends of trace files and counts their frames and lines
 *
 * Only files that the board has a row of, by inode, and that are longer than that row says. Files
 * are mapped; what is torn at the end is left out. Nothing is changed in them.
 */
#include "collect/recount.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/vec.h"
#include "trace/zio.h"

static uint64_t count_lines(const struct tc_strbuf *text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text->size; i++)
        n += text->text[i] == '\n';
    return n;
}

/* The whole frames at the start of data; what follows them was torn. */
static void add_frames(const char *data, size_t size, struct tc_board_totals *totals)
{
    struct tc_zio *zio = tc_zio_new();
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_error err = {0};
    size_t at = 0, used;

    while (at < size && tc_zio_unpack(zio, data + at, size - at, &text, &used, &err) == TC_OK) {
        totals->records += count_lines(&text);
        totals->bytes += used;
        at += used;
        tc_strbuf_reset(&text);
    }
    tc_strbuf_release(&text);
    tc_zio_free(zio);
}

/* Mapped whole, as a mapping must begin at a page; only what was not told is read. */
static void add_untold(int fd, size_t size, size_t told, struct tc_board_totals *totals)
{
    char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

    if (data == MAP_FAILED)
        return;
    add_frames(data + told, size - told, totals);
    munmap(data, size);
}

static void recount(const char *path, struct tc_board_totals *totals)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat info;
    uint64_t bytes;

    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        tc_board_told_of((uint64_t)info.st_ino, &bytes) && (uint64_t)info.st_size > bytes)
        add_untold(fd, (size_t)info.st_size, bytes, totals);
    close(fd);
}

void tc_recount(const char *folder, struct tc_board_totals *totals)
{
    struct tc_error err = {0};
    char **names;
    size_t n;

    if (tc_fs_list(folder, &names, &n, &err) != TC_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        char *path = tc_fs_join(folder, names[i]);

        recount(path, totals);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
}
