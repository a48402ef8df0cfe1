/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thunks.c - one C function each for hundreds of methods, made by macros
 *
 * A thunk is a function with its number compiled in. Four supplies, by calling convention; when
 * one is used up tc_thunk_install() says no and that way of calling is not traced. Arguments
 * become a vector on the stack, of which each convention fills its part. tc_thunk_pass() lets the
 * very next call through: it is how the original is called.
 */
#include "collect/agent/hook/thunks.h"

#include <string.h>

struct thunk {
    PyCFunction function; /* that it stands in for */
    int flags;
    tc_thunk_fn *enter;
    void *context;
};

static __thread const void *passing;

const void *tc_thunk_pass(const void *context)
{
    const void *before = passing;

    passing = context;
    return before;
}

static bool is_passing(const struct thunk *thunk)
{
    if (passing != thunk->context)
        return false;
    passing = NULL;
    return true;
}

/* ---- arguments of each calling convention as a vector ---- */

#define N_ON_STACK 16

struct vector {
    PyObject *few[N_ON_STACK], **items;
    size_t n;        /* by position */
    PyObject *names; /* NULL, or a tuple that is owned if is_owner */
    bool is_owner;
};

static bool begin(struct vector *v, PyObject *self, size_t n_others)
{
    v->items = n_others < N_ON_STACK ? v->few : PyMem_New(PyObject *, n_others + 1);
    v->n = 0;
    v->names = NULL;
    v->is_owner = false;
    if (!v->items) {
        PyErr_NoMemory();
        return false;
    }
    v->items[v->n++] = self;
    return true;
}

static PyObject *enter_by(struct vector *v, const struct thunk *thunk)
{
    PyObject *result = thunk->enter(thunk->context, v->items, v->n, v->names);

    if (v->is_owner)
        Py_XDECREF(v->names);
    if (v->items != v->few)
        PyMem_Free(v->items);
    return result;
}

static void add_keywords(struct vector *v, PyObject *keywords)
{
    PyObject *key, *value;
    Py_ssize_t pos = 0, i = 0;

    if (!keywords || !PyDict_GET_SIZE(keywords))
        return;
    v->names = PyTuple_New(PyDict_GET_SIZE(keywords));
    v->is_owner = true;
    while (v->names && PyDict_Next(keywords, &pos, &key, &value)) {
        PyTuple_SET_ITEM(v->names, i, Py_NewRef(key));
        v->items[v->n + (size_t)i++] = value;
    }
}

/* METH_VARARGS | METH_KEYWORDS */
static PyObject *with_keywords(const struct thunk *thunk, PyObject *self, PyObject *args,
                               PyObject *keywords)
{
    struct vector v;
    size_t n = (size_t)PyTuple_GET_SIZE(args);

    if (is_passing(thunk))
        return ((PyCFunctionWithKeywords)(void (*)(void))thunk->function)(self, args, keywords);
    if (!begin(&v, self, n + (keywords ? (size_t)PyDict_GET_SIZE(keywords) : 0)))
        return NULL;
    memcpy(v.items + 1, &PyTuple_GET_ITEM(args, 0), n * sizeof(PyObject *));
    v.n += n;
    add_keywords(&v, keywords);
    return enter_by(&v, thunk);
}

/* METH_VARARGS, METH_O, METH_NOARGS */
static PyObject *with_one(const struct thunk *thunk, PyObject *self, PyObject *arg)
{
    struct vector v;
    size_t n = 0;

    if (is_passing(thunk))
        return thunk->function(self, arg);
    if (thunk->flags & METH_VARARGS)
        return with_keywords(thunk, self, arg, NULL);
    if (thunk->flags & METH_O)
        n = 1;
    if (!begin(&v, self, n))
        return NULL;
    if (n)
        v.items[v.n++] = arg;
    return enter_by(&v, thunk);
}

/* METH_FASTCALL, and with METH_KEYWORDS the names */
typedef PyObject *array_fn(PyObject *self, PyObject *const *args, Py_ssize_t n);
typedef PyObject *named_fn(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);

static PyObject *with_array(const struct thunk *thunk, PyObject *self, PyObject *const *args,
                            Py_ssize_t n, PyObject *names)
{
    struct vector v;
    size_t n_all = (size_t)n + (names ? (size_t)PyTuple_GET_SIZE(names) : 0);

    if (is_passing(thunk)) {
        if (thunk->flags & METH_KEYWORDS)
            return ((named_fn *)(void (*)(void))thunk->function)(self, args, n, names);
        return ((array_fn *)(void (*)(void))thunk->function)(self, args, n);
    }
    if (!begin(&v, self, n_all))
        return NULL;
    if (n_all)
        memcpy(v.items + 1, args, n_all * sizeof(PyObject *));
    v.n += (size_t)n;
    v.names = names;
    return enter_by(&v, thunk);
}

