/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace.c - from the lines of a trace to every report: replay, infer, evidence, check
 *
 * The input is one trace file, or two of two processes with a line "---" between them. It goes four
 * ways: learned and checked by what was learned; through evidence; and judged by a set of real
 * invariants and some written by hand, with two choices of reports. Learning is tried with facts
 * of the script and without them, which is quicker by far. All of that as a test; a fuzzer takes
 * one way, as the input's hash says, and so tries many times as many inputs.
 */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "scratch.h"
#include <traincheck/check.h>
#include <traincheck/infer.h>

#define MARK "\n---\n"

static const char *trace, *first, *second, *learned, *evidence, *out, *metrics, *sets[2];

static bool is_specific;

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

static void make_folders(void)
{
    trace = fuzz_folder("t");
    out = fuzz_folder("o");
    first = fuzz_path("t/trace_h_r0_p1.jsonl");
    second = fuzz_path("t/trace_h_r1_p2.jsonl");
    learned = fuzz_path("learned.jsonl");
    evidence = fuzz_path("e.tce");
    metrics = fuzz_path("metrics");
    sets[0] = fuzz_path("by_hand.jsonl");
    sets[1] = FUZZ_SET; /* made by corpus.py */
    fuzz_put(sets[0], invariants, sizeof(invariants) - 1);
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
                                     .specific = is_specific,
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

#define N_FORMATS 2

static void check(const char *const *by, size_t n_by, bool is_json, const char *const *formats)
{
    const char *const traces[] = {trace};
    struct tc_check_config config = {.traces = traces,
                                     .n_traces = 1,
                                     .invariants = by,
                                     .n_invariants = n_by,
                                     .formats = formats,
                                     .n_formats = formats ? N_FORMATS : 0,
                                     .no_html_report = is_json,
                                     .metrics = is_json ? metrics : NULL,
                                     .jobs = 1,
                                     .output_dir = formats ? out : NULL,
                                     .command_line = "fuzz",
                                     .json = is_json,
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

static void learn_and_check(void)
{
    if (infer(trace, learned, NULL) == TC_OK)
        check(&learned, 1, false, NULL);
}

static void learn_by_evidence(void)
{
    if (infer(trace, NULL, evidence) == TC_OK)
        FUZZ_CHECK(infer(evidence, learned, NULL) == TC_OK);
}

static void report_for_people(void)
{
    static const char *const formats[N_FORMATS] = {"sarif", "junit"};

    check(sets, 2, false, formats);
}

static void report_for_machines(void)
{
    static const char *const formats[N_FORMATS] = {"github", "chrome"};

    check(sets, 2, true, formats);
}

static void learn_facts_and_check(void)
{
    is_specific = true;
    learn_and_check();
    is_specific = false;
}

static void learn_facts_by_evidence(void)
{
    is_specific = true;
    learn_by_evidence();
    is_specific = false;
}

static void go(uint64_t hash)
{
    static void (*const ways[])(void) = {learn_and_check,       learn_by_evidence,
                                         learn_facts_and_check, learn_facts_by_evidence,
                                         report_for_people,     report_for_machines};
    size_t n = sizeof(ways) / sizeof(*ways);

#ifdef TC_FUZZ
    ways[hash % n]();
#else
    (void)hash;
    for (size_t i = 0; i < n; i++)
        ways[i]();
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *mark = size ? memmem(data, size, MARK, strlen(MARK)) : NULL;
    size_t n = mark ? (size_t)(mark - data) + 1 : size;

    if (!trace)
        make_folders();
    fuzz_put(first, data, n);
    unlink(second);
    if (mark)
        fuzz_put(second, mark + strlen(MARK), size - n - strlen(MARK) + 1);
    go(tc_hash64(data, size, 0));
    return 0;
}
