/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_excerpt.c - the windows of a run from its excerpt are those of its trace; what is no excerpt
 * is refused
 *
 * The trace has steps of two kinds, nested calls, functions of the script, variables and content.
 */
#include "trace_make.h"

#include <sys/stat.h>

#include "base/base64.h"
#include "compare/call_values.h"
#include "compare/course.h"
#include "compare/excerpt_write.h"
#include "compare/healthy_run.h"
#include "replay/symbols.h"
#include "trace/scan.h"

#define N_STEPS 9

static char *dir;
static struct tc_notes *notes;

static int setup(void **state)
{
    (void)state;
    dir = unit_folder();
    notes = tc_notes_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_notes_free(notes);
    unit_remove(dir);
    return 0;
}

/* ---- a trace --------------------------------------------------------------------------------- */

struct maker {
    struct tc_strbuf text;
    long long id, step;
    const char *stage;
};

#define TENSOR                                                                                       \
    "{\"tensor\":\"Tensor\",\"id\":7,\"shape\":[2],\"dtype\":\"float32\",\"value\":0.25,\"digest\":" \
    "\"00\"}"

static void begin_call(struct maker *m, const char *fn, const char *at, const char *more)
{
    m->id++;
    tc_strbuf_addf(&m->text,
                   "{\"type\":\"call\",\"id\":%lld,\"fn\":\"%s\",\"t\":%lld,\"step\":%lld,"
                   "\"stage\":\"%s\",\"by\":\"user\",\"at\":\"train.py:%s\"%s}\n",
                   m->id, fn, 10 * m->id, m->step, m->stage, at, more);
}

static void end_call(struct maker *m, long long id, const char *value)
{
    tc_strbuf_addf(&m->text, "{\"type\":\"return\",\"id\":%lld,\"t\":%lld,\"value\":%s}\n", id,
                   10 * m->id + 5, value);
}

static void call(struct maker *m, const char *fn, const char *at, const char *more)
{
    begin_call(m, fn, at, more);
    end_call(m, m->id, TENSOR);
}

static void cut(struct maker *m)
{
    tc_strbuf_addf(
        &m->text,
        "{\"type\":\"step\",\"step\":%lld,\"t\":%lld,\"stage\":\"%s\",\"why\":\"data\"}\n", m->step,
        10 * m->id + 7, m->stage);
    m->step += !strcmp(m->stage, "training");
}

static void one_step(struct maker *m)
{
    char more[400];

    m->stage = "training";
    snprintf(more, sizeof(more), ",\"args\":{\"i\":%lld,\"x\":" TENSOR ",\"p\":[0.5,\"a\"]}",
             m->step);
    begin_call(m, "torch.nn.functional.relu", "5", more);
    const long long outer = m->id;
    call(m, "torch.abs", "5", ",\"args\":{\"x\":" TENSOR "}");
    end_call(m, outer, "[1,null]");
    if (m->step % 3 == 2)
        call(m, "torch.Tensor.item", "6", "");
    call(m, "torch.Tensor.backward", "7", ",\"self\":" TENSOR);
    begin_call(m, "torch.optim.Optimizer.step", "8", "");
    tc_strbuf_addf(&m->text,
                   "{\"type\":\"var\",\"var\":100,\"t\":%lld,\"cause\":%lld,\"attrs\":{\"data\":"
                   "\"%016llx\",\"dtype\":\"float32\"}}\n",
                   10 * m->id + 4, m->id, m->step + 1);
    end_call(m, m->id, "null");
    cut(m);
}

