/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_excerpt.c - what an excerpt unpacks to, packed and put into an invariant file: refused with
 * a text, or read window by window, call by call and leaf by leaf
 *
 * The input is put there unpacked, as a fuzzer finds no way through base64 and a checksum. Once it
 * is the line itself.
 */
#include <string.h>

#include "base/base64.h"
#include "compare/call_values.h"
#include "compare/course.h"
#include "fuzz.h"
#include "replay/symbols.h"
#include "scratch.h"
#include "trace/zio.h"

/* A run may have millions of windows: more of them find nothing new. */
#define MAX_WINDOWS 200

struct reader {
    struct tc_course_context context;
    struct tc_leaf_reader leaf;
    struct tc_leaves leaves;
};

static void read_window(struct reader *r, const struct tc_course_window *window)
{
    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_course_call *call = &window->calls.items[i];
        FUZZ_CHECK(call->site < r->context.sites->items.n);
        FUZZ_CHECK(call->parent == TC_NO_CALL || call->parent < i);
        FUZZ_CHECK(call->own == TC_NO_CALL || call->own < i);
        tc_leaves_of_call(&r->leaf, call->begin, &r->leaves);
        if (call->end)
            tc_leaves_of_end(&r->leaf, call->end, &r->leaves);
    }
    for (size_t i = 0; i < window->variables.n; i++) {
        const struct tc_course_variable *variable = &window->variables.items[i];
        FUZZ_CHECK(variable->cause == TC_NO_CALL || variable->cause < window->calls.n);
        tc_leaves_of_variable(&r->leaf, variable->record, &r->leaves);
    }
}

static enum tc_status read_course(struct reader *r, const struct tc_excerpt_process *process,
                                  struct tc_scripts *scripts, struct tc_error *err)
{
    struct tc_course_window *window;
    struct tc_course *course;
    enum tc_status status = tc_course_open((struct tc_course_source){.excerpt = process},
                                           &r->context, scripts, &course, err);

    if (status)
        return status;
    for (size_t n = 0; n < MAX_WINDOWS && tc_course_next(course, &window, err) == TC_OK; n++) {
        read_window(r, window);
        tc_course_window_free(window);
    }
    tc_course_owner(course);
    tc_course_close(course);
    return TC_OK;
}

static void read_file(const char *path)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_call_sites sites = {.symbols = symbols};
    struct reader r = {
        .context = {symbols, &sites, NULL},
          .leaf = {.symbols = symbols  }
    };
    struct tc_scripts scripts = {0};
    struct tc_excerpts excerpts = {0};
    struct tc_error err = {TC_OK, ""};
    enum tc_status status = tc_excerpts_read(path, &excerpts, &err);

    FUZZ_CHECK(status || !excerpts.items.n || tc_excerpts_may_be_in(path));
    for (size_t i = 0; i < excerpts.items.n && !status; i++)
        for (size_t k = 0; k < excerpts.items.items[i].processes.n && !status; k++)
            status = read_course(&r, &excerpts.items.items[i].processes.items[k], &scripts, &err);
    FUZZ_CHECK(!status || err.text[0]);
    tc_free(r.leaves.items);
    tc_leaf_reader_release(&r.leaf);
    tc_scripts_release(&scripts);
    tc_excerpts_release(&excerpts);
    tc_call_sites_release(&sites);
    tc_strtab_free(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tc_zio *zio;
    struct tc_strbuf packed = TC_STRBUF_INIT, text = TC_STRBUF_INIT;
    const char *path = fuzz_path("excerpt.jsonl");

    if (!zio)
        zio = tc_zio_new();
    FUZZ_CHECK(tc_zio_pack(zio, data, size, &packed, NULL) == TC_OK);
    tc_strbuf_adds(&text, "{\"traincheck\":\"invariants\",\"schema\":3}\n"
                          "{\"traincheck\":\"excerpt\",\"schema\":1,\"of\":\"run\",\"zstd\":\"");
    const size_t begin = text.size;
    tc_base64_add(&text, packed.text, packed.size);
    tc_strbuf_adds(&text, "\"}\n");
    fuzz_put(path, text.text, text.size);
    read_file(path);
    text.text[text.size = begin] = '\0';
    tc_strbuf_add(&text, data, size);
    fuzz_put(path, text.text, text.size);
    read_file(path);
    tc_strbuf_release(&packed);
    tc_strbuf_release(&text);
    return 0;
}
