/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - walks up the stack of Python to the nearest line of the user's
 *
 * Whose a file is the policy says once for each file name object, which is kept so that its
 * address stays its own. The same is kept for a place in code, so that a call from a known line
 * costs two look-ups. Frames of torch and of decorators that pass a call on are looked through. At
 * most MAX_FRAMES are walked: a deep recursion has no line rather than a slow one.
 */
#include "collect/agent/say/frames.h"

#include <frameobject.h> /* PyFrame_GetBack, before Python 3.11 */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

#define MAX_FRAMES 200

/* What the policy says of one file. */
struct file {
    char *owner; /* a package's name, "user", or NULL for a file that is looked through */
    char *path;  /* as a person at the job's terminal would type it; NULL unless it is the user's */
    bool is_told; /* its source has a record, or is to have none */
};

static TC_VEC(struct file) files;
static struct tc_map by_name; /* address of the file name object to the index into files */

static char *copy_text(PyObject *text)
{
    const char *utf8 = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;

    return utf8 ? tc_strdup(utf8) : NULL;
}

static PyObject *globals_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetGlobals(frame);
#else
    return Py_NewRef(frame->f_globals);
#endif
}

/* Ask the policy once for each file name object; it is kept, so that its address stays its own. */
static uint64_t ask_whose_file(PyObject *name, PyFrameObject *frame)
{
    PyObject *scope = globals_of(frame);
    PyObject *place = tc_policy_call("place_of_file", "(OO)", name, scope);
    struct file file = {0};

    if (place && PyTuple_Check(place) && PyTuple_GET_SIZE(place) == 2) {
        file.owner = copy_text(PyTuple_GET_ITEM(place, 0));
        file.path = copy_text(PyTuple_GET_ITEM(place, 1));
    }
    Py_XDECREF(place);
    Py_DECREF(scope);
    PyErr_Clear();
    Py_INCREF(name);
    tc_vec_push(&files, file);
    tc_map_put(&by_name, (uint64_t)(uintptr_t)name, files.n - 1);
    return files.n - 1;
}

static const struct file *file_of(const PyCodeObject *code, PyFrameObject *frame)
{
    uint64_t index;

    if (!tc_map_get(&by_name, (uint64_t)(uintptr_t)code->co_filename, &index))
        index = ask_whose_file(code->co_filename, frame);
    return &files.items[index];
}

/* The record of its source stands before the first that names the file. */
static void tell_source(const struct file *file, const PyCodeObject *code, PyFrameObject *frame)
{
    const size_t index = (size_t)(file - files.items); /* the policy may lead here again */
    PyObject *scope = globals_of(frame);
    PyObject *told = tc_policy_call("tell_source", "(OsO)", code->co_filename, file->path, scope);

    Py_DECREF(scope);
    if (!told)
        tc_agent_failed(NULL, "source");
    Py_XDECREF(told);
    files.items[index].is_told = true;
}

/* From torch 2.15 on what it puts around a function of the user's is called as the decorator:
 * "no_grad". */
static bool is_of_decorators(const PyCodeObject *code)
{
    static const char file[] = "/torch/utils/_contextlib.py";
    Py_ssize_t size;
    const char *path = PyUnicode_AsUTF8AndSize(code->co_filename, &size);

    if (!path)
        PyErr_Clear();
    return path && (size_t)size >= sizeof(file) - 1 &&
           strcmp(path + size - (sizeof(file) - 1), file) == 0;
}

/* Functions of torch and of decorators that only pass a call on. */
static bool passes_on(const PyCodeObject *code)
{
    static const char *const names[] = {
        "wrapper",  "decorate_context",   "_use_grad",       "_fn",
        "inner",    "_wrapped_call_impl", "_call_impl",      "wrapped",
        "__call__", "call_wrapped",       "functional_call", "_functional_call"};
    const char *name = PyUnicode_AsUTF8(code->co_name);

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return is_of_decorators(code);
}

/* "train.py:57" */
static void add_line(struct tc_strbuf *out, const char *path, int line)
{
    tc_strbuf_add_json(out, path, strlen(path));
    out->size--; /* the closing quote moves behind the line */
    tc_strbuf_addc(out, ':');
    tc_strbuf_add_int(out, line);
    tc_strbuf_addc(out, '"');
}

