/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - what unit tests share: cmocka's headers, random numbers, a scratch folder
 */
#ifndef TC_TESTS_UNIT_H
#define TC_TESTS_UNIT_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* xorshift64*: the same numbers on every machine; *state must not be 0. */
static inline uint64_t unit_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline int unit_remove_one(const char *path, const struct stat *st, int flag,
                                  struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

/* A new empty folder under TMPDIR; unit_remove removes it and frees the name. */
static inline char *unit_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[512], *copy;

    snprintf(path, sizeof(path), "%s/tc-unit-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    copy = strdup(path);
    assert_non_null(copy);
    return copy;
}

static inline void unit_remove(char *folder)
{
    nftw(folder, unit_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

#endif /* TC_TESTS_UNIT_H */
