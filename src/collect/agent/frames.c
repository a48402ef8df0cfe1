#include "collect/agent/frames.h"

#include <frameobject.h> /* PyFrame_GetBack, before Python 3.11 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/map.h"

#define MAX_FRAMES 200

/* Owners of files: a package's name, "user", or NULL for files that are looked through. */
static TC_VEC(char *) owners;
static struct tc_map by_file; /* address of the file name object to 1 + index into owners */

enum {
    THROUGH,
    USER
}; /* the first two owners */

static uint64_t add_owner(const char *name)
{
    for (size_t i = 0; i < owners.n; i++)
        if (owners.items[i] && strcmp(owners.items[i], name) == 0)
            return i;
    tc_vec_push(&owners, tc_strdup(name));
    return owners.n - 1;
}

/* Ask the policy once for each file name object; it is kept, so that its address stays its own. */
static uint64_t classify(PyObject *file)
{
    PyObject *owner;
    uint64_t index = THROUGH;

    if (!owners.n) {
        tc_vec_push(&owners, NULL);
        tc_vec_push(&owners, tc_strdup("user"));
    }
    owner = tc_policy_call("owner_of_file", "(O)", file);
    if (owner && owner != Py_None && PyUnicode_AsUTF8(owner))
        index = add_owner(PyUnicode_AsUTF8(owner));
    Py_XDECREF(owner);
    PyErr_Clear();
    Py_INCREF(file);
    tc_map_put(&by_file, (uint64_t)(uintptr_t)file, index);
    return index;
}

static uint64_t owner_of(const PyCodeObject *code)
{
    uint64_t index;

    if (!tc_map_get(&by_file, (uint64_t)(uintptr_t)code->co_filename, &index))
        index = classify(code->co_filename);
    return index;
}

/* Functions of torch and of decorators that only pass a call on. */
static bool passes_on(const PyCodeObject *code)
{
    static const char *const names[] = {"wrapper", "decorate_context",   "_use_grad",  "_fn",
                                        "inner",   "_wrapped_call_impl", "_call_impl", "wrapped",
                                        "__call__"};
    const char *name = PyUnicode_AsUTF8(code->co_name);

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* As a person at the terminal of the job would type it: from the folder in which the process began.
 */
static const char *shorten(const char *file)
{
    static char folder[PATH_MAX];
    size_t n;

    if (!folder[0] && !getcwd(folder, sizeof(folder)))
        folder[0] = '?';
    n = strlen(folder);
    return strncmp(file, folder, n) == 0 && file[n] == '/' ? file + n + 1 : file;
}

static void add_at(struct tc_strbuf *out, const PyCodeObject *code, int line)
{
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    const char *path = file ? shorten(file) : "?";

    tc_strbuf_adds(out, ",\"at\":");
    tc_strbuf_add_json(out, path, strlen(path));
    out->size--; /* the closing quote moves behind the line */
    tc_strbuf_addc(out, ':');
    tc_strbuf_add_int(out, line);
    tc_strbuf_addc(out, '"');
}

static void add_by(struct tc_strbuf *out, uint64_t owner)
{
    tc_strbuf_adds(out, ",\"by\":");
    tc_strbuf_add_json(out, owners.items[owner], strlen(owners.items[owner]));
}

/* Look at one frame; true if the walk is over. */
static bool visit(struct tc_strbuf *out, PyFrameObject *frame, bool *has_by)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    uint64_t owner = owner_of(code);
    bool over = owner == USER;

    if (owner != THROUGH && !*has_by && (over || !passes_on(code))) {
        add_by(out, owner);
        *has_by = true;
    }
    if (over)
        add_at(out, code, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return over;
}

void tc_frames_add(struct tc_strbuf *out)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool has_by = false, over = false;

    for (int i = 0; frame && !over && i < MAX_FRAMES; i++) {
        PyFrameObject *back;

        over = visit(out, frame, &has_by);
        back = over ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
}
