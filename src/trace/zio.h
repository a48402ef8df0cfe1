/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zio.h - the one door to zstd: a file is a run of independent frames
 *
 * Every frame has a content checksum and its decoded size in its header.
 */
#ifndef TC_TRACE_ZIO_H
#define TC_TRACE_ZIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include <traincheck/error.h>

/* While a job runs. Records repeat long texts: level 3, which looks for short ones, too, takes more
 * time and leaves larger files. */
#define TC_ZIO_LEVEL 1
/* Of what is written once and kept. Level 12 saves 0.4 % more, and takes 30 MB more of memory. */
#define TC_ZIO_LEVEL_KEPT 8
/* Decoded frames above this are refused: a hostile header must not make us allocate. */
#define TC_ZIO_MAX_FRAME ((size_t)64 << 20)

struct tc_zio; /* reusable compression and decompression state; not for two threads at once */

struct tc_zio *tc_zio_new(void);
void tc_zio_free(struct tc_zio *zio);
/* Before the first frame that is packed; TC_ZIO_LEVEL if it is not called. */
void tc_zio_set_level(struct tc_zio *zio, int level);

/* Append one frame that holds data. */
enum tc_status tc_zio_pack(struct tc_zio *zio, const void *data, size_t size, struct tc_strbuf *out,
                           struct tc_error *err);

/* Is this the start of a zstd frame? */
bool tc_zio_is_frame(const void *data, size_t size);

/*
 * Frames that hold nothing: their bodies are skipped, and may be a hole of the file. Sizes are of
 * the whole frame with its header, which is all that is packed; at most 4 GiB.
 */
#define TC_ZIO_SKIPPABLE_HEADER ((size_t)8)
void tc_zio_pack_skippable(uint64_t size, struct tc_strbuf *out);
/* Is this the start of one, with its header? Then *frame is its size. */
bool tc_zio_is_skippable(const void *data, size_t size, uint64_t *frame);

/*
 * Decode the frame at the start of data, appended to out; *used is its length in bytes.
 * TC_END if data holds only the beginning of a frame, or of a skippable one; TC_E_FORMAT if it is
 * damaged.
 */
enum tc_status tc_zio_unpack(struct tc_zio *zio, const void *data, size_t size,
                             struct tc_strbuf *out, size_t *used, struct tc_error *err);

#endif /* TC_TRACE_ZIO_H */
