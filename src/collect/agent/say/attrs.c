/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attrs.c - the scalars in a dict, as members of a JSON object
 *
 * A layer has a dozen entries, of which few are told, and it is told at each call. Until Python
 * 3.13 a dict has a number that no other dict has, nor itself after a change: as long as it is the
 * same, so is the text. The mode of a root is that of what it computes in, and stands elsewhere.
 */
#include "collect/agent/say/attrs.h"

#include <string.h>

#include "collect/agent/say/anew.h"
#include "collect/agent/say/scalar.h"
#include "collect/agent/torch/modules.h"

static bool is_attr(PyObject *key, PyObject *value)
{
    return PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) &&
           PyUnicode_READ_CHAR(key, 0) != '_' && tc_is_scalar(value);
}

static void add_mode(struct tc_strbuf *out, bool is_training)
{
    tc_strbuf_adds(out, is_training ? "\"training\":true" : "\"training\":false");
}

static void add_scalars(struct tc_strbuf *out, PyObject *dict, bool is_module)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    size_t n = is_module;

    while (dict && PyDict_Next(dict, &pos, &key, &value)) {
        if (!is_attr(key, value) ||
            (is_module && PyUnicode_CompareWithASCIIString(key, "training") == 0))
            continue;
        if (n++)
            tc_strbuf_addc(out, ',');
        tc_encode_str(out, key);
        tc_strbuf_addc(out, ':');
        tc_encode_scalar(out, value);
    }
}

/* ---- what was told of a dict ---- */

#define N_TOLD        512
#define MAX_DICT_TEXT 384

struct told {
    const PyObject *dict; /* for comparison alone; NULL: none yet */
    uint64_t version;
    size_t size;
    char text[MAX_DICT_TEXT];
};

static struct told *told_place(const PyObject *dict)
{
    static struct told *all[N_TOLD];
    struct told **told = &all[(uintptr_t)dict / 64 % N_TOLD];

    if (!*told)
        *told = tc_calloc(1, sizeof(**told));
    return *told;
}

/* 0: not known. */
static uint64_t dict_version(PyObject *dict)
{
#if PY_VERSION_HEX < 0x030D0000
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return ((PyDictObject *)dict)->ma_version_tag;
#    pragma GCC diagnostic pop
#else
    (void)dict;
    return 0;
#endif
}

static void keep_text_of_dict(struct told *told, PyObject *dict, uint64_t version, const char *text,
                              size_t size)
{
    told->dict = NULL;
    if (!version || size > MAX_DICT_TEXT || tc_anew_always())
        return;
    told->dict = dict;
    told->version = version;
    told->size = size;
    memcpy(told->text, text, size);
}

/* All that is told stands in the dict. */
static bool is_whole(PyObject *module, bool is_root)
{
    return !module || (!is_root && tc_module_entry(module, TC_MODULE_TRAINING));
}

void tc_attrs_add(struct tc_strbuf *out, PyObject *dict, PyObject *module, bool is_root)
{
    const size_t at = out->size;
    const uint64_t version = dict ? dict_version(dict) : 0;
    struct told *told = version && !is_root ? told_place(dict) : NULL;

    if (told && told->dict == dict && told->version == version) {
        tc_strbuf_add(out, told->text, told->size);
        return;
    }
    if (module)
        add_mode(out, is_root ? tc_module_root_is_training(module) : tc_module_is_training(module));
    add_scalars(out, dict, module != NULL);
    if (told && is_whole(module, is_root))
        keep_text_of_dict(told, dict, version, out->text + at, out->size - at);
}
