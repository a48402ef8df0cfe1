/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_out.c - a piece of the lines at a time is given its digits, among the lines of the writer
 *
 * However many lines wait, the memory is that of a frame and a piece. What fails is kept by the
 * writer, which tries it again with each further piece. In the writing thread, without a lock.
 */
#include "collect/agent/say/write_out.h"

#include "base/clock.h"
#include "collect/agent/say/shorthand.h"

#define PIECE ((size_t)1 << 18) /* bytes */

static enum tc_status add_lines(struct tc_writer *writer, const struct tc_strbuf *lines,
                                struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t at = 0; at < lines->size;) {
        const uint64_t now_ns = tc_clock_ns();

        status = tc_writer_tick(writer, now_ns, err);
        struct tc_strbuf *out = tc_writer_lines(writer, now_ns);
        at += tc_shorthand_write_out(out, lines->text + at, lines->size - at, out->size + PIECE);
        if (status == TC_OK)
            status = tc_writer_added(writer, now_ns, err);
    }
    return status;
}

enum tc_status tc_write_out(struct tc_writer *writer, const struct tc_strbuf *lines, bool flush,
                            struct tc_error *err)
{
    enum tc_status status = add_lines(writer, lines, err);

    if (status == TC_OK)
        status = flush ? tc_writer_flush(writer, err) : tc_writer_tick(writer, tc_clock_ns(), err);
    return status;
}
