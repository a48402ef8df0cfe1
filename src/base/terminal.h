/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - one line of a terminal that is drawn again and again in its place
 *
 * The cursor is left at the start of the line, so that what others print next stands there.
 */
#ifndef TC_BASE_TERMINAL_H
#define TC_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct tc_terminal_line {
    int fd;
    size_t shown; /* columns of what stands there; 0: nothing does */
};

/* Is it a terminal that can erase a line? By TERM: not "dumb", and said at all. */
bool tc_terminal_redraws(int fd);

/*
 * Put this ASCII text in place of what stands there. It is cut to the width that the terminal has
 * now; where two blanks separate parts, to whole ones. Nothing is drawn by a process in the
 * background, whose terminal another one uses. Errors of writing are nobody's concern.
 */
void tc_terminal_draw(struct tc_terminal_line *line, const char *text);
/* Nothing if nothing stands there. */
void tc_terminal_erase(struct tc_terminal_line *line);

#endif /* TC_BASE_TERMINAL_H */
