/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_out.h - lines in shorthand, written to the trace's file
 */
#ifndef TC_COLLECT_WRITE_OUT_H
#define TC_COLLECT_WRITE_OUT_H

#include "base/strbuf.h"
#include "trace/writer.h"

/* Hand all lines to the writer, which flushes them or waits for more. */
enum tc_status tc_write_out(struct tc_writer *writer, const struct tc_strbuf *lines, bool flush,
                            struct tc_error *err);

#endif /* TC_COLLECT_WRITE_OUT_H */
