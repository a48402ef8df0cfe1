/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_words.c - the sentence, the place and the lines of a difference
 *
 * A difference has records and paths. This unit makes the text of them that terminal, page, JSON
 * and annotations share: calls by short names, paths without members of the format, values as
 * Python writes them, and why a difference is set aside.
 */
#include "report/compare_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "compare/edited_line.h"
#include "replay/symbols.h"

/* ---- which are shown ----------------------------------------------------------------------- */

/* How many differences of a kind the first screen has. */
static const size_t shown_of[TC_N_DIFFERENCE_KINDS] = {
    [TC_DIFFERENCE_ENVIRONMENT] = 4, [TC_DIFFERENCE_COMMAND] = 4, [TC_DIFFERENCE_DRAWS] = 1,
    [TC_DIFFERENCE_WEIGHTS] = 1,     [TC_DIFFERENCE_DATA] = 1,    [TC_DIFFERENCE_CALLS] = 4,
    [TC_DIFFERENCE_ARGUMENTS] = 3,   [TC_DIFFERENCE_RESULTS] = 1, [TC_DIFFERENCE_VARIABLES] = 1,
};

void tc_compare_report_make(struct tc_compare_report *report,
                            const struct tc_compare_config *config,
                            const struct tc_compare_result *result,
                            const struct tc_comparison *comparison)
{
    size_t n_shown[TC_N_DIFFERENCE_KINDS] = {0};

    *report = (struct tc_compare_report){.config = config,
                                         .result = result,
                                         .comparison = comparison,
                                         .order = tc_comparison_order(comparison),
                                         .n = comparison->differences.items.n};
    report->is_shown = tc_calloc(report->n + 1, sizeof(*report->is_shown));
    for (size_t i = 0; i < report->n; i++) {
        const struct tc_difference *d = report->order[i];
        const bool counts = d->aside == TC_ASIDE_NO || d->aside == TC_ASIDE_SILENT;
        report->is_shown[i] = counts && n_shown[d->kind]++ < shown_of[d->kind];
    }
}

void tc_compare_report_release(struct tc_compare_report *report)
{
    tc_free(report->order);
    tc_free(report->is_shown);
}

/* ---- names --------------------------------------------------------------------------------- */

static const char *text_of(const struct tc_comparison *c, tc_sym sym)
{
    return sym == TC_NO_SYM ? "" : tc_strtab_text(c->symbols, sym);
}

/* "SGD.step()", "Net.forward()", "cross_entropy()"; a class that is nobody's to know, as that of
 * the iterator of a DataLoader, has the name by which it is called. */
static void add_call(const struct tc_comparison *c, uint32_t index, struct tc_strbuf *out)
{
    const struct tc_call_site *site = &c->sites.items.items[index];
    const char *name = tc_short_name(text_of(c, site->fn)), *dot = strchr(name, '.');
    const char *method = dot ? dot + 1 : name;

    if (site->class == TC_SYM_EMPTY || *text_of(c, site->class) == '_')
        tc_strbuf_adds(out, name);
    else if (!strcmp(method, "__init__"))
        tc_strbuf_adds(out, text_of(c, site->class));
    else
        tc_strbuf_addf(out, "%s.%s", text_of(c, site->class),
                       !strcmp(method, "__call__") ? "forward" : method);
    tc_strbuf_adds(out, "()");
}

static bool is_segment(const char *segment, size_t size, const char *name)
{
    return strlen(name) == size && !memcmp(segment, name, size);
}

/* What says nothing to a person: a digest, a list of them, and where in a record a value stands. */
static bool is_hidden(const char *name, size_t size)
{
    static const char *const hidden[] = {"digest", "rows", "data", "summary", "scale", "range"};

    for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
        if (is_segment(name, size, hidden[i]))
            return true;
    return false;
}

/* So much of a path is reported: "x.summary.range" -> "x", "result.value" -> "result". *has_content
 * says that what is left out is the content. */
