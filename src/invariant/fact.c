/* SPDX-License-Identifier: Apache-2.0 */
#include "invariant/fact.h"

#include <string.h>

#include "base/banned.h"

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

const char *tc_attribute_text(enum tc_attribute attribute)
{
    return attributes[attribute];
}

/* n if it is none of them. */
static uint32_t find(const char *const *texts, uint32_t n, const char *text)
{
    uint32_t i = 0;

    while (i < n && (!text || strcmp(texts[i], text) != 0))
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

/* Has it the words that it is told by? A file may hold anything. */
static bool is_whole(const struct tc_fact *fact)
{
    const tc_sym *words = fact->subject.fields;

    switch (fact->subject.kind) {
    case TC_SUBJECT_CALL:
    case TC_SUBJECT_WINDOW:
    case TC_SUBJECT_RUN:
        if (words[TC_FACT_FN] == TC_NO_SYM)
            return false;
        break;
    case TC_N_SUBJECTS:
        return false;
    default:
        break;
    }
    return fact->attribute < TC_N_ATTRIBUTES &&
           (fact->attribute != TC_ATTRIBUTE_BEFORE || words[TC_FACT_IN] != TC_NO_SYM);
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
    tc_strbuf_addf(out, "[\"%s\"", kinds[fact->subject.kind]);
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        add_text(out, symbols, fact->subject.fields[i]);
    add_text(out, symbols, fact->path);
    tc_strbuf_addf(out, ",\"%s\"]", attributes[fact->attribute]);
}

static tc_sym intern(struct tc_strtab *symbols, const char *text)
{
    return text && *text ? tc_strtab_intern_text(symbols, text) : TC_NO_SYM;
}

bool tc_fact_of_key(struct tc_fact *fact, struct tc_strtab *symbols, const char *text, size_t size)
{
    struct tc_json *array = NULL;
    unsigned place = 0;

    *fact = (struct tc_fact){.subject = tc_subject_of(TC_N_SUBJECTS),
                             .attribute = TC_N_ATTRIBUTES,
                             .path = TC_NO_SYM,
                             .value = TC_NO_SYM};
    if (tc_json_parse(text, size, &array, NULL))
        return false;
    for (const struct tc_json *c = tc_json_first(array); c; c = tc_json_next(c), place++) {
        const char *word = tc_json_text(c);
        if (place == 0)
            fact->subject.kind = find(kinds, TC_N_SUBJECTS, word);
        else if (place <= TC_FACT_FIELDS)
            fact->subject.fields[place - 1] = intern(symbols, word);
        else if (place == TC_FACT_FIELDS + 1)
            fact->path = intern(symbols, word);
        else
            fact->attribute = find(attributes, TC_N_ATTRIBUTES, word);
    }
    tc_json_free(array);
    return place == TC_FACT_FIELDS + 3 && is_whole(fact);
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
    fact->subject.kind = find(kinds, TC_N_SUBJECTS, tc_json_text(tc_json_get(subject, "subject")));
    fact->attribute =
        find(attributes, TC_N_ATTRIBUTES, tc_json_text(tc_json_get(claim, "attribute")));
    for (unsigned i = 0; i < TC_FACT_FIELDS; i++)
        fact->subject.fields[i] = intern(symbols, tc_json_text(tc_json_get(subject, fields[i])));
    if (!value || !is_whole(fact))
        return false;
    fact->path = intern(symbols, tc_json_text(tc_json_get(claim, "operand")));
    tc_json_print(value, &text);
    fact->value = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return true;
}
