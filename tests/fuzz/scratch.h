/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.h - a folder of the fuzzing process, in memory where the machine has such a place
 *
 * It is made at the first call and removed when the process ends. Files are written without the
 * care of base/fs.h: to sync each input to a disk would be most of the work.
 */
#ifndef TC_TESTS_FUZZ_SCRATCH_H
#define TC_TESTS_FUZZ_SCRATCH_H

#include <stddef.h>

#include "base/strbuf.h"

/* Its path with "/name" after it; lives as long as the process. */
const char *fuzz_path(const char *name);
const char *fuzz_folder(const char *name); /* the same; the folder is there afterwards */
void fuzz_put(const char *path, const void *data, size_t size);
void fuzz_get(const char *path, struct tc_strbuf *out);

#endif /* TC_TESTS_FUZZ_SCRATCH_H */