static size_t told_size(const char *path, bool *has_content)
{
    size_t size = strlen(path), dot = size;

    *has_content = false;
    for (; dot > 0; dot--) {
        if (path[dot - 1] != '.')
            continue;
        if (!is_hidden(path + dot, size - dot))
            break;
        *has_content = true;
        size = dot - 1;
    }
    if (!*has_content && dot > 0 && size - dot == 5 && !memcmp(path + dot, "value", 5))
        size = dot - 1;
    return size;
}

/* "args.input.shape" -> "input.shape", "self.attrs.training" -> "self.training" */
static void add_path(const char *path, bool *has_content, struct tc_strbuf *out)
{
    const char *const end = path + told_size(path, has_content);
    const size_t begin = out->size;

    for (size_t size; path < end; path += size + 1) {
        size = strcspn(path, ".");
        size = path + size > end ? (size_t)(end - path) : size;
        if ((is_segment(path, size, "args") && out->size == begin && path + size < end) ||
            is_segment(path, size, "attrs") || is_segment(path, size, "dict") ||
            is_segment(path, size, "object") || is_segment(path, size, "more"))
            continue;
        if (out->size > begin)
            tc_strbuf_addc(out, '.');
        tc_strbuf_add(out, path, size);
    }
}

/* A JSON value as Python writes it. */
static void add_python(const char *json, struct tc_strbuf *out)
{
    static const char *const words[][2] = {
        {"true",  "True" },
        {"false", "False"},
        {"null",  "None" }
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(json, words[i][0])) {
            tc_strbuf_adds(out, words[i][1]);
            return;
        }
    tc_strbuf_adds(out, json);
}

/* "float32" without its quotes; a class of the script without its module. */
static void add_name(const char *json, struct tc_strbuf *out)
{
    static const char own[] = "__main__.";
    size_t size = strlen(json);

    if (size < 3 || json[0] != '"' || json[size - 1] != '"') {
        tc_strbuf_adds(out, json);
        return;
    }
    json++;
    size -= 2;
    if (size > sizeof(own) - 1 && !memcmp(json, own, sizeof(own) - 1)) {
        json += sizeof(own) - 1;
        size -= sizeof(own) - 1;
    }
    tc_strbuf_add(out, json, size);
}

/* What members of tensors and modules say, in the words of PyTorch: of a value before and after, or
 * of what is true now and was false, and the other way round. */
static const struct wording {
    const char *member;
    const char *is, *was;               /* stand before the two values, or NULL */
    const char *when_true, *when_false; /* the whole of it, or NULL */
} wordings[] = {
    {"training",      NULL,              NULL,        " is in training mode, was in evaluation mode",
     " is in evaluation mode, was in training mode"                                                       },
    {"requires_grad", NULL,              NULL,        " requires a gradient, did not",
     " requires no gradient any more"                                                                     },
    {"dtype",         " is ",            ", was ",    NULL,                                           NULL},
    {"shape",         " has the shape ", ", had ",    NULL,                                           NULL},
    {"device",        " is on ",         ", was on ", NULL,                                           NULL},
    {"tensor",        " is a ",          ", was a ",  NULL,                                           NULL},
    {"object",        " is a ",          ", was a ",  NULL,                                           NULL},
};

static const struct wording *wording_of(const char *path, const struct tc_difference *d)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof(wordings) / sizeof(*wordings); i++) {
        const struct wording *w = &wordings[i];
        if (strcmp(dot + 1, w->member) != 0 || !d->is || !d->was)
            continue;
        return w->is || !strcmp(d->is, "true") || !strcmp(d->is, "false") ? w : NULL;
    }
    return NULL;
}

/* "args.input.dtype" -> "input": whose member it is. */
static void add_owner(const char *path, struct tc_strbuf *out)
{
    struct tc_strbuf owner = TC_STRBUF_INIT;
    bool has_content;

    tc_strbuf_add(&owner, path, (size_t)(strrchr(path, '.') - path));
    if (owner.size > 6 && !strcmp(owner.text + owner.size - 6, ".attrs"))
        owner.text[owner.size -= 6] = '\0';
    add_path(owner.text, &has_content, out);
    tc_strbuf_release(&owner);
}

