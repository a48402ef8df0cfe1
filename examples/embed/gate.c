/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - a program of your own that judges traces with libtraincheck
 *
 *   gate TRACE INVARIANTS...      exits with 1 if something broke
 *
 * It prints each violation as a line of JSON, as docs/violation-format.md has it, and the counts on
 * stderr. Nothing is written to the disk.
 */
#include <stdio.h>

#include <traincheck/check.h>
#include <traincheck/trace.h>
#include <traincheck/version.h>

static void write_out(void *context, const char *text, size_t size)
{
    fwrite(text, 1, size, context);
}

/* How many calls does the trace hold? Only to show how records are read. */
static enum tc_status count_calls(const char *path, unsigned long *n_calls, struct tc_error *err)
{
    struct tc_trace_folder *folder = NULL;
    const struct tc_record *record;
    size_t file;
    enum tc_status status = tc_trace_folder_open(path, NULL, &folder, err);

    while (status == TC_OK && !(status = tc_trace_folder_next(folder, &file, &record, err)))
        *n_calls += record->type == TC_RECORD_CALL;
    tc_trace_folder_close(folder);
    return status == TC_END ? TC_OK : status;
}

int main(int argc, char **argv)
{
    struct tc_check_result result;
    struct tc_error err;
    unsigned long n_calls = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: gate TRACE INVARIANTS...\n");
        return 2;
    }
    const struct tc_check_config config = {
        .traces = (const char *const *)argv + 1,
        .n_traces = 1,
        .invariants = (const char *const *)argv + 2,
        .n_invariants = (size_t)argc - 2,
        .json = true,
        .write = write_out,
        .context = stdout,
    };
    if (count_calls(argv[1], &n_calls, &err) || tc_check_run(&config, &result, NULL, &err)) {
        fprintf(stderr, "gate: %s\n", err.text);
        return 2;
    }
    fprintf(stderr, "libtraincheck %s: %lu calls, %llu of %llu invariants broke\n", tc_version(),
            n_calls, (unsigned long long)result.n_failed, (unsigned long long)result.n_invariants);
    return result.n_failed > 0;
}
