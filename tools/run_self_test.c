/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_self_test.c - traincheck-check --self-test: does this installation work?
 *
 * Two traces are installed with the tools: of a script that trains, and of the same script without
 * its call of zero_grad(). The shipped set accepts the first and names the mistake in the second.
 * The test writes no file and needs neither Python nor PyTorch.
 */
#include "check.h"

#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "base/vec.h"

#define TRACES  "share/traincheck/self-test"
#define SET     "@pytorch"
#define MISTAKE "zero_grad"

struct judged {
    struct tc_check_result result;
    struct tc_strbuf text; /* the violations */
};

static void keep_text(void *context, const char *text, size_t size)
{
    tc_strbuf_add(&((struct judged *)context)->text, text, size);
}

static enum tc_status judge_trace(const char *name, struct judged *judged, struct tc_error *err)
{
    const char *set = SET;
    char *folder = tc_fs_installed(TRACES), *path = tc_fs_join(folder, name);
    const char *trace = path;
    struct tc_notes *notes = tc_notes_new();
    const struct tc_check_config config = {
        .traces = &trace,
        .n_traces = 1,
        .invariants = &set,
        .n_invariants = 1,
        .quiet = true,
        .write = keep_text,
        .progress = tc_app_no_progress,
        .context = judged,
    };
    enum tc_status status = tc_check_run(&config, &judged->result, notes, err);

    tc_notes_free(notes);
    tc_free(path);
    tc_free(folder);
    return status;
}

static enum tc_status test_healthy(struct tc_strbuf *out, struct tc_error *err)
{
    struct judged judged = {.text = TC_STRBUF_INIT};
    const struct tc_check_result *r = &judged.result;
    enum tc_status status = judge_trace("healthy.jsonl.zst", &judged, err);

    if (!status && (r->damaged || !r->n_passed || r->n_failed))
        status =
            tc_error_set(err, TC_E_FORMAT,
                         "self-test: of a healthy run %" PRIu64 " invariants passed and "
                         "%" PRIu64 " failed%s",
                         r->n_passed, r->n_failed, r->damaged ? ", and its trace is damaged" : "");
    tc_strbuf_addf(out, "healthy run: %" PRIu64 " invariants of " SET " passed, none failed\n",
                   r->n_passed);
    tc_strbuf_release(&judged.text);
    return status;
}

static enum tc_status test_broken(struct tc_strbuf *out, struct tc_error *err)
{
    struct judged judged = {.text = TC_STRBUF_INIT};
    enum tc_status status = judge_trace("broken.jsonl.zst", &judged, err);

    if (!status && (!judged.result.n_failed || !strstr(judged.text.text, MISTAKE)))
        status = tc_error_set(err, TC_E_FORMAT,
                              "self-test: no violation tells of the missing " MISTAKE "()");
    tc_strbuf_adds(out, "run without " MISTAKE "(): a violation names it\n");
    tc_strbuf_release(&judged.text);
    return status;
}

enum tc_status check_self_test(struct tc_app *app, const struct check_options *options,
                               struct tc_error *err)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    if (options->traces.n || options->invariants.n)
        status = tc_error_set(err, TC_E_USAGE,
                              "--self-test has a trace and invariants of its own: give it none");
    if (!status)
        status = test_healthy(&out, err);
    if (!status)
        status = test_broken(&out, err);
    if (!status) {
        tc_strbuf_adds(&out, "self-test passed\n");
        tc_app_write(app, out.text, out.size);
    }
    tc_strbuf_release(&out);
    return status;
}