static void add_wording(const struct wording *w, const struct tc_difference *d,
                        struct tc_strbuf *out)
{
    if (!w->is) {
        tc_strbuf_adds(out, !strcmp(d->is, "true") ? w->when_true : w->when_false);
        return;
    }
    tc_strbuf_adds(out, w->is);
    add_name(d->is, out);
    tc_strbuf_adds(out, w->was);
    add_name(d->was, out);
}

/* "ctx.autocast.cpu": under what the call runs. */
static bool add_context(const char *path, const struct tc_difference *d, struct tc_strbuf *out)
{
    const bool is_autocast = !strncmp(path, "ctx.autocast.", 13);
    const char *what = !strcmp(path, "ctx.grad")        ? "no_grad"
                       : !strcmp(path, "ctx.inference") ? "inference_mode"
                       : is_autocast                    ? "autocast"
                                                        : NULL;

    if (!what)
        return false;
    tc_strbuf_addf(out, d->is ? " runs under %s" : " no longer runs under %s", what);
    if (is_autocast) {
        tc_strbuf_adds(out, " in ");
        add_name(d->is ? d->is : d->was, out);
    }
    if (d->is && d->was) {
        tc_strbuf_adds(out, ", was in ");
        add_name(d->was, out);
    } else if (d->is) {
        tc_strbuf_adds(out, ", did not");
    }
    return true;
}

/* A tensor stands where none was, or the other way round: only its class says so. */
static bool add_tensor(const char *path, const struct tc_difference *d, struct tc_strbuf *out)
{
    const char *dot = strrchr(path, '.');

    if (!dot || strcmp(dot, ".tensor") != 0 || (d->is && d->was))
        return false;
    add_owner(path, out);
    tc_strbuf_adds(out, d->is ? " is a " : " is no tensor, was a ");
    add_name(d->is ? d->is : d->was, out);
    tc_strbuf_adds(out, d->is ? ", was no tensor" : "");
    return true;
}

static bool is_length(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && !strcmp(dot, ".more");
}

static void add_values(const char *path, bool has_content, const struct tc_difference *d,
                       struct tc_strbuf *out)
{
    if (is_length(path)) {
        tc_strbuf_adds(out, " has another length");
    } else if (has_content) {
        tc_strbuf_adds(out, " has another content");
    } else if (!d->is) {
        tc_strbuf_adds(out, " is no longer passed, was ");
        add_python(d->was, out);
    } else {
        tc_strbuf_adds(out, " is ");
        add_python(d->is, out);
        tc_strbuf_adds(out, d->was ? ", was " : ", was not passed");
        if (d->was)
            add_python(d->was, out);
    }
}

/* ---- sentences ----------------------------------------------------------------------------- */

/* " is called before SGD.step(), was after it" */
static void say_moved(const struct tc_comparison *c, const struct tc_difference *d,
                      struct tc_strbuf *out)
{
    const bool is_later = d->passed.is_later;

    if (d->passed.was == TC_NO_SITE) {
        tc_strbuf_adds(out, " is called earlier or later than before");
        return;
    }
    tc_strbuf_adds(out, is_later ? " is called after " : " is called before ");
    add_call(c, d->passed.is, out);
    tc_strbuf_adds(out, is_later ? ", was before " : ", was after ");
    if (d->passed.was == d->passed.is)
        tc_strbuf_adds(out, "it");
    else
        add_call(c, d->passed.was, out);
}

static void say_call(const struct tc_comparison *c, const struct tc_difference *d,
                     struct tc_strbuf *out)
{
    add_call(c, d->site_b != TC_NO_SITE ? d->site_b : d->site_a, out);
    if (d->what == TC_IS_UNRESTORED) {
        tc_strbuf_adds(out, " saved a state that the run never loads");
    } else if (d->what == TC_IS_MISSING) {
        tc_strbuf_adds(out, " is no longer called");
    } else if (d->what == TC_IS_MOVED) {
        say_moved(c, d, out);
    } else if (d->what == TC_IS_REPLACED) {
        tc_strbuf_adds(out, " is called in place of ");
        add_call(c, d->site_a, out);
    } else {
        tc_strbuf_adds(out, " is a new call");
    }
}

