/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - asks for the width anew with each drawing, so that no signal need be heard
 *
 * The last column stays free, as some terminals go to the next line when it is filled. A terminal
 * that was made narrower has broken the line into several, of which the cursor is on the first:
 * then all that is below goes, too.
 */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/strbuf.h"

#define USUAL_COLUMNS 80 /* where a terminal does not say how wide it is */

bool tc_terminal_redraws(int fd)
{
    const char *term = getenv("TERM");

    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static size_t columns_of(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
}

/* It need not be the terminal of this process at all. */
static bool is_in_background(int fd)
{
    const pid_t group = tcgetpgrp(fd);

    return group > 0 && group != getpgrp();
}

/* How many bytes of the text stand in so many columns. */
static size_t fit(const char *text, size_t columns)
{
    const size_t size = strlen(text);

    if (size <= columns)
        return size;
    for (size_t i = columns; i > 0; i--)
        if (text[i] == ' ' && text[i + 1] == ' ')
            return i;
    return columns;
}

static void replace(struct tc_terminal_line *line, const char *text, size_t size, size_t columns)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    tc_strbuf_adds(&out, line->shown > columns ? "\r\033[J" : "\r\033[K");
    tc_strbuf_add(&out, text, size);
    if (size)
        tc_strbuf_addc(&out, '\r');
    line->shown = size;
    if (!is_in_background(line->fd))
        tc_fs_write_all(line->fd, out.text, out.size);
    tc_strbuf_release(&out);
}

void tc_terminal_draw(struct tc_terminal_line *line, const char *text)
{
    const size_t columns = columns_of(line->fd);

    replace(line, text, fit(text, columns - 1), columns);
}

void tc_terminal_erase(struct tc_terminal_line *line)
{
    if (line->shown)
        replace(line, "", 0, columns_of(line->fd));
}
