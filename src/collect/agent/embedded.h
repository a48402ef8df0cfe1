/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded.h - the Python files of the policy and the kernel's source, put into the agent at build
 * time
 */
#ifndef TC_COLLECT_EMBEDDED_H
#define TC_COLLECT_EMBEDDED_H

#include <stddef.h>

struct tc_embedded {
    const char *name; /* of the module */
    const char *file; /* as shown in tracebacks */
    const char *text;
};

/* In order of import; the last has no name. */
extern const struct tc_embedded tc_embedded[];

/* The same files as a Python with this magic number compiles them, in its marshal format. */
extern const long tc_compiled_magic;
extern const struct tc_compiled {
    const char *code;
    size_t n;
} tc_compiled[];

/* The files of the kernel for a device's compiler, one after the other; the last is NULL. */
extern const char *const tc_kernel_source[];

#endif /* TC_COLLECT_EMBEDDED_H */
