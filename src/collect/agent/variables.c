#include "collect/agent/variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/map.h"
#include "collect/agent/encode.h"
#include "collect/agent/identity.h"
#include "collect/agent/modules.h"
#include "collect/agent/sink.h"
#include "collect/agent/steps.h"
#include "collect/agent/tensor.h"

#define MAX_DEPTH 200
/* Tensors up to this size are always digested in full. */
#define MIN_SAMPLED ((size_t)1 << 20)
/* Memory above this is read without the interpreter's lock. */
#define MIN_UNLOCKED ((size_t)1 << 18)

/* What a look sees; two of them are compared. */
struct seen {
    struct tc_tensor tensor;
    uint64_t address, digest;
    int64_t version;
    bool readable, sampled;
    const char *layout;
    bool is_leaf;
    int training; /* -1: no module holds it */
    enum tc_grad_class grad;
    int64_t grad_serial;
    uint64_t grad_address;
    int64_t grad_version;
};

struct variable {
    PyObject *ref;   /* weak */
    PyObject *owner; /* weak reference to the module that holds it, or NULL */
    int64_t serial, root;
    char *name;
    bool is_buffer;
    bool is_owned;  /* by an optimizer */
    bool announced; /* its first record is written */
    bool renamed;
    bool cleared;   /* the gradient was absent, zero or another tensor since the last step */
    char *extra;    /* scalar attributes hung on the tensor, as JSON members */
    double max_abs; /* of the content, -1 if not computed */
    struct seen seen;
};

static struct {
    TC_VEC(struct variable) all;
    struct tc_map by_serial; /* to index */
    TC_VEC(int64_t) roots;   /* serials */
    uint64_t budget, total;  /* bytes */
    struct tc_strbuf path;
} vars = {.budget = UINT64_C(64) << 20};

void tc_variables_set_budget(uint64_t bytes)
{
    vars.budget = bytes;
}

static struct variable *find(int64_t serial)
{
    uint64_t i;

    return tc_map_get(&vars.by_serial, (uint64_t)serial, &i) ? &vars.all.items[i] : NULL;
}

static struct variable *meet(PyObject *tensor, int64_t serial)
{
    struct variable fresh = {.serial = serial, .cleared = true, .max_abs = -1};
    struct variable *v = find(serial);

    if (v && tc_ref_get(v->ref) == tensor)
        return v;
    if (v) { /* the storage lives on under another tensor object */
        PyObject *ref = PyWeakref_NewRef(tensor, NULL);

        if (!tc_ref_get(v->ref) && ref) {
            Py_XDECREF(v->ref);
            v->ref = ref;
        } else {
            Py_XDECREF(ref);
        }
        PyErr_Clear();
        return v;
    }
    fresh.ref = PyWeakref_NewRef(tensor, NULL);
    if (!fresh.ref) {
        PyErr_Clear();
        return NULL;
    }
    tc_map_put(&vars.by_serial, (uint64_t)serial, vars.all.n);
    tc_vec_push(&vars.all, fresh);
    return &vars.all.items[vars.all.n - 1];
}

static void set_name(struct variable *v, const char *name, int64_t root)
{
    tc_free(v->name);
    v->name = tc_strdup(name);
    v->root = root;
    v->renamed = v->announced;
}

/* ---- optimizers ---- */

typedef void param_fn(PyObject *param, size_t group, size_t i, void *context);

static void each_in_group(PyObject *group, size_t g, param_fn *visit, void *context)
{
    PyObject *params = PyDict_Check(group) ? PyDict_GetItemString(group, "params") : NULL;

    if (!params || !PyList_Check(params))
        return;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(params); i++)
        if (tc_tensor_is(PyList_GET_ITEM(params, i)))
            visit(PyList_GET_ITEM(params, i), g, (size_t)i, context);
}

