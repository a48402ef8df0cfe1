/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - the entry point of a fuzz target, called by libFuzzer and by driver.c
 */
#ifndef TC_TESTS_FUZZ_H
#define TC_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert this stays in release builds. */
#define FUZZ_CHECK(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

#endif /* TC_TESTS_FUZZ_H */