static char *put_trace(const char *folder)
{
    struct maker m = {.stage = "init"};
    char *path = tc_fs_join(dir, folder), *file;

    tc_strbuf_adds(
        &m.text,
        "{\"type\":\"process\",\"schema\":6,\"pid\":1,\"role\":\"main\",\"host\":\"secret-host\","
        "\"cwd\":\"/secret/cwd\",\"job\":\"secret-job\",\"argv\":[\"train.py\"],\"content\":"
        "\"batches\",\"digest\":\"nh64\",\"mode\":\"full\",\"operators\":true}\n"
        "{\"type\":\"source\",\"at\":\"train.py\",\"path\":\"/secret/train.py\",\"digest\":"
        "\"0123456789abcdef\",\"text\":\"import torch\\nx = 1\\n\"}\n"
        "{\"type\":\"api\",\"fn\":\"torch.optim.Optimizer.step\",\"role\":\"step\"}\n"
        "{\"type\":\"api\",\"fn\":\"torch.Tensor.backward\",\"role\":\"backward\"}\n"
        "{\"type\":\"var\",\"var\":100,\"t\":0,\"name\":\"w\",\"kind\":\"Parameter\",\"attrs\":"
        "{\"data\":\"0000000000000000\",\"dtype\":\"float32\"}}\n");
    call(&m, "torch.manual_seed", "2", ",\"args\":{\"seed\":3}");
    cut(&m);
    for (int i = 0; i < N_STEPS; i++)
        one_step(&m);
    m.stage = "evaluation";
    begin_call(&m, "torch.nn.functional.relu", "9", ""); /* which never returns */
    cut(&m);
    tc_strbuf_adds(&m.text,
                   "{\"type\":\"end\",\"t\":9999,\"events\":1,\"dropped\":0,\"exit\":0}\n");
    struct tc_error err;
    assert_int_equal(tc_fs_mkdirs(path, &err), TC_OK);
    file = tc_fs_join(path, "trace_1.jsonl");
    put_file(file, m.text.text, m.text.size);
    tc_strbuf_release(&m.text);
    tc_free(path);
    return file;
}

/* ---- an invariant file ----------------------------------------------------------------------- */

static const char header[] = "{\"traincheck\":\"invariants\",\"schema\":3}\n";

static char *put_invariants(const char *line, size_t size)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char *path = tc_fs_join(dir, "i.jsonl");

    tc_strbuf_adds(&text, header);
    tc_strbuf_add(&text, line, size);
    put_file(path, text.text, text.size);
    tc_strbuf_release(&text);
    return path;
}

static char *put_excerpt_of(const char *folder)
{
    char *path = tc_fs_join(dir, folder), *invariants;
    struct tc_strbuf line = TC_STRBUF_INIT;
    struct tc_excerpt_size size;
    struct tc_error err;

    if (tc_excerpt_make(path, &line, &size, notes, &err) != TC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(size.bytes, line.size);
    assert_int_equal(line.text[line.size - 1], '\n');
    invariants = put_invariants(line.text, line.size);
    tc_strbuf_release(&line);
    tc_free(path);
    return invariants;
}

/* As excerpt_write.c packs a text. */
static char *put_packed(const char *text)
{
    struct tc_strbuf packed = TC_STRBUF_INIT, line = TC_STRBUF_INIT;
    char *path;

    make_frame(&packed, text, strlen(text));
    tc_strbuf_adds(&line, "{\"traincheck\":\"excerpt\",\"schema\":1,\"of\":\"x\",\"zstd\":\"");
    tc_base64_add(&line, packed.text, packed.size);
    tc_strbuf_adds(&line, "\"}\n");
    path = put_invariants(line.text, line.size);
    tc_strbuf_release(&packed);
    tc_strbuf_release(&line);
    return path;
}

/* ---- both beside each other ------------------------------------------------------------------ */

static char *printed(const struct tc_value *v, bool without_content)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (v && without_content)
        tc_value_print_without_content(v, &text);
    else if (v)
        tc_value_print(v, &text);
    tc_strbuf_addc(&text, ' ');
    return tc_strbuf_take(&text);
}

static void assert_equal_value(const struct tc_value *a, const struct tc_value *b)
{
    char *of_trace = printed(a, true), *of_excerpt = printed(b, false);

    assert_string_equal(of_trace, of_excerpt);
    tc_free(of_trace);
    tc_free(of_excerpt);
}

static void assert_equal_values(const struct tc_course_call *a, const struct tc_course_call *b)
{
    assert_equal_value(a->begin->self, b->begin->self);
    assert_equal_value(a->begin->args, b->begin->args);
    assert_equal_value(a->begin->ctx, b->begin->ctx);
    assert_equal_value(a->begin->alias, b->begin->alias);
    if (a->end)
        assert_equal_value(a->end->value, b->end->value);
}

static void assert_equal_windows(const struct tc_course_window *a, const struct tc_course_window *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->stage, b->stage);
    assert_int_equal(a->has_step, b->has_step);
    assert_int_equal(a->shape, b->shape);
    assert_int_equal(a->calls.n, b->calls.n);
    for (size_t i = 0; i < a->calls.n; i++) {
        const struct tc_course_call *x = &a->calls.items[i], *y = &b->calls.items[i];
        assert_int_equal(x->site, y->site);
        assert_int_equal(x->parent, y->parent);
        assert_int_equal(x->own, y->own);
        assert_int_equal(!x->end, !y->end);
    }
    assert_int_equal(a->variables.n, b->variables.n);
    for (size_t i = 0; i < a->variables.n; i++) {
        const struct tc_course_variable *x = &a->variables.items[i], *y = &b->variables.items[i];
        assert_int_equal(x->name, y->name);
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->cause, y->cause);
        assert_int_equal(x->is_new, y->is_new);
    }
}

