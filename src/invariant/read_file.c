/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_file.c - the invariant file, line by line
 *
 * What cannot be understood of an invariant leaves a reason in `unchecked`.
 */
#include "invariant/invariant.h"

#include <string.h>

#include "base/fs.h"
#include "base/utf8.h"
#include "invariant/headings.h"
#include "invariant/keys.h"
#include "invariant/python_form.h"
#include <traincheck/version.h>

static tc_sym intern(struct tc_invariant_set *set, const struct tc_json *string)
{
    const char *text = tc_json_text(string);

    return text ? tc_strtab_intern_text(set->symbols, text) : TC_NO_SYM;
}

static tc_sym intern_value(struct tc_invariant_set *set, const struct tc_json *value)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_print(value, &text);
    tc_sym sym = tc_strtab_intern(set->symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

static const char *const verbs[] = {"is", "equals", "at_most", "at_least"};

static bool read_operand(struct tc_invariant_set *set, const struct tc_json *object,
                         struct tc_param *param)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
        const struct tc_json *right = tc_json_get(object, verbs[i]);
        if (!right)
            continue;
        param->attr = tc_strtab_intern_text(set->symbols, verbs[i]);
        param->to = i == 0 ? intern_value(set, right) : intern(set, right);
        return param->to != TC_NO_SYM;
    }
    return false;
}

static bool read_change(struct tc_invariant_set *set, const struct tc_json *object,
                        struct tc_param *param)
{
    param->attr = intern(set, tc_json_get(object, "attr"));
    param->from = intern(set, tc_json_get(object, "from"));
    param->to = intern(set, tc_json_get(object, "to"));
    return param->attr != TC_NO_SYM && param->to != TC_NO_SYM;
}

static bool read_param(struct tc_invariant_set *set, const struct tc_json *object,
                       struct tc_param *param)
{
    const char *role = tc_json_text(tc_json_get(object, "role"));
    unsigned kind = 0;

    while (kind < TC_N_PARAM_KEYS && !tc_json_get(object, tc_param_keys[kind]))
        kind++;
    if (kind == TC_N_PARAM_KEYS)
        return false;
    *param = (struct tc_param){.kind = (enum tc_param_kind)kind,
                               .name = intern(set, tc_json_get(object, tc_param_keys[kind])),
                               .role = tc_strtab_intern_text(set->symbols, role ? role : ""),
                               .attr = TC_NO_SYM,
                               .from = TC_NO_SYM,
                               .to = TC_NO_SYM,
                               .given = tc_json_to_bool(tc_json_get(object, "given"), false)};
    if (param->name == TC_NO_SYM)
        return false;
    if (kind == TC_PARAM_CALL)
        return true;
    return kind == TC_PARAM_OPERAND ? read_operand(set, object, param)
                                    : read_change(set, object, param);
}

/* Two descriptors that are one fact. */
static bool read_fact(struct tc_invariant_set *set, const struct tc_json *subject,
                      struct tc_invariant *invariant)
{
    const struct tc_json *claim = tc_json_next(subject);
    struct tc_fact *fact = tc_arena_zalloc(&set->arena, sizeof(*fact));

    if (!claim || tc_json_next(claim) || !tc_fact_read(fact, set->symbols, subject, claim))
        return false;
    invariant->params[0] = tc_param_fact(fact);
    invariant->n_params = 1;
    return true;
}

/* They select what is traced, and stand in messages. */
static bool is_name_sound(const struct tc_invariant_set *set, tc_sym name)
{
    const char *p = tc_strtab_text(set->symbols, name),
               *end = p + tc_strtab_size(set->symbols, name);

    for (size_t n; p < end; p += n ? n : 1) {
        n = tc_utf8_size(p, end);
        if (tc_utf8_is_hidden(p, n) || tc_utf8_is_separator(p, n))
            return false;
    }
    return true;
}

static bool is_subject_sound(const struct tc_invariant_set *set, const struct tc_subject *subject)
{
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        if (subject->fields[i] != TC_NO_SYM && !is_name_sound(set, subject->fields[i]))
            return false;
    return true;
}