static void say_value(const struct tc_comparison *c, const struct tc_difference *d,
                      struct tc_strbuf *out)
{
    const char *path = text_of(c, d->path);
    const struct wording *wording = wording_of(path, d);
    const bool is_of_call = d->site_a != TC_NO_SITE && d->kind != TC_DIFFERENCE_VARIABLES &&
                            d->kind != TC_DIFFERENCE_WEIGHTS;
    bool has_content;

    if (is_of_call) {
        add_call(c, d->site_a, out);
        if (add_context(path, d, out))
            return;
        tc_strbuf_adds(out, ": ");
    }
    if (wording) {
        add_owner(path, out);
        add_wording(wording, d, out);
    } else if (!add_tensor(path, d, out)) {
        add_path(path, &has_content, out);
        add_values(path, has_content, d, out);
    }
    if (d->has_equal_operands)
        tc_strbuf_adds(out, ", though its operands are equal");
}

static void say_variable(const struct tc_comparison *c, const struct tc_difference *d,
                         struct tc_strbuf *out)
{
    const uint32_t cause = d->site_b != TC_NO_SITE ? d->site_b : d->site_a;

    tc_strbuf_adds(out, text_of(c, d->path));
    if (d->what == TC_IS_NEW || d->what == TC_IS_MISSING)
        tc_strbuf_adds(out, d->what == TC_IS_NEW ? " is new" : " is gone");
    else if (d->site_a != TC_NO_SITE)
        tc_strbuf_adds(out, " no longer changes");
    else
        tc_strbuf_adds(out, " changes, and did not");
    if (cause != TC_NO_SITE) {
        tc_strbuf_adds(out, " in ");
        add_call(c, cause, out);
    }
}

void tc_compare_sentence(const struct tc_comparison *c, const struct tc_difference *d,
                         struct tc_strbuf *out)
{
    if (d->said)
        tc_strbuf_adds(out, d->said);
    else if (d->kind == TC_DIFFERENCE_CALLS)
        say_call(c, d, out);
    else if (d->what == TC_IS_OTHER)
        say_value(c, d, out);
    else
        say_variable(c, d, out);
}

static const char *at_of(const struct tc_comparison *c, uint32_t site)
{
    return site == TC_NO_SITE ? "" : text_of(c, c->sites.items.items[site].at);
}

const char *tc_compare_at_run(const struct tc_comparison *c, const struct tc_difference *d)
{
    return at_of(c, d->site_b);
}

const char *tc_compare_at_reference(const struct tc_comparison *c, const struct tc_difference *d)
{
    return at_of(c, d->site_a);
}

bool tc_compare_place(const struct tc_comparison *c, const struct tc_difference *d,
                      struct tc_strbuf *out)
{
    const char *at = tc_compare_at(c, d);
    size_t line = 0;
    const struct tc_script *a =
        d->site_b == TC_NO_SITE ? tc_scripts_at(&c->reference.scripts, at, &line) : NULL;

    if (a && a->match)
        tc_strbuf_addf(out, "%s:%zu", a->other->at, tc_script_line_in_other(a, line) + 1);
    else
        tc_strbuf_adds(out, at);
    return *at;
}

const char *tc_compare_at(const struct tc_comparison *c, const struct tc_difference *d)
{
    const char *at = tc_compare_at_run(c, d);

    return *at ? at : tc_compare_at_reference(c, d);
}

void tc_compare_origin(const struct tc_difference *d, struct tc_strbuf *out)
{
    size_t line;
    const struct tc_script *script = tc_edited_line(&d->edited, &line);

    if (script)
        tc_strbuf_addf(out, ", %s at %s:%zu", d->edited.is_guess ? "perhaps by the edit" : "made",
                       tc_fs_base(script->at), line + 1);
}

void tc_compare_when(const struct tc_comparison *c, const struct tc_difference *d,
                     struct tc_strbuf *out)
{
    if (d->step < 0 || d->kind <= TC_DIFFERENCE_COMMAND)
        return;
    if (d->stage == TC_SYM_INIT)
        tc_strbuf_adds(out, "before the first step");
    else if (d->n_windows > 1)
        tc_strbuf_addf(out, "from step %lld on", (long long)d->step);
    else
        tc_strbuf_addf(out, "in step %lld", (long long)d->step);
    if (d->n > 1)
        tc_strbuf_addf(out, ", %llu times", (unsigned long long)d->n);
    if (c->run.n_processes > 1)
        tc_strbuf_addf(out, ", rank %lld%s", (long long)d->rank, d->is_worker ? " (worker)" : "");
}

