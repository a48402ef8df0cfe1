/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_scan.c - speed of scanning, of parsing records and of the whole reader
 *
 *     bench_scan [CALLS [FOLDER]]     default: 400000 calls, the trace goes to /tmp
 *
 * The trace is synthetic: one call of about 250 bytes and its return, as the
 * collector writes them for a forward of torch.nn.Linear.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "trace/scan.h"
#include "trace/writer.h"
#include <traincheck/trace.h>

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static void report(const char *what, uint64_t bytes, uint64_t records, uint64_t ns)
{
    printf("%-16s %8.1f MB/s  %8.1f ns/record  (%" PRIu64 " records, %.1f MB)\n", what,
           (double)bytes * 1e3 / (double)ns, (double)ns / (double)records, records,
           (double)bytes / 1e6);
}

static void make_trace(struct tc_strbuf *text, uint64_t n_calls)
{
    tc_strbuf_adds(text, "{\"type\":\"process\",\"schema\":1,\"pid\":4711,\"role\":\"main\","
                         "\"unix_ns\":1700000000000000000}\n");
    for (uint64_t i = 1; i <= n_calls; i++) {
        tc_strbuf_addf(text,
                       "{\"type\":\"call\",\"id\":%" PRIu64 ",\"fn\":\"torch.nn.Linear.forward\","
                       "\"t\":%" PRIu64 ",\"step\":%" PRIu64 ",\"stage\":\"training\","
                       "\"parent\":%" PRIu64 ",\"self\":{\"object\":\"torch.nn.Linear\",\"id\":%d,"
                       "\"attrs\":{\"training\":true,\"in_features\":64}},\"args\":{\"input\":"
                       "{\"tensor\":\"Tensor\",\"id\":%" PRIu64 ",\"shape\":[64,10],"
                       "\"dtype\":\"float32\",\"device\":\"cpu\",\"requires_grad\":true}}}\n",
                       i, i * 1234, i / 50, i - 1, (int)(i % 7), i % 1000);
        tc_strbuf_addf(text,
                       "{\"type\":\"return\",\"id\":%" PRIu64 ",\"t\":%" PRIu64
                       ",\"value\":{\"tensor\":\"Tensor\",\"id\":%" PRIu64
                       ",\"shape\":[64,10],\"dtype\":\"float32\",\"device\":\"cpu\","
                       "\"requires_grad\":true},\"finite\":true}\n",
                       i, i * 1234 + 600, i % 1000 + 1);
    }
}

static void bench_lines(const struct tc_strbuf *text, bool as_records)
{
    struct tc_arena arena = TC_ARENA_INIT;
    const char *p = text->text, *end = p + text->size;
    uint64_t n = 0, start = now_ns();

    for (; p < end; n++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        struct tc_record record;
        struct tc_value value;
        size_t size = (size_t)(newline - p);
        enum tc_status status;

        tc_arena_reset(&arena);
        status = as_records ? tc_record_parse(p, size, &arena, &record, NULL)
                            : tc_scan(p, size, &arena, &value, NULL);
        if (status != TC_OK)
            abort();
        p = newline + 1;
    }
    report(as_records ? "scan + record" : "scan", text->size, n, now_ns() - start);
    tc_arena_release(&arena);
}

static void bench_reader(const char *path, uint64_t bytes)
{
    struct tc_notes *notes = tc_notes_new();
    struct tc_trace_file *file;
    const struct tc_record *record;
    struct tc_error err;
    uint64_t n = 0, start = now_ns();

    if (tc_trace_file_open(path, notes, &file, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    while (tc_trace_file_next(file, &record, &err) == TC_OK)
        n++;
    report("reader", bytes, n, now_ns() - start);
    printf("%-16s %8.1f x\n", "compression", (double)bytes / (double)tc_trace_file_bytes(file));
    tc_trace_file_close(file);
    tc_notes_free(notes);
}

static void write_trace(const char *path, const struct tc_strbuf *text)
{
    struct tc_writer *writer;
    struct tc_error err;
    uint64_t start = now_ns();

    if (tc_writer_open(path, &writer, &err) != TC_OK ||
        tc_writer_add(writer, text->text, text->size, 0, &err) != TC_OK ||
        tc_writer_close(writer, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    printf("%-16s %8.1f MB/s\n", "writer", (double)text->size * 1e3 / (double)(now_ns() - start));
}

int main(int argc, char **argv)
{
    uint64_t n_calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 400000;
    struct tc_strbuf text = TC_STRBUF_INIT, path = TC_STRBUF_INIT;

    make_trace(&text, n_calls);
    tc_strbuf_addf(&path, "%s/trace_bench_r-_p%ld.jsonl.zst", argc > 2 ? argv[2] : "/tmp",
                   (long)getpid());
    bench_lines(&text, false);
    bench_lines(&text, true);
    write_trace(path.text, &text);
    bench_reader(path.text, text.size);
    unlink(path.text);
    tc_strbuf_release(&path);
    tc_strbuf_release(&text);
    return 0;
}
