/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - reads numpy by the buffer protocol and by names of types
 *
 * The agent does not link to numpy, so a format letter stands for a dtype; what has none of the
 * table, or does not lie in one piece, is not encoded here (false). Arrays up to 1 MiB get a
 * digest, of their bytes and their type.
 */
#include "collect/agent/say/array.h"

#include <string.h>

#include "collect/agent/look/digest.h"
#include "collect/agent/say/names.h"
#include "collect/agent/say/scalar.h"
#include "collect/agent/torch/identity.h"

/* Of larger ones no digest is taken. As values.py. */
#define MAX_CONTENT ((Py_ssize_t)1 << 20)

static const struct {
    const char *format, *name;
} formats[] = {
    {"?", "bool"   },
    {"b", "int8"   },
    {"h", "int16"  },
    {"i", "int32"  },
    {"l", "int64"  },
    {"B", "uint8"  },
    {"H", "uint16" },
    {"I", "uint32" },
    {"L", "uint64" },
    {"e", "float16"},
    {"f", "float32"},
    {"d", "float64"},
};

static const char *dtype_of(const char *format)
{
    for (size_t i = 0; format && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(format, formats[i].format) == 0)
            return formats[i].name;
    return NULL;
}

bool tc_is_numpy(PyObject *value)
{
    const char *name = Py_TYPE(value)->tp_name;

    return strncmp(name, "numpy.", 6) == 0 && strncmp(name, "numpy.random.", 13) != 0;
}

static void add_array(struct tc_strbuf *out, PyObject *value, const Py_buffer *view,
                      const char *dtype, bool has_digest, bool is_named)
{
    const int64_t serial = tc_identity(value);

    tc_strbuf_adds(out, "{\"array\":\"ndarray\"");
    if (serial) {
        tc_strbuf_adds(out, ",\"id\":");
        tc_strbuf_add_int(out, serial);
    }
    if (is_named)
        tc_names_add(out, value, serial, true);
    tc_strbuf_adds(out, ",\"shape\":[");
    for (int i = 0; i < view->ndim; i++) {
        if (i)
            tc_strbuf_addc(out, ',');
        tc_strbuf_add_int(out, view->shape[i]);
    }
    tc_strbuf_adds(out, "],\"dtype\":\"");
    tc_strbuf_adds(out, dtype);
    tc_strbuf_adds(out, "\",\"device\":\"cpu\",\"requires_grad\":false");
    if (has_digest && view->len <= MAX_CONTENT) {
        tc_strbuf_adds(out, ",\"digest\":");
        tc_encode_digest(
            out, tc_digest(view->buf, (size_t)view->len, tc_digest_seed(dtype, NULL, 0)), false);
    }
    tc_strbuf_addc(out, '}');
}

/* An integer, or a truth value that Python does not count among its own. */
static bool encode_number(struct tc_strbuf *out, PyObject *value)
{
    const char *name = Py_TYPE(value)->tp_name + strlen("numpy.");
    PyObject *number;

    if (strncmp(name, "bool", 4) == 0) {
        tc_strbuf_adds(out, PyObject_IsTrue(value) > 0 ? "true" : "false");
        return true;
    }
    if (strncmp(name, "int", 3) != 0 && strncmp(name, "uint", 4) != 0)
        return false;
    number = PyNumber_Index(value);
    if (number)
        tc_encode_scalar(out, number);
    else
        PyErr_Clear();
    Py_XDECREF(number);
    return number != NULL;
}

bool tc_encode_array(struct tc_strbuf *out, PyObject *value, bool has_digest, bool is_named)
{
    const char *dtype;
    Py_buffer view;

    if (strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") != 0)
        return encode_number(out, value);
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return false;
    }
    dtype = dtype_of(view.format);
    if (dtype)
        add_array(out, value, &view, dtype, has_digest, is_named);
    PyBuffer_Release(&view);
    return dtype != NULL;
}