/* Of a module and all it holds, as if it were one group. */
static void each_of_module(PyObject *module, param_fn *visit, void *context, int depth)
{
    PyObject *parameters = tc_module_entry(module, TC_MODULE_PARAMETERS);
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (parameters && PyDict_Check(parameters) && PyDict_Next(parameters, &pos, &key, &value))
        if (tc_tensor_is(value))
            visit(value, 0, 0, context);
    pos = 0;
    while (depth < MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None)
            each_of_module(value, visit, context, depth + 1);
}

static void each_param(PyObject *optimizer, param_fn *visit, void *context)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));
    PyObject *groups;

    if (class && class->kind == TC_CLASS_MODULE) {
        each_of_module(optimizer, visit, context, 0);
        return;
    }
    groups = PyObject_GetAttrString(optimizer, "param_groups");

    for (Py_ssize_t i = 0; groups && PyList_Check(groups) && i < PyList_GET_SIZE(groups); i++)
        each_in_group(PyList_GET_ITEM(groups, i), (size_t)i, visit, context);
    Py_XDECREF(groups);
    PyErr_Clear();
}

static void meet_param(PyObject *param, size_t group, size_t i, void *context)
{
    int64_t serial = tc_identity_tensor(param);
    struct variable *v = serial ? meet(param, serial) : NULL;
    struct tc_strbuf name = TC_STRBUF_INIT;

    (void)context;
    if (!v)
        return;
    v->is_owned = true;
    if (v->name)
        return;
    tc_strbuf_addf(&name, "optimizer.param_groups[%zu][%zu]", group, i);
    set_name(v, name.text, 0);
    tc_strbuf_release(&name);
}

void tc_variables_meet_optimizer(PyObject *optimizer)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(optimizer));

    if (tc_agent.track && !tc_agent.is_dark && class && class->kind == TC_CLASS_OPTIMIZER)
        each_param(optimizer, meet_param, NULL);
}

struct params {
    struct tc_strbuf *out;
    bool only_uncleared;
    size_t n;
};

static bool is_uncleared(const struct variable *v)
{
    return !v->cleared && v->seen.grad != TC_GRAD_NULL;
}

static void add_param(PyObject *param, size_t group, size_t i, void *context)
{
    struct params *p = context;
    const struct variable *v = find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (!v || !v->announced || (p->only_uncleared && !is_uncleared(v)))
        return;
    if (p->only_uncleared && p->n == 0)
        tc_strbuf_adds(p->out, ",\"uncleared\":[");
    if (p->n++)
        tc_strbuf_addc(p->out, ',');
    tc_strbuf_add_int(p->out, v->serial);
}

void tc_variables_add_params(struct tc_strbuf *out, PyObject *optimizer, bool with_uncleared)
{
    struct params p = {out, false, 0};

    if (!tc_agent.track)
        return;
    tc_strbuf_adds(out, ",\"params\":[");
    each_param(optimizer, add_param, &p);
    tc_strbuf_addc(out, ']');
    if (!with_uncleared)
        return;
    p = (struct params){out, true, 0};
    each_param(optimizer, add_param, &p);
    if (p.n)
        tc_strbuf_addc(out, ']');
}

static void use_grad(PyObject *param, size_t group, size_t i, void *context)
{
    struct variable *v = find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    (void)context;
    if (v && v->seen.grad != TC_GRAD_NULL && v->seen.grad != TC_GRAD_ZERO)
        v->cleared = false;
}

void tc_variables_stepped(PyObject *optimizer)
{
    if (tc_agent.track)
        each_param(optimizer, use_grad, NULL);
}

/* ---- roots ---- */

struct walk {
    int64_t root;
    struct tc_strbuf *path; /* of the module, NULL while only looking for something new */
    bool found_new;
};

static void meet_member(struct walk *w, PyObject *module, PyObject *key, PyObject *tensor,
                        bool is_buffer)
{
    int64_t serial = tc_identity_tensor(tensor);
    struct variable *v = serial ? find(serial) : NULL;
    size_t size;

    if (!serial || (v && v->root && tc_ref_get(v->ref)))
        return;
    if (!w->path) {
        w->found_new = true;
        return;
    }
    v = meet(tensor, serial);
    if (!v)
        return;
    size = w->path->size;
    tc_strbuf_addf(w->path, ".%s", PyUnicode_AsUTF8(key));
    set_name(v, w->path->text, w->root);
    w->path->size = size;
    w->path->text[size] = '\0';
    v->is_buffer = is_buffer;
    Py_XDECREF(v->owner);
    v->owner = PyWeakref_NewRef(module, NULL);
}