static void windows_are_those_of_the_trace(void **state)
{
    char *file = put_trace("healthy"), *invariants = put_excerpt_of("healthy");
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_call_sites sites = {.symbols = symbols};
    const struct tc_course_context context = {.symbols = symbols, .sites = &sites, .notes = notes};
    struct tc_scripts of_a = {0}, of_b = {0};
    struct tc_excerpts excerpts = {0};
    struct tc_healthy_run run;
    struct tc_course_window *x, *y;
    struct tc_course *a, *b;
    struct tc_error err;
    size_t n = 0, n_equal = 0;

    (void)state;
    assert_true(tc_excerpts_may_be_in(invariants));
    assert_true(tc_excerpts_are_in(invariants));
    if (tc_excerpts_read(invariants, &excerpts, &err) != TC_OK)
        fail_msg("%s", err.text);
    assert_int_equal(excerpts.items.n, 1);
    assert_string_equal(excerpts.items.items[0].name, "healthy");
    assert_null(strstr(excerpts.items.items[0].text.text, "secret"));
    /* What a tensor holds stands there for the loss alone. */
    const char *loss = strstr(excerpts.items.items[0].text.text, "{\"loss\":");
    assert_non_null(loss);
    assert_true(strstr(excerpts.items.items[0].text.text, "0.25") > loss);
    tc_healthy_run_read(&run, &excerpts.items.items[0]);
    assert_int_equal(run.loss.points.n, N_STEPS);
    assert_true(run.loss.points.items[0].value == 0.25);
    assert_int_equal(run.loss.points.items[N_STEPS - 1].step, N_STEPS - 1);
    assert_true(tc_value_is(tc_value_get(&run.process, "type"), "process"));
    tc_healthy_run_release(&run);
    assert_int_equal(
        tc_course_open((struct tc_course_source){.path = file}, &context, &of_a, &a, &err), TC_OK);
    const struct tc_excerpt_process *process = &excerpts.items.items[0].processes.items[0];
    assert_int_equal(
        tc_course_open((struct tc_course_source){.excerpt = process}, &context, &of_b, &b, &err),
        TC_OK);
    while (tc_course_next(a, &x, &err) == TC_OK) {
        assert_int_equal(tc_course_next(b, &y, &err), TC_OK);
        assert_equal_windows(x, y);
        if (x->step == y->step) { /* it is kept: what it is given stands there */
            n_equal++;
            for (size_t i = 0; i < x->calls.n; i++)
                assert_equal_values(&x->calls.items[i], &y->calls.items[i]);
        }
        tc_course_window_free(x);
        tc_course_window_free(y);
        n++;
    }
    assert_int_equal(tc_course_next(b, &y, &err), TC_END);
    assert_int_equal(n, N_STEPS + 3);
    assert_in_range(n_equal, 4, n - 1); /* two of each kind of step */
    assert_int_equal(of_a.items.n, of_b.items.n);
    assert_int_equal(of_a.items.items[0]->n_lines, of_b.items.items[0]->n_lines);
    assert_string_equal(of_a.items.items[0]->digest, of_b.items.items[0]->digest);
    tc_course_close(a);
    tc_course_close(b);
    tc_scripts_release(&of_a);
    tc_scripts_release(&of_b);
    tc_excerpts_release(&excerpts);
    tc_call_sites_release(&sites);
    tc_strtab_free(symbols);
    tc_free(file);
    tc_free(invariants);
}

static void equal_traces_give_equal_lines(void **state)
{
    struct tc_strbuf line[2] = {TC_STRBUF_INIT, TC_STRBUF_INIT};
    struct tc_excerpt_size size;
    struct tc_error err;
    char *file = put_trace("healthy"), *path = tc_fs_join(dir, "healthy");

    (void)state;
    for (size_t i = 0; i < N_OF(line); i++)
        assert_int_equal(tc_excerpt_make(path, &line[i], &size, notes, &err), TC_OK);
    assert_int_equal(size.n_kept,
                     7); /* the init, two of each kind of step, the evaluation, what is behind it */
    assert_int_equal(size.n_windows, N_STEPS + 3);
    assert_string_equal(line[0].text, line[1].text);
    for (size_t i = 0; i < N_OF(line); i++)
        tc_strbuf_release(&line[i]);
    tc_free(file);
    tc_free(path);
}