static bool are_names_sound(const struct tc_invariant_set *set,
                            const struct tc_invariant *invariant)
{
    if (tc_invariant_fact(invariant))
        return is_subject_sound(set, &tc_invariant_fact(invariant)->subject);
    for (size_t i = 0; i < invariant->n_params; i++)
        if (!is_name_sound(set, invariant->params[i].name) ||
            !is_name_sound(set, invariant->params[i].role))
            return false;
    for (size_t i = 0; i < invariant->n_when; i++)
        if (!is_name_sound(set, invariant->when[i].field))
            return false;
    return true;
}

static bool read_params(struct tc_invariant_set *set, const struct tc_json *params,
                        struct tc_invariant *invariant)
{
    if (!tc_json_is_array(params) || tc_json_count(params) == 0 ||
        tc_json_count(params) > TC_MAX_PARAMS)
        return false;
    if (tc_json_get(tc_json_first(params), "subject"))
        return read_fact(set, tc_json_first(params), invariant);
    for (const struct tc_json *p = tc_json_first(params); p; p = tc_json_next(p))
        if (!read_param(set, p, &invariant->params[invariant->n_params++]))
            return false;
    return true;
}

static bool read_when(struct tc_invariant_set *set, const struct tc_json *when,
                      struct tc_invariant *invariant)
{
    if (!when)
        return true;
    if (!tc_json_is_array(when) || tc_json_count(when) > TC_MAX_CLAUSES)
        return false;
    for (const struct tc_json *c = tc_json_first(when); c; c = tc_json_next(c)) {
        struct tc_clause *clause = &invariant->when[invariant->n_when++];
        const struct tc_json *is = tc_json_get(c, "is"), *not = tc_json_get(c, "not");
        clause->field = intern(set, tc_json_get(c, "field"));
        clause->negated = !is;
        if (clause->field == TC_NO_SYM || !is == !not )
            return false;
        clause->value = intern_value(set, is ? is : not );
    }
    return true;
}

static void read_contexts(struct tc_invariant_set *set, const struct tc_json *contexts,
                          struct tc_invariant *invariant)
{
    size_t n = tc_json_count(contexts);

    invariant->contexts = tc_arena_zalloc(&set->arena, n * sizeof(*invariant->contexts) + 1);
    for (const struct tc_json *c = tc_json_first(contexts); c; c = tc_json_next(c)) {
        struct tc_context *context = &invariant->contexts[invariant->n_contexts++];
        context->field = tc_strtab_intern_text(set->symbols, tc_json_key(c));
        context->values =
            tc_arena_alloc(&set->arena, tc_json_count(c) * sizeof(*context->values) + 1);
        for (const struct tc_json *v = tc_json_first(c); v; v = tc_json_next(v))
            context->values[context->n_values++] = intern_value(set, v);
    }
}

static uint64_t count_of(const struct tc_json *evidence, const char *key)
{
    double n = tc_json_to_number(tc_json_get(evidence, key), 0);

    return n > 0 && n < 1e18 ? (uint64_t)n : 0;
}

static void read_evidence(struct tc_invariant_set *set, const struct tc_json *evidence,
                          struct tc_invariant *invariant)
{
    invariant->held = count_of(evidence, "held");
    invariant->broken = count_of(evidence, "broken");
    invariant->excluded = count_of(evidence, "excluded");
    invariant->pipelines = count_of(evidence, "pipelines");
    tc_fact_windows_read(evidence, &invariant->windows);
    const struct tc_json *held_out = tc_json_get(evidence, "held_out");
    invariant->is_validated = held_out != NULL;
    invariant->held_out = count_of(held_out, "held");
    invariant->held_out_pipelines = count_of(held_out, "pipelines");
    const struct tc_json *contexts = tc_json_get(evidence, "contexts");
    if (tc_json_is_object(contexts))
        read_contexts(set, contexts, invariant);
}