static void walk_members(struct walk *w, PyObject *module, enum tc_module_entry entry,
                         bool is_buffer)
{
    PyObject *dict = tc_module_entry(module, entry);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    while (dict && PyDict_Check(dict) && PyDict_Next(dict, &pos, &key, &value))
        if (PyUnicode_Check(key) && tc_tensor_is(value))
            meet_member(w, module, key, value, is_buffer);
}

static void walk_module(struct walk *w, PyObject *module, int depth)
{
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    size_t size = w->path ? w->path->size : 0;

    walk_members(w, module, TC_MODULE_PARAMETERS, false);
    walk_members(w, module, TC_MODULE_BUFFERS, true);
    while (depth < MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value)) {
        if (value == Py_None || !PyUnicode_Check(key))
            continue;
        if (w->path)
            tc_strbuf_addf(w->path, ".%s", PyUnicode_AsUTF8(key));
        walk_module(w, value, depth + 1);
        if (w->path) {
            w->path->size = size;
            w->path->text[size] = '\0';
        }
    }
}

static bool is_root(PyObject *module)
{
    int64_t serial = tc_identity(module);

    for (size_t i = 0; i < vars.roots.n; i++)
        if (vars.roots.items[i] == serial)
            return true;
    return false;
}

static bool holds_root(PyObject *module, int depth)
{
    PyObject *children = tc_module_entry(module, TC_MODULE_MODULES);
    PyObject *key, *value;
    Py_ssize_t pos = 0;

    if (is_root(module))
        return true;
    while (depth < MAX_DEPTH && children && PyDict_Check(children) &&
           PyDict_Next(children, &pos, &key, &value))
        if (value != Py_None && holds_root(value, depth + 1))
            return true;
    return false;
}

bool tc_variables_holds_root(PyObject *module)
{
    return holds_root(module, 0);
}

/* False if --models-to-track leaves it out. */
static bool name_root(PyObject *module, struct tc_strbuf *path)
{
    PyObject *name = tc_policy_call("name_of_root", "(O)", module);
    const char *text = name && name != Py_None ? PyUnicode_AsUTF8(name) : NULL;

    tc_strbuf_reset(path);
    if (text)
        tc_strbuf_adds(path, text);
    Py_XDECREF(name);
    return text != NULL;
}

void tc_variables_meet_root(PyObject *module)
{
    struct walk w = {.root = tc_identity(module)};

    if (!is_root(module))
        tc_vec_push(&vars.roots, w.root);
    if (!tc_agent.track || tc_agent.is_dark)
        return;
    walk_module(&w, module, 0);
    if (!w.found_new || !name_root(module, &vars.path))
        return;
    w.path = &vars.path;
    walk_module(&w, module, 0);
}

/* ---- looks ---- */

static uint64_t digest_memory(const struct tc_memory *m, uint64_t seed, bool sampled)
{
    PyThreadState *state = m->size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
    uint64_t digest =
        sampled ? tc_digest_sampled(m->data, m->size, seed) : tc_digest(m->data, m->size, seed);

    if (state)
        PyEval_RestoreThread(state);
    return digest;
}

static double magnitude(PyObject *tensor, const struct tc_tensor *as)
{
    struct tc_memory m;
    PyThreadState *state;
    double max = -1;

    tc_tensor_memory(tensor, as, true, &m);
    if (m.data) {
        state = m.size >= MIN_UNLOCKED ? PyEval_SaveThread() : NULL;
        max = tc_max_abs(m.data, m.n, as->dtype->number);
        if (state)
            PyEval_RestoreThread(state);
    }
    tc_memory_release(&m);
    return max;
}