static void other_files_have_none(void **state)
{
    static const char *const texts[] = {
        "",
        "{\"traincheck\":\"invariants\"",
        "{\"traincheck\":\"invariants\",\"schema\":3}",
        "{\"traincheck\":\"invariants\",\"schema\":3}\n",
        "{\"traincheck\":\"invariants\",\"schema\":3}\n{\"id\":\"EC-1\"}\n",
        "{\"traincheck\":\"evidence\"}\n{\"traincheck\":\"excerpt\",\"schema\":1}\n",
    };
    char *path = tc_fs_join(dir, "other.jsonl");

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++) {
        put_file(path, texts[i], strlen(texts[i]));
        assert_false(tc_excerpts_are_in(path));
    }
    assert_false(tc_excerpts_are_in(dir));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* to open it would wait for a writer */
    assert_false(tc_excerpts_are_in(path));
    assert_false(tc_excerpts_may_be_in(path));
    assert_false(tc_excerpts_may_be_in("/nowhere/i.jsonl"));
    tc_free(path);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Read all there is; the first error. */
static enum tc_status read_all(const char *path, struct tc_error *err)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_call_sites sites = {.symbols = symbols};
    const struct tc_course_context context = {.symbols = symbols, .sites = &sites, .notes = NULL};
    struct tc_scripts scripts = {0};
    struct tc_excerpts excerpts = {0};
    enum tc_status status = tc_excerpts_read(path, &excerpts, err);

    for (size_t i = 0; i < excerpts.items.n && !status; i++)
        for (size_t k = 0; k < excerpts.items.items[i].processes.n && !status; k++) {
            const struct tc_course_source source = {
                .excerpt = &excerpts.items.items[i].processes.items[k]};
            struct tc_course_window *window;
            struct tc_course *course;
            status = tc_course_open(source, &context, &scripts, &course, err);
            if (status)
                continue;
            for (size_t n = 0; n < 1000 && tc_course_next(course, &window, err) == TC_OK; n++)
                tc_course_window_free(window);
            tc_course_close(course);
        }
    tc_scripts_release(&scripts);
    tc_excerpts_release(&excerpts);
    tc_call_sites_release(&sites);
    tc_strtab_free(symbols);
    return status;
}

static void assert_status(char *take, enum tc_status want, const char *text)
{
    struct tc_error err = {TC_OK, ""};
    const enum tc_status status = read_all(take, &err);

    if (status != want)
        fail_msg("status %d (%s) of %s", (int)status, err.text, text);
    assert_int_equal(!err.text[0], !want);
    tc_free(take);
}

#define BEGIN                                        \
    "{\"is_worker\":false,\"rank\":0,\"world\":1}\n" \
    "{\"type\":\"process\",\"schema\":6,\"pid\":1,\"role\":\"main\"}\n"
#define SITES  "{\"sites\":[[\"f\",\"\",\"train.py:1\",\"function\",true,false]]}\n"
#define WINDOW "{\"step\":0,\"stage\":\"training\",\"has_step\":true,\"calls\":["
#define ENDS   "],\"variables\":[]}\n"

static void texts_that_are_read(void **state)
{
    static const char *const texts[] = {
        BEGIN,
        BEGIN SITES,
        BEGIN "{\"order\":[]}\n",
        BEGIN SITES WINDOW "[0,null,null,0,1,{}]" ENDS "{\"order\":[[0,1]]}\n",
        BEGIN SITES WINDOW "[0,9,-1,0,null,{\"args\":5,\"self\":[],\"ctx\":\"x\"}]" ENDS
                           "{\"order\":[[0,3]]}\n",
        BEGIN "{\"sites\":[5,[],[[]],{}]}\n" WINDOW "[3,0,0,-5,-5,{}]" ENDS
              "{\"order\":[[0,1000]]}\n",
        BEGIN SITES
        "{\"calls\":5,\"variables\":7}\n{\"calls\":[],\"variables\":[5,[],[1,2,3,4,5]]}\n"
        "{\"order\":[[1,2],[0,1]]}\n",
    };

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++)
        assert_status(put_packed(texts[i]), TC_OK, texts[i]);
}

