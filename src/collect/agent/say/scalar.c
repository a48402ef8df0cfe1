/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.c - None, booleans, integers, floats and texts as JSON
 *
 * A float stays a float ("1.0"), an integer beyond 2^53 is told by its digits as text, a text is
 * cut before its limit and never inside of a character. What is long or looks like an address
 * counts as withheld where the caller asks. Runs no code of the user's: exact values by the C
 * interface alone.
 */
#include "collect/agent/say/scalar.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

#define MAX_STR  256
#define MAX_TOLD 64 /* characters of a text that is not withheld */
/* And where it is a package's: keys of services are longer than what its options are called. */
#define MAX_OPTION 24
#define MAX_EXACT  (INT64_C(1) << 53)

bool tc_is_scalar(PyObject *value)
{
    return value == Py_None || PyBool_Check(value) || PyLong_Check(value) || PyFloat_Check(value) ||
           PyUnicode_Check(value);
}

void tc_encode_str(struct tc_strbuf *out, PyObject *text)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);

    if (!utf8) { /* lone surrogates */
        PyErr_Clear();
        utf8 = "?";
        size = 1;
    }
    tc_strbuf_add_json(out, utf8, (size_t)size);
}

/* Cut before the byte limit, never inside a character. */
static size_t cut_utf8(const char *text, size_t limit)
{
    while (limit && ((unsigned char)text[limit] & 0xc0) == 0x80)
        limit--;
    return limit;
}

static void encode_str(struct tc_strbuf *out, PyObject *text)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);

    if (!utf8 || size <= MAX_STR) {
        PyErr_Clear();
        tc_encode_str(out, text);
        return;
    }
    tc_strbuf_adds(out, "{\"str\":");
    tc_strbuf_add_json(out, utf8, cut_utf8(utf8, MAX_STR));
    tc_strbuf_addf(out, ",\"len\":%lld}", (long long)size);
}

bool tc_text_is_withheld(PyObject *text, bool is_outside)
{
    const Py_ssize_t longest = is_outside ? MAX_OPTION : MAX_TOLD;
    const char *utf8 = PyUnicode_GET_LENGTH(text) > longest ? NULL : PyUnicode_AsUTF8(text);

    if (!utf8)
        PyErr_Clear();
    return !utf8 || strstr(utf8, "://");
}

void tc_encode_withheld(struct tc_strbuf *out, PyObject *text)
{
    tc_strbuf_addf(out, "{\"str\":\"\",\"len\":%lld}", (long long)PyUnicode_GET_LENGTH(text));
}

static void encode_int(struct tc_strbuf *out, PyObject *value)
{
    int overflow;
    long long n = PyLong_AsLongLongAndOverflow(value, &overflow);
    PyObject *text;

    if (!overflow && n <= MAX_EXACT && n >= -MAX_EXACT) {
        tc_strbuf_add_int(out, n);
        return;
    }
    text = PyLong_Type.tp_repr(value);
    tc_strbuf_adds(out, "{\"int\":");
    if (text)
        tc_encode_str(out, text);
    else
        tc_strbuf_adds(out, "\"?\""); /* more digits than Python prints */
    tc_strbuf_addc(out, '}');
    Py_XDECREF(text);
    PyErr_Clear();
}

static void encode_float(struct tc_strbuf *out, double x)
{
    if (isfinite(x)) {
        size_t start = out->size;

        tc_strbuf_add_number(out, x);
        if (strspn(out->text + start, "-0123456789") == out->size - start)
            tc_strbuf_adds(out, ".0"); /* a float stays a float */
    } else {
        tc_strbuf_addf(out, "{\"float\":\"%s\"}", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    }
}

/* The texts of the last ones: the same few numbers come back in each step. */
#define N_FLOATS  32
#define MAX_FLOAT 24

struct float_text {
    uint64_t bits, size; /* 0: none yet */
    char text[MAX_FLOAT];
};

void tc_encode_float(struct tc_strbuf *out, double x)
{
    static __thread struct float_text last[N_FLOATS];
    const size_t at = out->size;
    struct float_text *place;
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    place = &last[bits * UINT64_C(0x9e3779b97f4a7c15) >> 59];
    if (place->size && place->bits == bits) {
        tc_strbuf_reserve(out, MAX_FLOAT);
        memcpy(out->text + at, place->text, MAX_FLOAT); /* a constant size needs no call */
        out->size += place->size;
        out->text[out->size] = '\0';
        return;
    }
    encode_float(out, x);
    place->bits = bits;
    place->size = out->size - at > MAX_FLOAT ? 0 : out->size - at;
    memcpy(place->text, out->text + at, place->size);
}

bool tc_encode_scalar(struct tc_strbuf *out, PyObject *value)
{
    if (value == Py_None)
        tc_strbuf_adds(out, "null");
    else if (PyBool_Check(value))
        tc_strbuf_adds(out, value == Py_True ? "true" : "false");
    else if (PyLong_Check(value))
        encode_int(out, value);
    else if (PyFloat_Check(value))
        tc_encode_float(out, PyFloat_AS_DOUBLE(value));
    else if (PyUnicode_Check(value))
        encode_str(out, value);
    else
        return false;
    return true;
}

void tc_encode_digest(struct tc_strbuf *out, uint64_t digest, bool is_sampled)
{
    static const char hex[] = "0123456789abcdef";
    char text[20];
    size_t n = 0;

    text[n++] = '"';
    if (is_sampled)
        text[n++] = '~';
    for (int shift = 60; shift >= 0; shift -= 4)
        text[n++] = hex[digest >> shift & 15];
    text[n++] = '"';
    tc_strbuf_add(out, text, n);
}
