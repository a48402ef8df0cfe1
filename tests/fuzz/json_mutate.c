/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_mutate.c - changes to JSON Lines that keep most lines what they are
 *
 * A fuzzer that changes bytes rarely gets past the reader. These change lines and fields: swap,
 * duplicate, drop, move, give a field the value of another place, of the schema or of a list, or
 * drop it. Linked into a target it is libFuzzer's mutator for that.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/schema.h"

#define MAX_ROUNDS 4
#define MAX_LINE   4096

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                 uint8_t *out, size_t max, unsigned seed);

struct text {
    uint8_t *data;
    size_t size, max;
    uint64_t seed;
};

struct part {
    size_t begin, end;
};

/* What means something to a reader of traces, invariants, evidence or plans. */
static const char *const known_words[] = {
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2",
    "9007199254740993",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e999",
    "4294967296",
    "{}",
    "[]",
    "[0]",
    "\"\"",
    "\"a\\u0000b\"",
    "\"\\ud800\"",
    "[[[[[[[[]]]]]]]]",
    "{\"int\":\"99999999999999999999\"}",
    "{\"float\":\"nan\"}",
    "{\"more\":5}",
    "{\"dict\":{\"a\":1}}",
    "{\"str\":\"x\",\"len\":99999}",
    "{\"tensor\":\"Tensor\",\"id\":1,\"shape\":[0],\"dtype\":\"float32\",\"device\":\"cpu\"}",
    "{\"object\":\"x\",\"id\":1,\"attrs\":{}}",
    "\"step\"",
    "\"backward\"",
    "\"zero_grad\"",
    "\"forward\"",
    "\"data\"",
    "\"load\"",
    "\"save\"",
    "\"seed\"",
    "\"mode\"",
    "\"collective\"",
    "\"scheduler\"",
    "\"unscale\"",
    "\"clip\"",
    "\"param_group\"",
    "\"scaler\"",
    "\"buffer\"",
    "\"Parameter\"",
    "\"worker\"",
    "\"rank\"",
    "\"lost\"",
    "\"missing\"",
    "\"sampling-off\"",
    "\"sampling-on\"",
    "\"evaluation\"",
    "\"training\"",
    "\"~0123456789abcdef\"",
    "\"nan_or_inf\"",
    "\"EventContain/some\"",
    "\"APISequence/window\"",
    "\"APIArg/constant\"",
    "\"Consistent/replica\"",
    "\"changed\"",
    "\"equal\"",
    "\"root.forward\"",
    "\"aten.mm.default\"",
    "\"aten.add.Tensor\"",
    "\"f32\"",
    "\"zero\"",
};

#define N_WORDS (sizeof(known_words) / sizeof(*known_words))

static size_t below(struct text *t, size_t n)
{
    t->seed = t->seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (size_t)(t->seed >> 33) % n : 0;
}

/* Put n bytes in place of a part; false if there is no room. */
static bool replace(struct text *t, struct part p, const void *with, size_t n)
{
    if (t->size - (p.end - p.begin) + n > t->max)
        return false;
    memmove(t->data + p.begin + n, t->data + p.end, t->size - p.end);
    if (n)
        memcpy(t->data + p.begin, with, n);
    t->size = t->size - (p.end - p.begin) + n;
    return true;
}

static struct part line_at(const struct text *t, size_t at)
{
    struct part p = {at, at};

    while (p.begin && t->data[p.begin - 1] != '\n')
        p.begin--;
    while (p.end < t->size && t->data[p.end] != '\n')
        p.end++;
    p.end += p.end < t->size;
    return p;
}