static bool read_need(const struct tc_json *need, struct tc_invariant *invariant)
{
    const char *text = tc_json_text(need);

    for (unsigned i = 0; text && i < TC_N_NEEDS; i++)
        if (!strcmp(text, tc_need_text((enum tc_need)i))) {
            invariant->needs |= TC_NEED_BIT(i);
            return true;
        }
    return false;
}

static bool read_needs(const struct tc_json *needs, struct tc_invariant *invariant)
{
    for (const struct tc_json *need = tc_json_first(needs); need; need = tc_json_next(need))
        if (!read_need(need, invariant))
            return false;
    return !needs || tc_json_is_array(needs);
}

/* NULL if it is no string. */
static const char *copy_text(struct tc_invariant_set *set, const struct tc_json *string)
{
    const char *text = tc_json_text(string);

    return text ? tc_arena_text(&set->arena, text, strlen(text)) : NULL;
}

static void take_text(struct tc_invariant_set *set, const struct tc_json *document,
                      struct tc_invariant *invariant)
{
    const char *text = copy_text(set, tc_json_get(document, "text"));
    const char *id = tc_json_text(tc_json_get(document, "id"));

    invariant->text = text ? text : "";
    if (id && strlen(id) < sizeof(invariant->id))
        memcpy(invariant->id, id, strlen(id) + 1);
}

/* The one last read, if it was there before. It then counts wherever either would. */
static void drop_duplicate(struct tc_invariant_set *set, const struct tc_invariant *invariant)
{
    bool is_new;
    uint64_t *known = tc_map_at(&set->known, tc_invariant_digest(invariant, set->symbols), &is_new);

    if (is_new) {
        *known = set->items.n - 1;
        return;
    }
    if (!invariant->file->is_optional)
        set->items.items[*known]->file = invariant->file;
    tc_json_free(invariant->document);
    set->items.n--;
}

/* Takes the document unless it fails. */
static enum tc_status read_invariant(struct tc_invariant_set *set, struct tc_json *document,
                                     struct tc_error *err)
{
    const struct tc_json *relation = tc_json_get(document, "relation");
    struct tc_invariant *invariant;

    if (!tc_json_is_string(relation))
        return tc_error_set(err, TC_E_FORMAT, "field \"relation\" is missing or no string");
    invariant = tc_invariant_add(set);
    invariant->document = document;
    invariant->relation = intern(set, relation);
    take_text(set, document, invariant);
    if (!read_params(set, tc_json_get(document, "params"), invariant))
        invariant->unchecked = "its params are not understood by this version";
    else if (!read_when(set, tc_json_get(document, "when"), invariant))
        invariant->unchecked = "its precondition is not understood by this version";
    else if (!read_needs(tc_json_get(document, "needs"), invariant))
        invariant->unchecked = "what it needs of a trace is not understood by this version";
    else if (!are_names_sound(set, invariant))
        invariant->unchecked = "a name in it has a control character";
    else
        tc_invariant_name(invariant, set->symbols);
    read_evidence(set, tc_json_get(document, "evidence"), invariant);
    invariant->file = set->files.items[set->files.n - 1];
    if (!invariant->unchecked)
        drop_duplicate(set, invariant);
    return TC_OK;
}

/* ---- headings -------------------------------------------------------------------------------- */

/* A line whose heading went missing would speak of the subject of another one. The id is of both.
 */
static enum tc_status check_id(struct tc_invariant_set *set, const struct tc_json *whole,
                               struct tc_error *err)
{
    const struct tc_json *params = tc_json_get(whole, "params");
    const char *id = tc_json_text(tc_json_get(whole, "id"));
    struct tc_invariant invariant = {.relation = intern(set, tc_json_get(whole, "relation"))};

    if (!id || invariant.relation == TC_NO_SYM || !read_params(set, params, &invariant))
        return TC_OK;
    tc_invariant_name(&invariant, set->symbols);
    if (!strcmp(id, invariant.id))
        return TC_OK;
    return tc_error_set(err, TC_E_FORMAT,
                        "%s is no id of the subject above it: the line that has its subject is "
                        "missing, or this one is out of its place",
                        id);
}