static void see_content(PyObject *tensor, struct seen *s)
{
    struct tc_memory m;

    s->sampled = vars.total > vars.budget && s->tensor.n * s->tensor.dtype->item_size > MIN_SAMPLED;
    tc_tensor_memory(tensor, &s->tensor, true, &m);
    s->readable = m.data != NULL;
    if (s->readable)
        s->digest = digest_memory(
            &m, tc_digest_seed(s->tensor.dtype->name, s->tensor.shape, s->tensor.n_dims),
            s->sampled);
    tc_memory_release(&m);
}

/* Magnitudes of the parameter are asked only where its gradient is small in itself. */
static enum tc_grad_class classify(struct variable *v, PyObject *tensor, PyObject *grad)
{
    struct tc_tensor as;
    double max;

    if (!tc_tensor_read(grad, &as)) {
        PyErr_Clear();
        return TC_GRAD_NON_ZERO;
    }
    max = as.dtype->number == TC_NUMBER_OTHER ? -1 : magnitude(grad, &as);
    if (as.n == 0)
        return TC_GRAD_ZERO;
    if (max < 0)
        return TC_GRAD_NON_ZERO;
    if (v->max_abs < 0)
        v->max_abs = magnitude(tensor, &v->seen.tensor);
    return tc_grad_classify(max, v->max_abs);
}

static void see_grad(struct variable *v, PyObject *tensor, struct seen *s)
{
    PyObject *grad = s->is_leaf ? tc_tensor_grad(tensor) : NULL;

    if (!grad) {
        s->grad = TC_GRAD_NULL;
        s->grad_serial = 0;
        v->cleared = true;
        return;
    }
    s->grad_serial = tc_identity(grad);
    tc_tensor_version(grad, &s->grad_address, &s->grad_version);
    if (s->grad_serial != v->seen.grad_serial || s->grad_address != v->seen.grad_address ||
        s->grad_version != v->seen.grad_version || v->seen.grad == TC_GRAD_NULL)
        s->grad = classify(v, tensor, grad);
    if (s->grad == TC_GRAD_ZERO || (v->announced && s->grad_serial != v->seen.grad_serial))
        v->cleared = true;
    Py_DECREF(grad);
}

/* False if the tensor cannot be read at all. */
static bool see_body(struct variable *v, PyObject *tensor, struct seen *s, bool verify)
{
    bool moved;

    tc_tensor_version(tensor, &s->address, &s->version);
    moved = !v->announced || s->address != v->seen.address;
    if (!moved && s->version == v->seen.version && !verify)
        return true;
    if (!tc_tensor_read(tensor, &s->tensor))
        return false;
    s->is_leaf = tc_tensor_is_leaf(tensor);
    s->layout = tc_tensor_layout(tensor);
    see_content(tensor, s);
    if (!v->announced)
        vars.total += s->tensor.n * s->tensor.dtype->item_size;
    if (moved && v->announced)
        tc_identity_rebind(tensor, v->serial);
    if (s->digest != v->seen.digest)
        v->max_abs = -1;
    return true;
}

static int mode_of(const struct variable *v)
{
    PyObject *owner = tc_ref_get(v->owner);

    return owner ? tc_module_is_training(owner) : -1;
}

/* ---- records ---- */

struct attrs {
    struct tc_strbuf *out;
    size_t n;
};

static void key(struct attrs *a, const char *name)
{
    if (a->n++)
        tc_strbuf_addc(a->out, ',');
    tc_strbuf_addf(a->out, "\"%s\":", name);
}

static void add_bool(struct attrs *a, const char *name, bool value)
{
    key(a, name);
    tc_strbuf_adds(a->out, value ? "true" : "false");
}

static void add_text(struct attrs *a, const char *name, const char *value)
{
    key(a, name);
    tc_strbuf_add_json(a->out, value, strlen(value));
}

static void add_data(struct attrs *a, const struct seen *s)
{
    key(a, "data");
    if (s->readable)
        tc_encode_digest(a->out, s->digest, s->sampled);
    else
        tc_strbuf_adds(a->out, "null");
}

