/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.c - report.html: one file without network, that shows its own data
 *
 * html/report.html has places for the style, the data, the script and the charts, each on a name
 * between two @.
 */
#include "report/report.h"

#include <string.h>

#include "base/safe.h"
#include "report/html/parts.h"
#include "report/page.h"

static void open_page(struct tc_page *page, const struct tc_report_input *input)
{
    const struct tc_check_config *config = input->config;

    *page = (struct tc_page){.input = input};
    for (size_t i = 0; i < config->n_invariants; i++)
        if (tc_excerpts_are_in(config->invariants[i]))
            (void)tc_excerpts_read(config->invariants[i], &page->excerpts, NULL);
    for (size_t i = 0; i < page->excerpts.items.n; i++) {
        struct tc_healthy_run run;
        tc_healthy_run_read(&run, &page->excerpts.items.items[i]);
        tc_vec_push(&page->healthy, run);
    }
}

static void close_page(struct tc_page *page)
{
    for (size_t i = 0; i < page->healthy.n; i++)
        tc_healthy_run_release(&page->healthy.items[i]);
    tc_vec_release(&page->healthy);
    tc_excerpts_release(&page->excerpts);
}

static void print_data(const struct tc_page *page, struct tc_strbuf *out)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_page_add_data(page, &text);
    tc_safe_add(out, TC_SAFE_SCRIPT, text.text, text.size);
    tc_strbuf_release(&text);
}

static void print(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const char *from = tc_text_report_html, *next;
    struct tc_page page;

    open_page(&page, input);
    for (; (next = strchr(from, '@')); from = strchr(next + 1, '@') + 1) {
        tc_strbuf_add(out, from, (size_t)(next - from));
        if (!strncmp(next, "@CSS@", 5)) {
            tc_strbuf_adds(out, tc_text_report_css);
            tc_strbuf_adds(out, tc_text_parts_css);
        } else if (!strncmp(next, "@JS@", 4)) {
            tc_strbuf_adds(out, tc_text_steps_js);
            tc_strbuf_adds(out, tc_text_report_js);
        } else if (!strncmp(next, "@LOSS@", 6)) {
            tc_page_add_charts(&page, out);
        } else if (!strncmp(next, "@DATA@", 6)) {
            print_data(&page, out);
        } else if (input->refresh_s) {
            tc_strbuf_addf(out, "<meta http-equiv=\"refresh\" content=\"%u\">", input->refresh_s);
        }
    }
    tc_strbuf_adds(out, from);
    close_page(&page);
}

const struct tc_report tc_report_html = {
    .file = "report.html",
    .print = print,
};
