/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded.h - the Python files of the policy, put into the agent at build time
 */
#ifndef TC_COLLECT_EMBEDDED_H
#define TC_COLLECT_EMBEDDED_H

struct tc_embedded {
    const char *name; /* of the module */
    const char *file; /* as shown in tracebacks */
    const char *text;
};

/* In order of import; the last has no name. */
extern const struct tc_embedded tc_embedded[];

#endif /* TC_COLLECT_EMBEDDED_H */
