/* SPDX-License-Identifier: Apache-2.0 */
/*
 * location.c - "FILE:LINE" taken apart, with paths made relative to the working folder
 *
 * Editors and code hosts find a file by its path from where the tool is run. A text without a line
 * number is no location (false).
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of path below the working folder, or all of it. */
static const char *from_here(const char *path)
{
    char *here = getcwd(NULL, 0);
    size_t n = here ? strlen(here) : 0;
    bool is_below = n > 1 && !strncmp(path, here, n) && path[n] == '/' && path[n + 1];

    free(here);
    return is_below ? path + n + 1 : path;
}

bool tc_report_location(const char *at, struct tc_strbuf *path, int64_t *line)
{
    const char *colon = strrchr(at, ':');
    struct tc_strbuf whole = TC_STRBUF_INIT;
    char *end;

    if (!colon || colon == at)
        return false;
    *line = strtoll(colon + 1, &end, 10);
    if (end == colon + 1 || *end || *line < 1)
        return false;
    tc_strbuf_add(&whole, at, (size_t)(colon - at));
    tc_strbuf_adds(path, from_here(whole.text));
    tc_strbuf_release(&whole);
    return true;
}
