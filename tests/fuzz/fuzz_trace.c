/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace.c - from the lines of a trace to every report: replay, infer, evidence, check
 *
 * The input is one trace file, or two of two processes with a line "---" between them. What is
 * learned from it, and what a set written by hand says, is then checked on it.
 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "json_mutate.h"
#include <traincheck/check.h>
#include <traincheck/infer.h>

#define MARK "\n---\n"

static char root[64], trace[80], first[128], second[128], learned[96], evidence[96], by_hand[96],
    out[80], metrics[96];

/* One of each family, so that a trace of which nothing is learned is judged, too. */
static const char invariants[] =
    "{\"traincheck\":\"invariants\",\"schema\":1}\n"
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"torch.optim.Optimizer.step\",\"role\":"
    "\"step\"},{\"change\":\"Parameter\",\"attr\":\"data\",\"to\":\"changed\"}],\"when\":[]}\n"
    "{\"relation\":\"APISequence/window\",\"params\":[{\"call\":\"torch.optim.Optimizer.zero_grad\"},"
    "{\"call\":\"torch.Tensor.backward\"},{\"call\":\"torch.optim.Optimizer.step\"}],\"when\":[]}\n"
    "{\"relation\":\"Consistent/replica\",\"params\":[{\"variable\":\"Parameter\",\"attr\":\"data\",\"to\":"
    "\"equal\"}],\"when\":[]}\n"
    "{\"relation\":\"APIArg/constant\",\"params\":[{\"call\":\"root.forward\"},{\"operand\":\"self."
    "training\",\"is\":true}],\"when\":[]}\n";

static void remove_all(void)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    if (system(command)) /* at the end of the process */
        return;
}

static void put(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    FUZZ_CHECK(file && fwrite(data, 1, size, file) == size);
    fclose(file);
}

static void make_folders(void)
{
    snprintf(root, sizeof(root), "%s/fuzz_trace_XXXXXX",
             tc_fs_is_dir("/dev/shm") ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(root));
    snprintf(trace, sizeof(trace), "%s/t", root);
    snprintf(out, sizeof(out), "%s/o", root);
    FUZZ_CHECK(mkdir(trace, 0700) == 0 && mkdir(out, 0700) == 0);
    snprintf(first, sizeof(first), "%s/trace_h_r0_p1.jsonl", trace);
    snprintf(second, sizeof(second), "%s/trace_h_r1_p2.jsonl", trace);
    snprintf(learned, sizeof(learned), "%s/learned.jsonl", root);
    snprintf(by_hand, sizeof(by_hand), "%s/by_hand.jsonl", root);
    snprintf(evidence, sizeof(evidence), "%s/e.tce", root);
    snprintf(metrics, sizeof(metrics), "%s/metrics", root);
    put(by_hand, invariants, sizeof(invariants) - 1);
    atexit(remove_all);
}

static void write_nothing(void *context, const char *text, size_t size)
{
    (void)context;
    FUZZ_CHECK(!size || text);
}

static enum tc_status infer(const char *from, const char *to, const char *rows)
{
    struct tc_infer_config config = {.traces = &from,
                                     .n_traces = 1,
                                     .output = to,
                                     .evidence = rows,
                                     .jobs = 1,
                                     .specific = true,
                                     .min_support = 2,
                                     .write = write_nothing};
    struct tc_infer_result result = {0};
    struct tc_notes *notes = tc_notes_new();
    struct tc_error err = {TC_OK, ""};
    enum tc_status status = tc_infer_run(&config, &result, notes, &err);

    FUZZ_CHECK(status == TC_OK || err.text[0]);
    tc_notes_free(notes);
    return status;
}

static void check(bool has_learned)
{
    const char *const traces[] = {trace}, *const sets[] = {by_hand, learned};
    static const char *const formats[] = {"sarif", "junit", "github", "chrome"};
    struct tc_check_config config = {.traces = traces,
                                     .n_traces = 1,
                                     .invariants = sets,
                                     .n_invariants = has_learned ? 2 : 1,
                                     .formats = formats,
                                     .n_formats = 4,
                                     .metrics = metrics,
                                     .jobs = 1,
                                     .output_dir = out,
                                     .command_line = "fuzz",
                                     .write = write_nothing};
    struct tc_check_result result = {0};
    struct tc_notes *notes = tc_notes_new();
    struct tc_error err = {TC_OK, ""};
    enum tc_status status = tc_check_run(&config, &result, notes, &err);

    FUZZ_CHECK(status == TC_OK || err.text[0]);
    FUZZ_CHECK(result.n_failed + result.n_passed + result.n_not_triggered + result.n_unchecked +
                   result.n_suppressed ==
               result.n_invariants);
    tc_notes_free(notes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memmem(data, size, MARK, strlen(MARK)) : NULL;
    size_t n = mark ? (size_t)(mark - data) + 1 : size;
    bool has_learned;

    if (!root[0])
        make_folders();
    put(first, data, n);
    unlink(second);
    if (mark)
        put(second, mark + strlen(MARK), size - n - strlen(MARK) + 1);
    has_learned = infer(trace, NULL, evidence) == TC_OK && infer(evidence, learned, NULL) == TC_OK;
    check(has_learned);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                 uint8_t *to, size_t max, unsigned seed);

#ifdef TC_FUZZ
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return tc_json_mutate(data, size, max, seed, tc_trace_words);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                 uint8_t *to, size_t max, unsigned seed)
{
    return tc_json_cross(a, n_a, b, n_b, to, max, seed);
}
#endif
