/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - binds what was given to the names of the signature and writes it
 *
 * In the order of the signature: by position, by name, then what is left. Sizes that a function
 * gathers (view(2, 3)) are one argument. Values of parameters whose names say that they are secret
 * are withheld; so are the rest's where hides_rest is set. What holds nothing but objects of this
 * tool's is told as if it had not been given.
 */
#include "collect/agent/say/arguments.h"

#include <stdio.h>

#include "collect/agent/torch/ours.h"

struct writer {
    struct tc_strbuf *out;
    const struct tc_sig *sig;
    const struct tc_arguments *args;
    const struct tc_asked *asked;
    size_t n, position; /* written; taken by position */
    bool hides_rest;
};

static void comma(struct writer *w)
{
    if (w->n++)
        tc_strbuf_addc(w->out, ',');
}

/* Of what the signature does not name. */
static void add_other(const struct writer *w, const char *name, PyObject *value,
                      const struct tc_asked *asked)
{
    char operand[TC_MAX_OPERAND_NAME];

    if (asked->operands)
        snprintf(operand, sizeof(operand), "args.%s", name);
    tc_encode_asked(w->out, value, operand, asked);
}

/* As the value of a parameter whose name says that it is a secret. */
static void add_secret(const struct writer *w, const char *operand, PyObject *value)
{
    struct tc_asked asked = *w->asked;

    asked.is_secret = true;
    if ((PyLong_Check(value) && !PyBool_Check(value)) || PyFloat_Check(value))
        tc_strbuf_addf(w->out, "{\"object\":\"%s\",\"attrs\":{}}",
                       PyLong_Check(value) ? "int" : "float");
    else
        tc_encode_asked(w->out, value, operand, &asked);
}

static void add_gathered(struct writer *w)
{
    tc_strbuf_addc(w->out, '[');
    for (; w->position < w->args->n; w->position++) {
        if (w->position)
            tc_strbuf_addc(w->out, ',');
        tc_encode(w->out, w->args->items[w->position]); /* sizes */
    }
    tc_strbuf_addc(w->out, ']');
}

static void add_param(struct writer *w, const struct tc_sig_param *param)
{
    bool is_next = param->positional && w->position < w->args->n;
    bool is_gathered = is_next && tc_sig_is_gathered(w->sig, w->args);
    PyObject *value = is_next ? w->args->items[w->position] : tc_sig_value_named(w->args, param);

    w->position += is_next && !is_gathered;
    if (value && tc_ours_is_all(value))
        value = NULL;
    if (!value && !param->fallback)
        return;
    comma(w);
    tc_strbuf_adds(w->out, param->key);
    if (is_gathered) {
        add_gathered(w);
        return;
    }
    if (!value)
        tc_strbuf_adds(w->out, param->fallback);
    else if (param->is_secret)
        add_secret(w, param->operand, value);
    else
        tc_encode_asked(w->out, value, param->operand, w->asked);
}

/* What the signature does not name: of what *tokens gathers the length, as of a token. */
static void add_positions(struct writer *w)
{
    char position[24];
    struct tc_asked asked = *w->asked;
    size_t n_ours = 0;

    asked.is_secret |= w->hides_rest;

    for (; w->position < w->args->n; w->position++) {
        if (tc_ours_is_all(w->args->items[w->position])) {
            n_ours++;
            continue;
        }
        comma(w);
        snprintf(position, sizeof(position), "%zu", w->position - n_ours);
        tc_strbuf_addf(w->out, "\"%s\":", position);
        add_other(w, position, w->args->items[w->position], &asked);
    }
}

/* Of a function of the script's own these are what a dict holds. */
static void add_names(struct writer *w)
{
    PyObject *names = w->args->names;
    struct tc_asked asked = *w->asked;

    asked.is_secret = true;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i),
                 *value = w->args->items[w->args->n + (size_t)i];
        const char *text;

        if (tc_sig_named(w->sig, name) || tc_ours_is_all(value))
            continue;
        comma(w);
        tc_encode_str(w->out, name);
        tc_strbuf_addc(w->out, ':');
        text = PyUnicode_AsUTF8(name);
        if (!text)
            PyErr_Clear();
        add_other(w, text ? text : "?", value, &asked);
    }
}

void tc_arguments_add(struct tc_strbuf *out, const struct tc_sig *sig,
                      const struct tc_arguments *args, const struct tc_asked *asked,
                      bool hides_rest)
{
    struct writer w = {
        .out = out, .sig = sig, .args = args, .asked = asked, .hides_rest = hides_rest};

    tc_strbuf_adds(out, ",\"args\":{");
    for (size_t i = 0; i < sig->n; i++)
        add_param(&w, &sig->params[i]);
    add_positions(&w);
    add_names(&w);
    tc_strbuf_addc(out, '}');
}