/* A call or an argument that differs is a reason: then nobody asks whether it is rounding. */
static bool has_reason(const struct tc_comparison *c)
{
    for (size_t i = 0; i < c->differences.items.n; i++) {
        const struct tc_difference *d = c->differences.items.items[i];
        if (d->aside == TC_ASIDE_NO &&
            (d->kind == TC_DIFFERENCE_CALLS || d->kind == TC_DIFFERENCE_ARGUMENTS || d->is_seed))
            return true;
    }
    return c->has_other_seed;
}

bool tc_compare_parted(const struct tc_comparison *c, struct tc_strbuf *out)
{
    for (size_t i = 0; i < c->pairs.n; i++) {
        const struct tc_process_pair *pair = &c->pairs.items[i];
        if (!pair->has_parted || pair->is_worker || c->reference.is_excerpt)
            continue;
        tc_strbuf_addf(out, "in step %" PRId64, pair->parted_step);
        if (c->pairs.n > 1)
            tc_strbuf_addf(out, " of rank %" PRId64, pair->rank);
        if (!has_reason(c) && c->closeness.is_known && c->closeness.near_until >= pair->parted_step)
            tc_strbuf_addf(out, "; equal to rounding until step %" PRId64, c->closeness.near_until);
        return true;
    }
    return false;
}

const char *tc_compare_nothing(const struct tc_comparison *c, enum tc_difference_kind kind)
{
    if (!c->reference.is_excerpt || kind < TC_DIFFERENCE_DRAWS || kind == TC_DIFFERENCE_CALLS ||
        kind == TC_DIFFERENCE_ARGUMENTS)
        return "equal";
    return "not compared: an excerpt has no values";
}

const char *tc_compare_why_aside(enum tc_set_aside aside)
{
    static const char *const why[] = {
        [TC_ASIDE_NO] = "",
        [TC_ASIDE_HEALTHY] = "healthy runs differ there, too",
        [TC_ASIDE_DATA] = "values had parted before: it may follow from them",
        [TC_ASIDE_RANKS] = "another number of ranks is started and served so",
        [TC_ASIDE_RESUMED] = "a run is resumed by its command line",
        [TC_ASIDE_DRAWN] = "it follows from another seed",
        [TC_ASIDE_SILENT] = "the values of whole steps are equal after it",
    };

    return why[aside];
}

/* ---- files --------------------------------------------------------------------------------- */

struct tc_file_pair *tc_compare_files(const struct tc_comparison *c, size_t *n)
{
    const struct tc_scripts *of_a = &c->reference.scripts, *of_b = &c->run.scripts;
    struct tc_file_pair *pairs = tc_calloc(of_a->items.n + of_b->items.n + 1, sizeof(*pairs));

    *n = 0;
    for (size_t i = 0; i < of_b->items.n; i++)
        if (!tc_script_is_equal(of_b->items.items[i]))
            pairs[(*n)++] =
                (struct tc_file_pair){of_b->items.items[i]->other, of_b->items.items[i]};
    for (size_t i = 0; i < of_a->items.n; i++)
        if (!of_a->items.items[i]->other)
            pairs[(*n)++] = (struct tc_file_pair){of_a->items.items[i], NULL};
    return pairs;
}

void tc_compare_file(struct tc_file_pair pair, struct tc_strbuf *out)
{
    if (!pair.a || !pair.b)
        tc_strbuf_adds(out, pair.b ? " is new" : " is gone");
    else if (!*pair.a->digest || !*pair.b->digest)
        tc_strbuf_adds(out, " could not be read");
    else if (!pair.a->match)
        tc_strbuf_adds(out, " has another content");
    else
        tc_strbuf_addf(out, ": %zu line%s gone, %zu new", tc_script_n_changed(pair.a),
                       tc_script_n_changed(pair.a) == 1 ? "" : "s", tc_script_n_changed(pair.b));
}