static void add_by(struct tc_strbuf *out, const char *owner)
{
    tc_strbuf_adds(out, ",\"by\":");
    tc_strbuf_add_json(out, owner, strlen(owner));
}

struct walk {
    struct tc_strbuf *out;
    bool is_outside; /* no traced call is around: told are the first owner, and the nearest line */
    bool has_by;
    int n_lines; /* frames of the user's so far */
};

/* Look at one frame; true if the walk is over. */
typedef bool visit_fn(struct walk *walk, PyFrameObject *frame);

static void go_up(struct walk *walk, visit_fn *visit)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());

    for (int i = 0; frame && i < MAX_FRAMES; i++) {
        PyFrameObject *back = visit(walk, frame) ? NULL : PyFrame_GetBack(frame);

        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
}

/* A frame of the user's: the nearest is `at`, and the first of `stack`, too. */
static void add_user(struct walk *walk, const char *path, int line)
{
    if (walk->n_lines == 0) {
        tc_strbuf_adds(walk->out, ",\"at\":");
        add_line(walk->out, path, line);
        tc_strbuf_adds(walk->out, ",\"stack\":[");
    } else {
        tc_strbuf_addc(walk->out, ',');
    }
    add_line(walk->out, path, line);
    walk->n_lines++;
}

static bool visit_for_stack(struct walk *walk, PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const struct file *file = file_of(code, frame);
    const char *path = file->path; /* stays, wherever the file moves to */

    if (file->owner && !walk->has_by && (file->path || !passes_on(code))) {
        add_by(walk->out, file->owner);
        walk->has_by = true;
    }
    if (path && !file->is_told)
        tell_source(file, code, frame);
    if (path)
        add_user(walk, path, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return walk->n_lines >= tc_agent.stack_depth;
}

static int instruction_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti;
#endif
}

/* A place in code from which calls were made: what is to be written of it. */
struct caller {
    PyCodeObject *code; /* kept, so that its address stays its own */
    int instruction;
    bool is_over; /* the walk ends here, where a traced call is around */
    char *by;     /* `,"by":...`, or NULL where it is looked through */
    char *at;     /* `,"at":...`, or NULL where it is not the user's */
    size_t n_at;  /* bytes of it */
    int64_t step; /* in which n_calls were made from there */
    unsigned n_calls;
};

/* More are asked anew each time. */
#define MAX_CALLERS 65536

static TC_VEC(struct caller) callers;
static struct tc_map by_place; /* code and instruction to the index into callers, plus one */

/* Those that called last are found without the map. */
#define N_LAST 64

static uint64_t key_of(const PyCodeObject *code, int instruction)
{
    return tc_hash_mix((uintptr_t)code, (uint64_t)instruction, 0);
}

static bool is_of(const struct caller *caller, const PyCodeObject *code, int instruction)
{
    return caller->code == code && caller->instruction == instruction;
}

static void release_caller(struct caller *caller)
{
    Py_XDECREF(caller->code);
    tc_free(caller->by);
    tc_free(caller->at);
}

static struct caller ask_caller(PyCodeObject *code, PyFrameObject *frame, int instruction)
{
    const struct file *file = file_of(code, frame);
    const char *path = file->path;
    const bool has_by = file->owner && (path || !passes_on(code));
    struct caller caller = {.code = code,
                            .instruction = instruction,
                            .is_over = path || has_by,
                            .step = tc_agent.step,
                            .n_calls = 1};
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (has_by) {
        add_by(&text, file->owner);
        caller.by = tc_strbuf_take(&text);
    }
    if (path && !file->is_told)
        tell_source(file, code, frame);
    if (path) {
        tc_strbuf_adds(&text, ",\"at\":");
        add_line(&text, path, PyFrame_GetLineNumber(frame));
        caller.n_at = text.size;
        caller.at = tc_strbuf_take(&text);
    }
    return caller;
}