static bool same_shape(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

static void add_form(struct attrs *a, const struct seen *s, const struct seen *old)
{
    if (!old || s->tensor.dtype != old->tensor.dtype)
        add_text(a, "dtype", s->tensor.dtype->name);
    if (!old || !same_shape(&s->tensor, &old->tensor)) {
        key(a, "shape");
        tc_encode_shape(a->out, &s->tensor);
    }
    if (!old || strcmp(s->tensor.device, old->tensor.device) != 0)
        add_text(a, "device", s->tensor.device);
    if (!old || strcmp(s->layout, old->layout) != 0)
        add_text(a, "layout", s->layout);
}

static void add_flags(struct attrs *a, const struct seen *s, const struct seen *old)
{
    if (!old || s->tensor.requires_grad != old->tensor.requires_grad)
        add_bool(a, "requires_grad", s->tensor.requires_grad);
    if (!old || s->is_leaf != old->is_leaf)
        add_bool(a, "is_leaf", s->is_leaf);
    if (s->training >= 0 && (!old || s->training != old->training))
        add_bool(a, "training", s->training);
}

/* Attributes in the tensor's own dict that are scalar and true: what a framework hung on it. */
static char *extra_of(PyObject *tensor)
{
    PyObject **dict = _PyObject_GetDictPtr(tensor);
    PyObject *name, *value;
    Py_ssize_t pos = 0;
    struct tc_strbuf out = TC_STRBUF_INIT;

    while (dict && *dict && PyDict_Next(*dict, &pos, &name, &value)) {
        if (!PyUnicode_Check(name) || !tc_is_scalar(value) || PyObject_IsTrue(value) != 1)
            continue;
        if (PyUnicode_GET_LENGTH(name) == 0 || PyUnicode_READ_CHAR(name, 0) == '_')
            continue;
        if (out.size)
            tc_strbuf_addc(&out, ',');
        tc_encode_str(&out, name);
        tc_strbuf_addc(&out, ':');
        tc_encode(&out, value);
    }
    return out.size ? tc_strbuf_take(&out) : NULL;
}

static void add_extra(struct attrs *a, struct variable *v, PyObject *tensor)
{
    char *extra = extra_of(tensor);
    bool same = extra && v->extra ? strcmp(extra, v->extra) == 0 : extra == v->extra;

    if (!same && extra) {
        if (a->n++)
            tc_strbuf_addc(a->out, ',');
        tc_strbuf_adds(a->out, extra);
    }
    tc_free(v->extra);
    v->extra = extra;
}

static void add_attrs(struct tc_strbuf *out, struct variable *v, PyObject *tensor,
                      const struct seen *s, size_t *n)
{
    const struct seen *old = v->announced ? &v->seen : NULL;
    struct attrs a = {out, 0};
    const struct tc_class *class;

    if (!old || s->digest != old->digest || s->readable != old->readable)
        add_data(&a, s);
    if (!old || s->grad != old->grad)
        add_text(&a, "grad", tc_grad_class_name(s->grad));
    add_form(&a, s, old);
    add_flags(&a, s, old);
    if (tc_ref_get(v->owner) && (!old || v->renamed)) {
        class = tc_class_of(Py_TYPE(tc_ref_get(v->owner)));
        key(&a, "owner");
        tc_strbuf_adds(out, class ? class->name : "null");
        PyErr_Clear();
    }
    add_extra(&a, v, tensor);
    *n = a.n;
}

static void begin_record(struct tc_thread *thread, const struct variable *v, int64_t cause)
{
    struct tc_strbuf *out = &thread->line;

    tc_strbuf_reset(out);
    tc_strbuf_adds(out, "{\"type\":\"var\",\"var\":");
    tc_strbuf_add_int(out, v->serial);
    tc_strbuf_adds(out, ",\"t\":");
    tc_strbuf_add_int(out, tc_agent_now());
    if (!v->announced || v->renamed) {
        tc_strbuf_adds(out, ",\"name\":");
        tc_strbuf_add_json(out, v->name, strlen(v->name));
        if (v->root)
            tc_strbuf_addf(out, ",\"root\":%lld", (long long)v->root);
    }
    if (!v->announced)
        tc_strbuf_addf(out, ",\"kind\":\"%s\"", v->is_buffer ? "buffer" : "Parameter");
    tc_steps_add(thread, out);
    if (cause)
        tc_strbuf_addf(out, ",\"cause\":%lld", (long long)cause);
    tc_strbuf_adds(out, ",\"attrs\":{");
}

/* Write a record if the variable is new, renamed or changed. */
static void record(struct tc_thread *thread, struct variable *v, PyObject *tensor,
                   const struct seen *s, int64_t cause)
{
    size_t n;

    begin_record(thread, v, cause);
    add_attrs(&thread->line, v, tensor, s, &n);
    if (n || v->renamed) {
        tc_strbuf_adds(&thread->line, "}}\n");
        tc_sink_put(thread->line.text, thread->line.size, thread->step_at);
    }
    v->seen = *s;
    v->announced = true;
    v->renamed = false;
}

/* The common case, nothing new, must not cost more than a few attributes. */
static bool is_unchanged(const struct variable *v, const struct seen *s)
{
    return v->announced && !v->renamed && s->digest == v->seen.digest &&
           s->readable == v->seen.readable && s->grad == v->seen.grad &&
           s->training == v->seen.training && s->is_leaf == v->seen.is_leaf &&
           s->tensor.requires_grad == v->seen.tensor.requires_grad &&
           s->tensor.dtype == v->seen.tensor.dtype &&
           strcmp(s->tensor.device, v->seen.tensor.device) == 0 &&
           same_shape(&s->tensor, &v->seen.tensor);
}

static void look_at(struct tc_thread *thread, struct variable *v, PyObject *tensor, int64_t cause,
                    bool verify)
{
    struct seen s = v->seen;
    bool first = !v->announced;

    if (!see_body(v, tensor, &s, verify)) {
        PyErr_Clear();
        return;
    }
    if (first)
        v->seen.tensor = s.tensor; /* classify reads it */
    s.tensor.requires_grad = tc_tensor_requires_grad(tensor);
    see_grad(v, tensor, &s);
    s.training = mode_of(v);
    if (!is_unchanged(v, &s) || verify)
        record(thread, v, tensor, &s, cause);
    else
        v->seen = s;
}

static bool is_verified(const struct variable *v, enum tc_look look)
{
    return look == TC_LOOK_ALL || (look == TC_LOOK_STEP && v->is_owned) ||
           (look == TC_LOOK_FORWARD && v->is_buffer);
}

void tc_variables_look(struct tc_thread *thread, int64_t cause, enum tc_look look)
{
    if (!tc_agent.track || tc_agent.is_dark || tc_agent.worker || thread->number != 0 ||
        !tc_agent_ready())
        return;
    for (size_t i = 0; i < vars.all.n; i++) {
        PyObject *tensor = tc_ref_get(vars.all.items[i].ref);

        if (!tensor || !vars.all.items[i].name)
            continue;
        Py_INCREF(tensor);
        look_at(thread, &vars.all.items[i], tensor, cause, is_verified(&vars.all.items[i], look));
        Py_DECREF(tensor);
    }
}

void tc_variables_let_go(PyObject *tensor)
{
    int64_t serial = tc_identity_forget(tensor);
    struct variable *v = serial ? find(serial) : NULL;

    if (v)
        Py_CLEAR(v->ref);
}

void tc_variables_reset(void)
{
    for (size_t i = 0; i < vars.all.n; i++) {
        Py_XDECREF(vars.all.items[i].ref);
        Py_XDECREF(vars.all.items[i].owner);
        tc_free(vars.all.items[i].name);
        tc_free(vars.all.items[i].extra);
    }
    tc_vec_release(&vars.all);
    tc_map_clear(&vars.by_serial);
    tc_vec_release(&vars.roots);
    vars.total = 0;
}