/* The end of the JSON value that begins at `at`, by brackets and quotes alone. */
static size_t value_end(const struct text *t, size_t at)
{
    int depth = 0;
    bool in_string = false;

    for (; at < t->size && t->data[at] != '\n'; at++) {
        uint8_t c = t->data[at];
        if (in_string) {
            at += c == '\\' && at + 1 < t->size;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']' || c == ',') && depth == 0) {
            break;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return at < t->size ? at : t->size;
}

/* A field of a line: its key with quotes, and its value; false if the line has none from there on.
 */
static bool field_in(struct text *t, struct part line, struct part *key, struct part *value)
{
    size_t at = line.begin + below(t, line.end - line.begin);

    for (; at + 1 < line.end; at++) {
        if (t->data[at] != '"' || t->data[at + 1] != ':')
            continue;
        key->end = at + 1;
        key->begin = at;
        while (key->begin > line.begin && t->data[key->begin - 1] != '"')
            key->begin--;
        key->begin -= key->begin > line.begin;
        value->begin = at + 2;
        value->end = value_end(t, value->begin);
        return true;
    }
    return false;
}

static void copy_line(struct text *t, struct part line, bool is_moved)
{
    uint8_t copy[MAX_LINE];
    size_t n = line.end - line.begin;

    if (n > sizeof(copy) || !n)
        return;
    memcpy(copy, t->data + line.begin, n);
    if (is_moved)
        replace(t, line, NULL, 0);
    struct part to = line_at(t, below(t, t->size + 1));
    to.end = to.begin;
    replace(t, to, copy, n);
}

/* The value that another place has for the same key. */
static void take_other(struct text *t, struct part key, struct part value)
{
    uint8_t copy[MAX_LINE];
    size_t from = below(t, t->size), n = key.end - key.begin;
    const uint8_t *found = memmem(t->data + from, t->size - from, t->data + key.begin, n);

    if (!found || (size_t)(found - t->data) + n + 1 >= t->size)
        return;
    struct part other = {.begin = (size_t)(found - t->data) + n + 1};
    other.end = value_end(t, other.begin);
    n = other.end - other.begin;
    if (n > sizeof(copy))
        return;
    memcpy(copy, t->data + other.begin, n);
    replace(t, value, copy, n);
}

static void put_word(struct text *t, struct part value)
{
    char number[24];
    const size_t n = N_WORDS;
    size_t i = below(t, n + n / 2);
    snprintf(number, sizeof(number), "%d", (int)below(t, 200) - 20);
    const char *word = i < n ? known_words[i] : number;
    replace(t, value, word, strlen(word));
}

/* A field that the schema knows for some type of record. */
static void add_field(struct text *t, struct part line)
{
    char text[96];
    size_t n;
    const struct tc_field *fields =
        tc_schema_fields((enum tc_record_type)below(t, TC_RECORD_UNKNOWN), &n);
    const struct part end = {value_end(t, line.begin), value_end(t, line.begin)};
    if (!n || end.begin < line.begin + 2 || t->data[end.begin - 1] != '}')
        return;
    int size = snprintf(text, sizeof(text), ",\"%s\":%s", fields[below(t, n)].key,
                        known_words[below(t, N_WORDS)]);
    if (size > 0 && (size_t)size < sizeof(text))
        replace(t, (struct part){end.begin - 1, end.begin - 1}, text, (size_t)size);
}

static void change_bytes(struct text *t, struct part line)
{
    uint8_t copy[2 * MAX_LINE];
    size_t n = line.end - line.begin;

    if (n > MAX_LINE)
        return;
    memcpy(copy, t->data + line.begin, n);
    replace(t, line, copy, LLVMFuzzerMutate(copy, n, n + 64));
}

static void change_field(struct text *t, struct part line, size_t how)
{
    struct part key, value;

    if (!field_in(t, line, &key, &value))
        return;
    if (how == 0)
        take_other(t, key, value);
    else if (how == 1 && key.begin > line.begin && t->data[key.begin - 1] == ',')
        replace(t, (struct part){key.begin - 1, value.end}, NULL, 0);
    else
        put_word(t, value);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct text t = {data, size, max, seed * 2654435761u + 1};
    size_t rounds = 1 + below(&t, MAX_ROUNDS);

    if (size < 2 || !below(&t, 16))
        return LLVMFuzzerMutate(data, size, max);
    for (size_t i = 0; i < rounds && t.size > 2; i++) {
        struct part line = line_at(&t, below(&t, t.size));
        size_t how = below(&t, 12);
        if (how == 0)
            replace(&t, line, NULL, 0);
        else if (how < 3)
            copy_line(&t, line, how == 1);
        else if (how == 3)
            change_bytes(&t, line);
        else if (how == 4)
            add_field(&t, line);
        else
            change_field(&t, line, how % 4);
    }
    return t.size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t n_a, const uint8_t *b, size_t n_b,
                                 uint8_t *out, size_t max, unsigned seed)
{
    struct text from[2] = {
        {(uint8_t *)(uintptr_t)a, n_a, n_a, seed + 1},
        {(uint8_t *)(uintptr_t)b, n_b, n_b, 0       }
    };
    size_t at[2] = {0, 0}, size = 0;

    for (unsigned who = 0; at[who] < from[who].size; who ^= below(&from[0], 4) == 0) {
        struct part line = line_at(&from[who], at[who]);
        size_t n = line.end - line.begin;
        if (size + n > max)
            break;
        memcpy(out + size, from[who].data + line.begin, n);
        size += n;
        at[who] = line.end;
        if (at[who] >= from[who].size && at[who ^ 1] >= from[who ^ 1].size)
            break;
    }
    return size;
}
