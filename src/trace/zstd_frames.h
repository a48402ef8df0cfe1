/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd_frames.h - the bytes of a trace file as JSON text, one zstd frame at a time; private to
 * lines.c
 *
 * What is damaged is noted ("bad-frame", "hole") and skipped up to the next frame.
 */
#ifndef TC_TRACE_ZSTD_FRAMES_H
#define TC_TRACE_ZSTD_FRAMES_H

#include "base/strbuf.h"
#include "trace/zio.h"
#include <traincheck/trace.h>

struct tc_frames;

/* name goes into notes; both are borrowed and outlive the frames. */
enum tc_status tc_frames_open(const char *path, const char *name, struct tc_notes *notes,
                              struct tc_frames **out, struct tc_error *err);
void tc_frames_close(struct tc_frames *frames);

/* Before the first frame: unpack by this zio, which is borrowed and stays when the frames are
 * parked; those of thousands of files, read in turns, need no more than one. */
void tc_frames_share(struct tc_frames *frames, struct tc_zio *zio);
/* That one, or its own, which lives until it is parked. */
struct tc_zio *tc_frames_zio(struct tc_frames *frames);

/*
 * Append the text of the next frame, or the next piece of a plain file. *is_gap: bytes between it
 * and the text before it were lost. TC_END when the rest of the file, if any, is no whole frame;
 * called again it looks whether the file has grown.
 */
enum tc_status tc_frames_next(struct tc_frames *frames, struct tc_strbuf *text, bool *is_gap,
                              struct tc_error *err);

/* Give back the file descriptor and what was read ahead; the next call opens the file again. */
void tc_frames_park(struct tc_frames *frames);

/* After TC_END: bytes of the frame that the file ends in the midst of. */
size_t tc_frames_torn(const struct tc_frames *frames);
/* Was all of the first `size` bytes of the file returned as text? */
bool tc_frames_has_all_of(const struct tc_frames *frames, uint64_t size);
/* Bytes read from the file. */
uint64_t tc_frames_bytes(const struct tc_frames *frames);

#endif /* TC_TRACE_ZSTD_FRAMES_H */