/* What was kept of the place, or NULL; *is_taken: another's has its key. */
static const struct caller *known_caller(const PyCodeObject *code, int instruction, bool *is_taken)
{
    static size_t last[N_LAST]; /* as in by_place */
    const uint64_t place = key_of(code, instruction);
    size_t *near = &last[place % N_LAST];
    uint64_t known = 0;

    *is_taken = false;
    if (*near && is_of(&callers.items[*near - 1], code, instruction))
        return &callers.items[*near - 1];
    if (!tc_map_get(&by_place, place, &known))
        return NULL;
    *is_taken = !is_of(&callers.items[known - 1], code, instruction);
    if (*is_taken)
        return NULL;
    *near = (size_t)known;
    return &callers.items[known - 1];
}

/* The caller of the call that is about to begin, if it was asked for already. */
static struct {
    const PyThreadState *thread;
    uint64_t moment;
    size_t i; /* in callers */
} met;

static size_t index_of(const struct caller *known)
{
    return (size_t)(known - callers.items);
}

static void note_met(const struct caller *known)
{
    met.thread = PyThreadState_Get();
    met.moment = tc_agent.moment + 1;
    met.i = index_of(known);
}

void tc_frames_forget_place(void)
{
    met.thread = NULL;
}

static bool add_met(struct tc_strbuf *out, bool is_outside)
{
    const struct caller *caller = &callers.items[met.i];

    if (met.moment != tc_agent.moment || met.thread != PyThreadState_Get() || !caller->at)
        return false;
    if (is_outside && caller->by)
        tc_strbuf_adds(out, caller->by);
    tc_strbuf_add(out, caller->at, caller->n_at);
    return true;
}

bool tc_frames_user_place(struct tc_place_in_code *place)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    const int instruction = frame ? instruction_of(frame) : -1;
    const struct caller *known = NULL;
    bool is_user = false, is_taken;

    if (code) {
        known = known_caller(code, instruction, &is_taken);
        is_user = known ? known->at != NULL : file_of(code, frame)->path != NULL;
        if (known)
            note_met(known);
    }
    if (is_user)
        *place = (struct tc_place_in_code){code, instruction, known ? index_of(known) : SIZE_MAX};
    Py_XDECREF(code);
    Py_XDECREF(frame);
    return is_user;
}

/* The first call from a place is counted when what is kept of it is made. */
unsigned tc_frames_count_at(const struct tc_place_in_code *place)
{
    struct caller *caller = place->caller != SIZE_MAX ? &callers.items[place->caller] : NULL;

    if (!caller)
        return 1;
    caller->n_calls = caller->step == tc_agent.step ? caller->n_calls + 1 : 1;
    caller->step = tc_agent.step;
    return caller->n_calls;
}

/* What is known of the frame's place; in *once, to be released, where it cannot be kept. */
static const struct caller *caller_of(PyFrameObject *frame, struct caller *once)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    const int instruction = instruction_of(frame);
    bool is_taken;
    const struct caller *known = known_caller(code, instruction, &is_taken);

    if (known) {
        Py_DECREF(code);
        return known;
    }
    *once = ask_caller(code, frame, instruction);
    if (is_taken || instruction < 0 || callers.n >= MAX_CALLERS)
        return once;
    tc_vec_push(&callers, *once);
    tc_map_put(&by_place, key_of(code, instruction), callers.n);
    *once = (struct caller){0};
    return &callers.items[callers.n - 1];
}

static bool visit_place(struct walk *walk, PyFrameObject *frame)
{
    struct caller once = {0};
    const struct caller *caller = caller_of(frame, &once);
    const bool is_over = walk->is_outside ? caller->at != NULL : caller->is_over;

    if (walk->is_outside && caller->by && !walk->has_by) {
        tc_strbuf_adds(walk->out, caller->by);
        walk->has_by = true;
    }
    if (caller->at)
        tc_strbuf_add(walk->out, caller->at, caller->n_at);
    release_caller(&once);
    return is_over;
}

void tc_frames_add(struct tc_strbuf *out)
{
    struct walk walk = {.out = out, .is_outside = true};

    if (!tc_agent.stack_depth && add_met(out, true))
        return;
    go_up(&walk, tc_agent.stack_depth ? visit_for_stack : visit_place);
    if (tc_agent.stack_depth && walk.n_lines)
        tc_strbuf_addc(out, ']');
}

void tc_frames_add_caller(struct tc_strbuf *out)
{
    struct walk walk = {.out = out};

    if (add_met(out, false))
        return;
    go_up(&walk, visit_place);
}
