/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.h - --keep: the oldest steps of this process's file go when it takes too much disk
 */
#ifndef TC_COLLECT_KEEP_H
#define TC_COLLECT_KEEP_H

#include <stdint.h>

/* The file at path takes at most so many bytes of disk from now on; 0: any number. */
void tc_keep_begin(const char *path, uint64_t limit);
/*
 * By the writing thread, which writes nothing meanwhile. Steps that a live check has marked in the
 * folder (docs/online.md) stay, with those around them. Where the file system cannot give back a
 * part of a file a note says so, and all is kept.
 */
void tc_keep_serve(void);

#endif /* TC_COLLECT_KEEP_H */
