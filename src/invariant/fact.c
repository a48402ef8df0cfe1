/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fact.c - a fact as a key, as a descriptor of the file, and back
 *
 * A key is a JSON array of texts, so that mining sorts and compares it as text; most are split
 * without building a tree. What is read from a file is trusted only if it has all words that its
 * kind is told by (is_whole).
 */
#include "invariant/fact.h"

#include <string.h>

static const char *const kinds[TC_N_SUBJECTS] = {
#define X(name, text) [TC_SUBJECT_##name] = (text),
    TC_SUBJECT_MAP(X)
#undef X
};

static const char *const fields[TC_FACT_FIELDS] = {
#define X(name, text) [TC_FACT_##name] = (text),
    TC_FACT_FIELD_MAP(X)
#undef X
};

static const char *const attributes[TC_N_ATTRIBUTES] = {
#define X(name, text) [TC_ATTRIBUTE_##name] = (text),
    TC_ATTRIBUTE_MAP(X)
#undef X
};

/* A part of a text; NULL where there is none. */
struct word {
    const char *text;
    size_t size;
};

static struct word word_of(const struct tc_json *node)
{
    const char *text = tc_json_text(node);

    return (struct word){text, text ? strlen(text) : 0};
}

/* n if it is none of them. */
static uint32_t find_text(const char *const *texts, uint32_t n, struct word word)
{
    uint32_t i = 0;

    while (i < n && (!word.text || strlen(texts[i]) != word.size ||
                     memcmp(texts[i], word.text, word.size) != 0))
        i++;
    return i;
}

struct tc_subject tc_subject_of(enum tc_subject_kind kind)
{
    struct tc_subject subject = {.kind = kind};

    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        subject.fields[i] = TC_NO_SYM;
    return subject;
}

static bool is_flow(const struct tc_fact *fact)
{
    return fact->subject.kind == TC_SUBJECT_FLOW || fact->attribute == TC_ATTRIBUTE_FLOWS ||
           fact->attribute == TC_ATTRIBUTE_FLOWS_FIRST ||
           fact->attribute == TC_ATTRIBUTE_FLOWS_LATER ||
           fact->attribute == TC_ATTRIBUTE_FLOWS_WHERE ||
           fact->attribute == TC_ATTRIBUTE_FLOWS_EVER;
}

/* Has it the words that it is told by? A file may hold anything. */
static bool is_whole(const struct tc_fact *fact)
{
    const tc_sym *words = fact->subject.fields;

    switch (fact->subject.kind) {
    case TC_SUBJECT_CALL:
    case TC_SUBJECT_WINDOW:
    case TC_SUBJECT_FLOW:
    case TC_SUBJECT_RUN:
        if (words[TC_FACT_FN] == TC_NO_SYM)
            return false;
        break;
    case TC_N_SUBJECTS:
        return false;
    default:
        break;
    }
    if (fact->subject.kind == TC_SUBJECT_USE && words[TC_FACT_NAME] == TC_NO_SYM)
        return false;
    if (is_flow(fact) && (words[TC_FACT_IN] == TC_NO_SYM || words[TC_FACT_NAME] == TC_NO_SYM))
        return false;
    return fact->attribute < TC_N_ATTRIBUTES;
}

/* ---- the key: an array of texts, "" for what does not apply --------------------------------- */

static void add_text(struct tc_strbuf *out, const struct tc_strtab *symbols, tc_sym sym)
{
    tc_strbuf_addc(out, ',');
    if (sym == TC_NO_SYM)
        tc_strbuf_adds(out, "\"\"");
    else
        tc_strbuf_add_json(out, tc_strtab_text(symbols, sym), tc_strtab_size(symbols, sym));
}

void tc_fact_key(const struct tc_fact *fact, const struct tc_strtab *symbols, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "[\"");
    tc_strbuf_adds(out, kinds[fact->subject.kind]);
    tc_strbuf_addc(out, '"');
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        add_text(out, symbols, fact->subject.fields[i]);
    add_text(out, symbols, fact->path);
    tc_strbuf_adds(out, ",\"");
    tc_strbuf_adds(out, attributes[fact->attribute]);
    tc_strbuf_adds(out, "\"]");
}

tc_sym tc_fact_key_symbol(const struct tc_fact *fact, struct tc_strtab *symbols)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_fact_key(fact, symbols, &text);
    const tc_sym key = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return key;
}

static tc_sym intern(struct tc_strtab *symbols, struct word word)
{
    return word.size ? tc_strtab_intern(symbols, word.text, word.size) : TC_NO_SYM;
}

enum {
    N_WORDS = TC_FACT_FIELDS + 3 /* the kind in front, path and attribute behind */
};

/* Mining asks each form for each key, and few keys have an escape: no tree is built for the others.
 */
