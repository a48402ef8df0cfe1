/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - status texts and error messages
 */
#include <traincheck/error.h>
#include <traincheck/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tc_version(void)
{
    return TC_VERSION;
}

const char *tc_status_text(enum tc_status status)
{
    switch (status) {
#define X(name, value, text) \
    case TC_##name:          \
        return text;
        TC_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

enum tc_status tc_error_set(struct tc_error *err, enum tc_status status, const char *fmt, ...)
{
    char text[sizeof(err->text)]; /* apart, because arguments may point into err->text */
    va_list args;

    if (!err)
        return status;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    err->status = status;
    memcpy(err->text, text, sizeof(text));
    return status;
}

void tc_error_prefix(struct tc_error *err, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list args;
    size_t room;
    int size;

    if (!err)
        return;
    va_start(args, fmt);
    size = vsnprintf(text, sizeof(text) - 2, fmt, args);
    va_end(args);
    if (size < 0 || (size_t)size >= sizeof(text) - 2)
        return;
    memcpy(text + size, ": ", 2);
    size += 2;
    room = sizeof(text) - (size_t)size;
    memcpy(text + size, err->text, room);
    text[sizeof(text) - 1] = '\0';
    memcpy(err->text, text, sizeof(text));
}
