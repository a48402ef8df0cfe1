/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - status codes and error messages
 *
 * Every function that can fail returns enum tc_status and takes a caller-owned
 * struct tc_error * as its last parameter, which may be NULL. On failure its
 * text names the input that was at fault: file, line or frame, field.
 */
#ifndef TRAINCHECK_ERROR_H
#define TRAINCHECK_ERROR_H

#include <traincheck/export.h>

/* name, value, text. TC_END is no failure: it is what a reader returns after the last item. */
#define TC_STATUS_MAP(X)                           \
    X(OK, 0, "success")                            \
    X(END, 1, "end of input")                      \
    X(E_USAGE, -1, "bad option or argument")       \
    X(E_IO, -2, "input/output error")              \
    X(E_FORMAT, -3, "malformed input")             \
    X(E_VERSION, -4, "unsupported format version") \
    X(E_NOTFOUND, -5, "not found")                 \
    X(E_PYTHON, -6, "Python error")                \
    X(E_INTERRUPTED, -7, "interrupted")            \
    X(E_NOMEM, -8, "out of memory")

enum tc_status {
#define X(name, value, text) TC_##name = value,
    TC_STATUS_MAP(X)
#undef X
};

struct tc_error {
    enum tc_status status;
    char text[512];
};

#define TC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A short text for a status; never NULL. */
TC_API const char *tc_status_text(enum tc_status status);

/* Fill *err (if not NULL) and return status, so that callers can write `return tc_error_set(...)`.
 */
TC_PRINTF(3, 4)
TC_API enum tc_status tc_error_set(struct tc_error *err, enum tc_status status, const char *fmt,
                                   ...);

/* Put "prefix: " before the text already in *err. */
TC_PRINTF(2, 3)
TC_API void tc_error_prefix(struct tc_error *err, const char *fmt, ...);

#endif /* TRAINCHECK_ERROR_H */
