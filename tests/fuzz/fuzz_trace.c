/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_trace.c - from the lines of a trace to every report: replay, infer, evidence, check
 *
 * The input is one trace file, or two of two processes with a line "---" between them. It goes many
 * ways: learned and checked by what was learned; through evidence; and judged by a set of real
 * invariants or some written by hand, with a report of each format. Learning is tried with facts
 * of the script and without them, which is quicker by far. All of that as a test; a fuzzer takes
 * one way, as the input's hash says, and so tries many times as many inputs.
 */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "json_blocks.h"
#include "scratch.h"
#include <traincheck/check.h>
#include <traincheck/infer.h>

#define MARK "\n---\n"

static const char *trace, *first, *second, *learned, *evidence, *out, *metrics, *sets[3];

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

/* Every other line of the invariants that corpus.py made, so that an input is judged by half. */
static void make_half(const char *path, size_t which)
{
    struct tc_strbuf all = TC_STRBUF_INIT, half = TC_STRBUF_INIT;
    size_t number = 0;

    fuzz_get(FUZZ_SET, &all);
    for (const char *line = all.text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (number++ == 0 || number % 2 == which) /* the first line says what it is */
            tc_strbuf_add(&half, line, (size_t)(end + 1 - line));
    fuzz_put(path, half.text, half.size);
    tc_strbuf_release(&half);
    tc_strbuf_release(&all);
}

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
    fuzz_put(sets[0], invariants, sizeof(invariants) - 1);
    for (size_t i = 1; i < 3; i++)
        make_half(sets[i] = fuzz_path(i == 1 ? "some.jsonl" : "others.jsonl"), i - 1);
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

/* Judged by one file of invariants; without a format nothing is written. */
static void check(const char *by, const char *format)
{
    const char *const traces[] = {trace};
    const char *const formats[] = {format};
    bool is_html = format && !strcmp(format, "html"); /* written unless it is refused */
    bool is_json = format && !strcmp(format, "jsonl");
    struct tc_check_config config = {.traces = traces,
                                     .n_traces = 1,
                                     .invariants = &by,
                                     .n_invariants = 1,
                                     .formats = formats,
                                     .n_formats = format && !is_html && !is_json,
                                     .no_html_report = !is_html,
                                     .metrics = is_json ? metrics : NULL,
                                     .jobs = 1,
                                     .output_dir = format ? out : NULL,
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
        check(learned, NULL);
}

static void learn_by_evidence(void)
{
    if (infer(trace, NULL, evidence) == TC_OK)
        FUZZ_CHECK(infer(evidence, learned, NULL) == TC_OK);
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

static const char *const formats[] = {"html", "jsonl", "sarif", "junit", "github", "chrome"};

#define N_FORMATS (sizeof(formats) / sizeof(*formats))
#define N_SETS    (sizeof(sets) / sizeof(*sets))

static void (*const ways[])(void) = {learn_and_check, learn_by_evidence, learn_facts_and_check,
                                     learn_facts_by_evidence};

#define N_WAYS (sizeof(ways) / sizeof(*ways))

/* An even number is judged, an odd one learned from. */
static void go_one(uint64_t n)
{
    if (n % 2)
        ways[n / 2 % N_WAYS]();
    else
        check(sets[n / 2 % N_SETS], formats[n / 2 / N_SETS % N_FORMATS]);
}

static void go(uint64_t hash)
{
#ifdef TC_FUZZ
    go_one(hash);
#else
    (void)hash;
    for (size_t i = 0; i < N_WAYS; i++)
        go_one(2 * i + 1);
    for (size_t i = 0; i < N_SETS * N_FORMATS; i++)
        go_one(2 * i);
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
    fuzz_json_begin();
    go(tc_hash64(data, size, 0));
    fuzz_json_end();
    return 0;
}
