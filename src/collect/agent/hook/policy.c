/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - the embedded Python files run as modules of the agent's package
 *
 * They run from memory, in the order of tc_embedded: the package itself first, each one in
 * sys.modules before its text runs. The build has compiled them, which takes half of the time that
 * a process takes to start; a Python with another magic number compiles their text. Roles and flags
 * are put into the C module before, so that the two sides have the same numbers. What only
 * collect --plan needs stands behind policy.py and waits for tc_policy_load_plans(). False leaves a
 * Python error set.
 */
#include "collect/agent/hook/policy.h"

#include <marshal.h>
#include <string.h>

#include "collect/agent/embedded.h"
#include "collect/agent/look/digest.h"
#include "collect/agent/torch/signature.h"
#include <traincheck/version.h>

static bool add_roles(PyObject *module)
{
    for (int i = 0; i < TC_N_ROLES; i++) {
        char name[32] = "ROLE_";
        size_t n = 5;

        for (const char *p = tc_role_text((enum tc_role)i); *p && n < sizeof(name) - 1; p++)
            name[n++] = (char)Py_TOUPPER(*p);
        name[n] = '\0';
        if (PyModule_AddIntConstant(module, name, i) < 0)
            return false;
    }
    return true;
}

static bool add_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } constants[] = {
        {"SCHEMA",         TC_TRACE_SCHEMA  },
        {"METHOD",         TC_API_METHOD    },
        {"OUTERMOST",      TC_API_OUTERMOST },
        {"RECEIVER",       TC_API_RECEIVER  },
        {"TOP",            TC_API_TOP       },
        {"LOOK",           TC_API_LOOK      },
        {"CHECKPOINT",     TC_API_CHECKPOINT},
        {"MODULE",         TC_API_MODULE    },
        {"CONTENT",        TC_API_CONTENT   },
        {"ASK",            TC_API_ASK       },
        {"UNWRITTEN",      TC_API_UNWRITTEN },
        {"OWN",            TC_API_OWN       },
        {"PARTIAL",        TC_API_PARTIAL   },
        {"SECRET",         TC_API_SECRET    },
        {"NOISE",          TC_API_NOISE     },
        {"ACCEPTS_ANY",    TC_ACCEPTS_ANY   },
        {"ACCEPTS_TENSOR", TC_ACCEPTS_TENSOR},
        {"ACCEPTS_INDEX",  TC_ACCEPTS_INDEX },
        {"ACCEPTS_SIZES",  TC_ACCEPTS_SIZES },
    };

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
            return false;
    return PyModule_AddStringConstant(module, "DIGEST", TC_DIGEST_NAME) == 0;
}

static PyObject *code_of(const struct tc_embedded *file)
{
    const struct tc_compiled *compiled = &tc_compiled[file - tc_embedded];

    if (PyImport_GetMagicNumber() == tc_compiled_magic)
        return PyMarshal_ReadObjectFromString(compiled->code, (Py_ssize_t)compiled->n);
    return Py_CompileString(file->text, file->file, Py_file_input);
}

/* The module object must stand in sys.modules before its text runs: the files import each other. */
static PyObject *load_module(const struct tc_embedded *file)
{
    PyObject *module = PyImport_AddModule(file->name); /* borrowed */
    PyObject *dict = module ? PyModule_GetDict(module) : NULL;
    PyObject *code, *done = NULL, *path;

    if (!dict)
        return NULL;
    if (!strchr(file->name, '.')) { /* the package itself */
        path = PyList_New(0);
        PyDict_SetItemString(dict, "__path__", path);
        Py_XDECREF(path);
    }
    PyDict_SetItemString(dict, "__package__", tc_agent.package);
    code = code_of(file);
    if (code && PyDict_SetItemString(dict, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, dict, dict);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return done ? module : NULL;
}

/* The files that come next, up to this module: the module, borrowed. */
static PyObject *load_up_to(const char *name)
{
    static const struct tc_embedded *next = tc_embedded;
    const struct tc_embedded *file;
    PyObject *module;

    do {
        file = next++;
        module = load_module(file);
    } while (module && strcmp(file->name, name) != 0);
    return module;
}

bool tc_policy_load(PyObject *module)
{
    PyObject *policy;

    tc_agent.package = PyUnicode_InternFromString(tc_embedded[0].name);
    if (!tc_agent.package || !add_roles(module) || !add_constants(module))
        return false;
    policy = load_up_to("traincheck_agent.policy");
    tc_agent.policy = policy ? Py_NewRef(policy) : NULL;
    return policy != NULL;
}

bool tc_policy_load_plans(void)
{
    return load_up_to("traincheck_agent.plan") != NULL;
}