static enum tc_status read_below_heading(struct tc_invariant_set *set, struct tc_json *line,
                                         struct tc_error *err)
{
    struct tc_json *whole;
    enum tc_status status;

    if (!set->heading)
        return tc_error_set(err, TC_E_FORMAT,
                            "field \"params\" is missing, and no line above has the \"subject\" of "
                            "this one");
    whole = tc_heading_join(set->heading, line);
    status = check_id(set, whole, err);
    if (!status)
        status = read_invariant(set, whole, err);
    tc_json_free(status ? whole : line);
    return status;
}

static void set_heading(struct tc_invariant_set *set, struct tc_json *take)
{
    tc_json_free(set->heading);
    set->heading = take;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* {"packages":["torch"],"processes":"many"}, or "met":true */
static void read_for(struct tc_invariant_set *set, const struct tc_json *header)
{
    struct tc_invariant_file *file = set->files.items[set->files.n - 1];
    const struct tc_json *runs = tc_json_get(header, "for");
    const struct tc_json *packages = tc_json_get(runs, "packages");
    const char *processes = tc_json_text(tc_json_get(runs, "processes"));

    file->packages =
        tc_arena_alloc(&set->arena, tc_json_count(packages) * sizeof(*file->packages) + 1);
    file->n_packages = 0;
    for (const struct tc_json *p = tc_json_first(packages); p; p = tc_json_next(p))
        if (tc_json_is_string(p))
            file->packages[file->n_packages++] = copy_text(set, p);
    file->is_for_many = processes && !strcmp(processes, "many");
    file->is_if_met = tc_json_to_bool(tc_json_get(runs, "met"), false);
    file->torch = copy_text(set, tc_json_get(tc_json_get(header, "learned_with"), "torch"));
}

void tc_invariant_add_left_out(const struct tc_json *header, struct tc_strtab *names)
{
    const struct tc_json *list = tc_json_get(tc_json_get(header, "lean"), "left_out");

    for (const struct tc_json *name = tc_json_first(list); name; name = tc_json_next(name))
        if (tc_json_is_string(name))
            tc_strtab_intern_text(names, tc_json_text(name));
}

static void read_lean(struct tc_invariant_set *set, const struct tc_json *header)
{
    struct tc_invariant_file *file = set->files.items[set->files.n - 1];

    if (!tc_json_get(tc_json_get(header, "lean"), "left_out"))
        return;
    if (!file->left_out)
        file->left_out = tc_strtab_new();
    tc_invariant_add_left_out(header, file->left_out);
}

static enum tc_status read_header(struct tc_invariant_set *set, struct tc_json *document,
                                  struct tc_error *err)
{
    double schema = tc_json_to_number(tc_json_get(document, "schema"), 0);
    const char *what = tc_json_text(tc_json_get(document, "traincheck"));

    /* compare/excerpt.h and infer/kept.h read them */
    if (what && (!strcmp(what, "excerpt") ||
                 (!strcmp(what, "evidence") && tc_json_get(document, "zstd")))) {
        tc_json_free(document);
        return TC_OK;
    }
    if (!what || strcmp(what, "invariants"))
        return tc_error_set(err, TC_E_FORMAT, "this is a traincheck file, but not of invariants");
    if (schema > TC_INVARIANT_SCHEMA)
        return tc_error_set(err, TC_E_VERSION,
                            "invariant schema %g is newer than %d, the newest this version reads",
                            schema, TC_INVARIANT_SCHEMA);
    read_for(set, document);
    read_lean(set, document);
    set_heading(set, NULL);
    if (set->header)
        tc_json_free(document);
    else
        set->header = document;
    return TC_OK;
}

static enum tc_status read_line(struct tc_invariant_set *set, const char *line, size_t size,
                                struct tc_error *err)
{
    struct tc_json *document = NULL;
    enum tc_status status;

    if (tc_is_python_invariant(line, size))
        return tc_python_invariant_read(set, line, size, err);
    status = tc_json_parse(line, size, &document, err);
    if (status) {
        tc_error_prefix(err, "no line of an invariant file");
        return status;
    }
    if (!tc_json_is_object(document))
        status = tc_error_set(err, TC_E_FORMAT, "an invariant is a JSON object");
    else if (tc_json_get(document, "traincheck"))
        status = read_header(set, document, err);
    else if (tc_is_heading(document))
        set_heading(set, document);
    else if (tc_is_below_heading(document))
        status = read_below_heading(set, document, err);
    else
        status = read_invariant(set, document, err);
    if (status)
        tc_json_free(document);
    return status;
}

static enum tc_status check_utf8(const char *line, size_t size, struct tc_error *err)
{
    const char *other = tc_utf8_find_other(line, line + size);

    if (!other)
        return TC_OK;
    return tc_error_set(err, TC_E_FORMAT, "column %zu: byte 0x%02x: not UTF-8",
                        (size_t)(other - line) + 1, (unsigned char)*other);
}

static enum tc_status read_text_line(struct tc_invariant_set *set, const char *line, size_t size,
                                     bool has_no_end, struct tc_error *err)
{
    enum tc_status status = check_utf8(line, size, err);

    if (status)
        return status;
    status = read_line(set, line, size, err);
    /* Written whole, the last line ends like all others. */
    if (status && has_no_end && line[0] == '{')
        status = tc_error_set(
            err, TC_E_FORMAT,
            "the file ends within this line, after %zu bytes of it: it was cut off", size);
    return status;
}

static bool is_blank(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r", line[i]))
            return false;
    return true;
}

static enum tc_status read_text(const char *path, struct tc_strbuf *text, struct tc_error *err)
{
    if (!tc_fs_is_dir(path))
        return tc_fs_read(path, TC_FS_MAX_LARGE, text, err);
    return tc_error_set(err, TC_E_IO,
                        "%s: a folder, not an invariant file as traincheck-infer writes it", path);
}

static void add_file(struct tc_invariant_set *set, const char *name, bool is_optional)
{
    struct tc_invariant_file *file = tc_arena_zalloc(&set->arena, sizeof(*file));

    file->name = tc_arena_text(&set->arena, name, strlen(name));
    file->is_optional = is_optional;
    set_heading(set, NULL);
    tc_vec_push(&set->files, file);
}

/* Duplicates of what is there are no emptiness. */
static enum tc_status read_lines(struct tc_invariant_set *set, const struct tc_strbuf *text,
                                 const char *path, bool *is_empty, struct tc_error *err)
{
    enum tc_status status = TC_OK;
    unsigned line = 0;

    *is_empty = true;
    for (size_t at = 0; !status && at < text->size;) {
        const char *start = text->text + at;
        const char *end = memchr(start, '\n', text->size - at);
        size_t size = end ? (size_t)(end - start) : text->size - at;
        at += size + 1;
        line++;
        if (is_blank(start, size))
            continue;
        *is_empty = false;
        status = read_text_line(set, start, size, !end, err);
        if (status)
            tc_error_prefix(err, "%s:%u", path, line);
    }
    return status;
}

enum tc_status tc_invariant_set_read_text(struct tc_invariant_set *set,
                                          const struct tc_strbuf *text, const char *name,
                                          struct tc_error *err)
{
    bool is_empty;

    add_file(set, name, false);
    return read_lines(set, text, name, &is_empty, err);
}

enum tc_status tc_invariant_set_read_file(struct tc_invariant_set *set, const char *path,
                                          const char *name, bool is_optional, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = read_text(path, &text, err);
    bool is_empty = false;

    add_file(set, name, is_optional);
    if (!status)
        status = read_lines(set, &text, path, &is_empty, err);
    if (!status && is_empty)
        status = tc_error_set(err, TC_E_FORMAT, "%s: holds no invariants", path);
    tc_strbuf_release(&text);
    return status;
}