static void texts_that_are_damaged(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "hello\n",
        "{}\n",
        "{\"is_worker\":false,\"rank\":0,\"world\":1}\n", /* no process */
        BEGIN "{\"calls\"\n",
        BEGIN "[]\nhello\n",
        BEGIN WINDOW "[0,null,null,0,1,{}]" ENDS, /* no site */
        BEGIN SITES WINDOW "[1,null,null,0,1,{}]" ENDS,
        BEGIN SITES WINDOW "[-1,null,null,0,1,{}]" ENDS,
        BEGIN SITES WINDOW "[\"0\",null,null,0,1,{}]" ENDS,
        BEGIN SITES WINDOW "[0,null,null,0,1]" ENDS, /* no values */
        BEGIN SITES WINDOW "5" ENDS,
        BEGIN "{\"order\":[[0,1]]}\n", /* no window */
        BEGIN SITES WINDOW ENDS "{\"order\":[[1,1]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[-1,1]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,0]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,-1]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[7]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,2097153]]}\n", /* too many */
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,2097152],[0,1]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,9223372036854775807],[0,9223372036854775807]]}\n",
        BEGIN SITES WINDOW ENDS "{\"order\":[[0,1]]}\n{\"order\":[[0,2097152]]}\n",
    };

    (void)state;
    for (size_t i = 0; i < N_OF(texts); i++)
        assert_status(put_packed(texts[i]), TC_E_FORMAT, texts[i]);
}

/* Calls are counted each time that a window stands in the order. */
static void an_order_of_too_many_calls(void **state)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)state;
    tc_strbuf_adds(&text, BEGIN SITES WINDOW);
    for (size_t i = 0; i < 300; i++)
        tc_strbuf_addf(&text, "%s[0,null,null,0,1,{}]", i ? "," : "");
    tc_strbuf_adds(&text, ENDS);
    const size_t size = text.size;
    tc_strbuf_adds(&text, "{\"order\":[[0,894784]]}\n"); /* 2^28 / 300 */
    assert_status(put_packed(text.text), TC_OK, "an order of 2^28 calls");
    text.text[text.size = size] = '\0';
    tc_strbuf_adds(&text, "{\"order\":[[0,894785]]}\n");
    assert_status(put_packed(text.text), TC_E_FORMAT, "an order of more than 2^28 calls");
    tc_strbuf_release(&text);
}

static void lines_that_are_damaged(void **state)
{
    static const struct {
        const char *line;
        enum tc_status want;
    } cases[] = {
        {"{\"traincheck\":\"excerpt\",\"schema\":1}",                       TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":5}",            TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":\"\"}",         TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":\"AAAA\"}",     TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":\"KLUv/Q==\"}", TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":\"-\"}",        TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\",\"schema\":2,\"zstd\":\"KLUv/Q==\"}", TC_E_VERSION},
        {"{\"traincheck\":\"excerpt\",\"schema\":1,\"zstd\":\"KLUv/Q",      TC_E_FORMAT },
        {"{\"traincheck\":\"excerpt\"",                                     TC_E_FORMAT },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        assert_status(put_invariants(cases[i].line, strlen(cases[i].line)), cases[i].want,
                      cases[i].line);
}

/* An excerpt that ends anywhere, and one of which a letter is another. */
static void any_damage_is_refused(void **state)
{
    char *file = put_trace("healthy"), *path = put_excerpt_of("healthy");
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_error err;
    uint64_t seed = 11;

    (void)state;
    assert_int_equal(tc_fs_read(path, TC_FS_MAX_LARGE, &text, &err), TC_OK);
    const char *line = text.text + strlen(header);
    const size_t size = text.size - strlen(header),
                 begin = (size_t)(strstr(line, "zstd\":\"") - line) + 7;
    for (size_t i = 0; i < 200; i++) {
        char *damaged = strndup(line, size);
        const size_t at = begin + unit_random(&seed) % (size - begin - 3);
        struct tc_strbuf cut_line = TC_STRBUF_INIT;
        tc_strbuf_add(&cut_line, line, at);
        tc_strbuf_adds(&cut_line, "\"}\n");
        assert_status(put_invariants(cut_line.text, cut_line.size), TC_E_FORMAT, cut_line.text);
        tc_strbuf_release(&cut_line);
        damaged[at] = damaged[at] == 'A' ? 'B' : 'A';
        err = (struct tc_error){TC_OK, ""};
        char *other = put_invariants(damaged, size);
        const enum tc_status status =
            read_all(other, &err); /* a letter of padding may stay unseen */
        assert_true(status == TC_E_FORMAT || (!status && at > size - 8));
        tc_free(other);
        free(damaged);
    }
    tc_strbuf_release(&text);
    tc_free(file);
    tc_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_are_those_of_the_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_traces_give_equal_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(other_files_have_none, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_that_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_that_are_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(an_order_of_too_many_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_that_are_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(any_damage_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