static bool split(const char *text, size_t size, struct word *words)
{
    const char *end = text + size;

    if (memchr(text, '\\', size))
        return false;
    for (unsigned i = 0; i < N_WORDS; i++) {
        const char *begin = text + 2, *quote;
        if (end - text < 3 || text[0] != (i ? ',' : '[') || text[1] != '"' ||
            !(quote = memchr(begin, '"', (size_t)(end - begin))))
            return false;
        words[i] = (struct word){begin, (size_t)(quote - begin)};
        text = quote + 1;
    }
    return end - text == 1 && *text == ']';
}

static bool read_words(struct tc_fact *fact, struct tc_strtab *symbols, const struct word *words)
{
    *fact = (struct tc_fact){.subject = tc_subject_of(TC_N_SUBJECTS), .value = TC_NO_SYM};
    fact->subject.kind = find_text(kinds, TC_N_SUBJECTS, words[0]);
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        fact->subject.fields[i] = intern(symbols, words[1 + i]);
    fact->path = intern(symbols, words[1 + TC_FACT_FIELDS]);
    fact->attribute = find_text(attributes, TC_N_ATTRIBUTES, words[2 + TC_FACT_FIELDS]);
    return is_whole(fact);
}

bool tc_fact_of_key(struct tc_fact *fact, struct tc_strtab *symbols, const char *text, size_t size)
{
    struct word words[N_WORDS];
    struct tc_json *array = NULL;
    unsigned n = 0;
    bool is_read;

    if (split(text, size, words))
        return read_words(fact, symbols, words);
    if (tc_json_parse(text, size, &array, NULL))
        return false;
    for (const struct tc_json *c = tc_json_first(array); c; c = tc_json_next(c), n++)
        if (n < N_WORDS)
            words[n] = word_of(c);
    is_read = n == N_WORDS && read_words(fact, symbols, words);
    tc_json_free(array);
    return is_read;
}

/* ---- descriptors ---------------------------------------------------------------------------- */

struct tc_json *tc_fact_subject_to_json(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "subject", kinds[fact->subject.kind]);
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        if (fact->subject.fields[i] != TC_NO_SYM)
            tc_json_set_string(object, fields[i], tc_strtab_text(symbols, fact->subject.fields[i]));
    return object;
}

struct tc_json *tc_fact_claim_to_json(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object(), *value = NULL;

    tc_json_set_string(object, "attribute", attributes[fact->attribute]);
    if (fact->path != TC_NO_SYM)
        tc_json_set_string(object, "operand", tc_strtab_text(symbols, fact->path));
    if (tc_json_parse(tc_strtab_text(symbols, fact->value), tc_strtab_size(symbols, fact->value),
                      &value, NULL))
        value = tc_json_null();
    tc_json_set(object, "is", value);
    return object;
}

bool tc_fact_read(struct tc_fact *fact, struct tc_strtab *symbols, const struct tc_json *subject,
                  const struct tc_json *claim)
{
    const struct tc_json *value = tc_json_get(claim, "is");
    struct tc_strbuf text = TC_STRBUF_INIT;

    *fact = (struct tc_fact){.subject = tc_subject_of(TC_N_SUBJECTS)};
    fact->subject.kind = find_text(kinds, TC_N_SUBJECTS, word_of(tc_json_get(subject, "subject")));
    fact->attribute =
        find_text(attributes, TC_N_ATTRIBUTES, word_of(tc_json_get(claim, "attribute")));
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        fact->subject.fields[i] = intern(symbols, word_of(tc_json_get(subject, fields[i])));
    if (!value || !is_whole(fact))
        return false;
    fact->path = intern(symbols, word_of(tc_json_get(claim, "operand")));
    tc_json_print(value, &text);
    fact->value = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return true;
}

/* ---- windows --------------------------------------------------------------------------------- */

#define MAX_WINDOWS 9e15

void tc_fact_windows_print(const struct tc_fact_windows *windows, struct tc_json *object)
{
    struct tc_json *pair;

    if (!windows->of)
        return;
    pair = tc_json_array();
    tc_json_append(pair, tc_json_number((double)windows->met));
    tc_json_append(pair, tc_json_number((double)windows->of));
    tc_json_set(object, "windows", pair);
}

bool tc_fact_windows_read(const struct tc_json *object, struct tc_fact_windows *windows)
{
    const struct tc_json *pair = tc_json_get(object, "windows");
    double met, of;

    *windows = (struct tc_fact_windows){0};
    if (!pair)
        return true;
    if (!tc_json_is_array(pair) || tc_json_count(pair) != 2)
        return false;
    met = tc_json_to_number(tc_json_first(pair), 0);
    of = tc_json_to_number(tc_json_next(tc_json_first(pair)), 0);
    if (!(met >= 1) || !(of >= met) || of > MAX_WINDOWS)
        return false;
    *windows = (struct tc_fact_windows){(uint64_t)met, (uint64_t)of};
    return true;
}