/* ---- the supply: enough for all methods of torch.Tensor ---- */

#define HEX(X, h) \
    X(h##0)       \
    X(h##1)       \
    X(h##2)       \
    X(h##3)       \
    X(h##4)       \
    X(h##5) X(h##6) X(h##7) X(h##8) X(h##9) X(h##a) X(h##b) X(h##c) X(h##d) X(h##e) X(h##f)
#define HEX_256(X, h) \
    HEX(X, h##0)      \
    HEX(X, h##1)      \
    HEX(X, h##2)      \
    HEX(X, h##3)      \
    HEX(X, h##4)      \
    HEX(X, h##5)      \
    HEX(X, h##6)      \
    HEX(X, h##7)      \
    HEX(X, h##8)      \
    HEX(X, h##9) HEX(X, h##a) HEX(X, h##b) HEX(X, h##c) HEX(X, h##d) HEX(X, h##e) HEX(X, h##f)

static struct thunk keyword_thunks[512], one_thunks[256], array_thunks[256], named_thunks[256];

#define KEYWORD(i)                                                                 \
    static PyObject *keyword_##i(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                              \
        return with_keywords(&keyword_thunks[i], self, args, kwargs);              \
    }
#define ONE(i)                                              \
    static PyObject *one_##i(PyObject *self, PyObject *arg) \
    {                                                       \
        return with_one(&one_thunks[i], self, arg);         \
    }
#define ARRAY(i)                                                                    \
    static PyObject *array_##i(PyObject *self, PyObject *const *args, Py_ssize_t n) \
    {                                                                               \
        return with_array(&array_thunks[i], self, args, n, NULL);                   \
    }
#define NAMED(i)                                                                    \
    static PyObject *named_##i(PyObject *self, PyObject *const *args, Py_ssize_t n, \
                               PyObject *names)                                     \
    {                                                                               \
        return with_array(&named_thunks[i], self, args, n, names);                  \
    }
HEX_256(KEYWORD, 0x0)
HEX_256(KEYWORD, 0x1)
HEX_256(ONE, 0x0)
HEX_256(ARRAY, 0x0)
HEX_256(NAMED, 0x0)

#define ENTRY(prefix, i) (PyCFunction)(void (*)(void)) prefix##_##i,
#define KEYWORD_ENTRY(i) ENTRY(keyword, i)
#define ONE_ENTRY(i)     ENTRY(one, i)
#define ARRAY_ENTRY(i)   ENTRY(array, i)
#define NAMED_ENTRY(i)   ENTRY(named, i)
static const PyCFunction keyword_functions[] = {HEX_256(KEYWORD_ENTRY, 0x0)
                                                    HEX_256(KEYWORD_ENTRY, 0x1)};
static const PyCFunction one_functions[] = {HEX_256(ONE_ENTRY, 0x0)};
static const PyCFunction array_functions[] = {HEX_256(ARRAY_ENTRY, 0x0)};
static const PyCFunction named_functions[] = {HEX_256(NAMED_ENTRY, 0x0)};

struct supply {
    struct thunk *thunks;
    const PyCFunction *functions;
    size_t n, used;
};

#define SUPPLY(kind)                                                                     \
    {                                                                                    \
        kind##_thunks, kind##_functions, sizeof(kind##_thunks) / sizeof(struct thunk), 0 \
    }

static struct supply keyword = SUPPLY(keyword), one = SUPPLY(one), array = SUPPLY(array),
                     named = SUPPLY(named);

#define CONVENTION \
    (METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD)

static struct supply *supply_for(int flags)
{
    switch (flags & CONVENTION) {
    case METH_VARARGS | METH_KEYWORDS:
        return &keyword;
    case METH_VARARGS:
    case METH_O:
    case METH_NOARGS:
        return &one;
    case METH_FASTCALL:
        return &array;
    case METH_FASTCALL | METH_KEYWORDS:
        return &named;
    default:
        return NULL;
    }
}

bool tc_thunk_install(PyMethodDef *def, tc_thunk_fn *enter, void *context)
{
    struct supply *supply = supply_for(def->ml_flags);

    if (!supply || supply->used == supply->n)
        return false;
    supply->thunks[supply->used] = (struct thunk){def->ml_meth, def->ml_flags, enter, context};
    def->ml_meth = supply->functions[supply->used++];
    return true;
}
