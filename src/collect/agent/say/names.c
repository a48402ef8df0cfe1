/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - asks the policy for a name and remembers it by the serial of the object
 *
 * What the policy cannot say yet (False) is asked again the next time; a name, or that there is
 * none, is kept for ever.
 */
#include "collect/agent/say/names.h"

#include "base/map.h"
#include "collect/agent/say/scalar.h"

static struct tc_map known; /* serial → a name or None, kept for ever: a script has few */

static PyObject *ask_name(PyObject *object, int64_t serial, bool is_tensor)
{
    PyObject *name = tc_policy_call("name_of_operand", "(Oi)", object, is_tensor);

    if (name && name != Py_False)
        tc_map_put(&known, (uint64_t)serial, (uint64_t)(uintptr_t)Py_NewRef(name));
    if (!name)
        PyErr_Clear();
    return name;
}

void tc_names_add(struct tc_strbuf *out, PyObject *object, int64_t serial, bool is_tensor)
{
    PyObject *name;

    if (!serial)
        return;
    name = tc_map_find(&known, (uint64_t)serial);
    name = name ? Py_NewRef(name) : ask_name(object, serial, is_tensor);
    if (name && name != Py_False) {
        tc_strbuf_adds(out, ",\"name\":");
        tc_encode_scalar(out, name);
    }
    Py_XDECREF(name);
}
