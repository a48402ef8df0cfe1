/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - three ways to start the job: in this process, by exec, as a child
 *
 * Hosted: libpython and the agent are loaded with dlopen, no header of Python is used, so one
 * build serves every version. Injected: a folder in PYTHONPATH has a sitecustomize that loads the
 * agent. A child gets our signals passed on, and its end becomes ours. Changes the process for
 * good (environment, handlers): once, from the main thread.
 */
#include "collect/launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"

/*
 * What is called in libpython and in the agent. Their headers are not included: one build of the
 * collector serves every version of Python.
 */
struct python_object;
typedef struct python_object *init_fn(void);

static struct {
    int (*append_inittab)(const char *name, init_fn *init);
    int (*add_audit_hook)(int (*hook)(const char *event, struct python_object *args, void *data),
                          void *data);
    void (*setup_debug_hooks)(void);
    int (*main)(int argc, char **argv);
    struct python_object *(*import)(const char *name);
    struct python_object *(*call_method)(struct python_object *o, const char *name,
                                         const char *format, ...);
    void (*print_error)(void);
} py;

static void *symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

static enum tc_status load_python(const struct tc_python *python, struct tc_error *err)
{
    void *lib = dlopen(python->library, RTLD_NOW | RTLD_GLOBAL);

    if (!lib)
        return tc_error_set(err, TC_E_PYTHON, "%s", dlerror());
    *(void **)&py.append_inittab = symbol(lib, "PyImport_AppendInittab");
    *(void **)&py.add_audit_hook = symbol(lib, "PySys_AddAuditHook");
    *(void **)&py.setup_debug_hooks = symbol(lib, "PyMem_SetupDebugHooks");
    *(void **)&py.main = symbol(lib, "Py_BytesMain");
    *(void **)&py.import = symbol(lib, "PyImport_ImportModule");
    *(void **)&py.call_method = symbol(lib, "PyObject_CallMethod");
    *(void **)&py.print_error = symbol(lib, "PyErr_Print");
    if (!py.append_inittab || !py.add_audit_hook || !py.setup_debug_hooks || !py.main ||
        !py.import || !py.call_method || !py.print_error)
        return tc_error_set(err, TC_E_PYTHON, "%s is no libpython that can be embedded",
                            python->library);
    return TC_OK;
}

/* Loaded after libpython, whose symbols it needs; its own stay out of the way of other modules. */
static enum tc_status load_agent(const struct tc_python *python, struct tc_error *err)
{
    void *lib = dlopen(python->agent, RTLD_NOW | RTLD_LOCAL);
    init_fn *init = NULL;

    if (lib)
        *(void **)&init = symbol(lib, "PyInit__traincheck_agent");
    if (!init)
        return tc_error_set(err, TC_E_PYTHON, "%s: %s", python->agent, dlerror());
    if (py.append_inittab("_traincheck_agent", init) != 0)
        return tc_error_set(err, TC_E_NOMEM, "cannot register the agent");
    return TC_OK;
}

static void start_agent(void)
{
    struct python_object *policy = NULL;

    if (py.import("_traincheck_agent"))
        policy = py.import("traincheck_agent.policy");
    if (!policy || !py.call_method(policy, "start", NULL)) {
        fputs("traincheck-collect: the script is not traced:\n", stderr);
        py.print_error();
    }
}

/* The script is about to run: everything that Python does before has been done. */
static int on_audit(const char *event, struct python_object *args, void *started_)
{
    int *started = started_;

    (void)args;
    if (*started || strncmp(event, "cpython.run_", 12) != 0)
        return 0;
    if (strcmp(event + 12, "file") != 0 && strcmp(event + 12, "module") != 0 &&
        strcmp(event + 12, "stdin") != 0)
        return 0;
    *started = 1;
    start_agent();
    return 0;
}

/*
 * Python allocates the entry of an audit hook with the allocator that it has now, and frees it at
 * its end with the one that its environment asks for: the checks of that one must find their marks.
 */
static void choose_allocator(void)
{
    const char *name = getenv("PYTHONMALLOC"), *dev = getenv("PYTHONDEVMODE");
    bool has_name = name && *name;

    if (has_name ? strstr(name, "debug") != NULL : dev && *dev)
        py.setup_debug_hooks();
}

enum tc_status tc_launch_hosted(const struct tc_python *python, int argc, char **argv,
                                int *exit_status, struct tc_error *err)
{
    static int started;
    enum tc_status status = load_python(python, err);

    if (status == TC_OK)
        status = load_agent(python, err);
    if (status != TC_OK)
        return status;
    choose_allocator();
    prctl(PR_SET_NAME, tc_fs_base(python->program)); /* in top, and in faulthandler's report */
    if (py.add_audit_hook(on_audit, &started) != 0)
        return tc_error_set(err, TC_E_PYTHON, "Python takes no audit hook");
    *exit_status = py.main(argc, argv);
    return TC_OK;
}

static void inject(const struct tc_python *python)
{
    const char *old = getenv("PYTHONPATH");
    struct tc_strbuf path = TC_STRBUF_INIT;

    tc_strbuf_adds(&path, python->inject);
    if (old && *old)
        tc_strbuf_addf(&path, ":%s", old);
    setenv("PYTHONPATH", path.text, 1);
    tc_strbuf_release(&path);
}

enum tc_status tc_launch_injected(const struct tc_python *python, char **argv, struct tc_error *err)
{
    inject(python);
    execv(python->program, argv);
    return tc_error_set(err, TC_E_IO, "%s: %s", python->program, strerror(errno));
}

/* ---- a command ---- */

static volatile sig_atomic_t child;
static volatile sig_atomic_t early; /* a signal that came before there was a child */

static void pass_on(int number)
{
    if (child)
        kill((pid_t)child, number);
    else
        early = number;
}

/* The terminal sends its signals to the child too; those that a process sends come to us alone. */
static void pass_on_sent(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0) /* SI_USER, SI_QUEUE, SI_TKILL */
        pass_on(number);
}

/* What is ignored (nohup, a shell's background jobs) stays so, also in the child. */
static void handle(int number, const struct sigaction *action)
{
    struct sigaction old;

    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(number, action, NULL);
}

static void share_signals(void)
{
    static const int others[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction of_terminal = {0}, forward = {0};

    of_terminal.sa_sigaction = pass_on_sent;
    of_terminal.sa_flags = (int)(SA_RESTART | SA_SIGINFO);
    forward.sa_handler = pass_on;
    forward.sa_flags = SA_RESTART;
    handle(SIGINT, &of_terminal);
    handle(SIGQUIT, &of_terminal);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        handle(others[i], &forward);
}

/* A script without #! is run by the shell, as it would be from one. */
static int spawn_by_shell(pid_t *pid, char **argv)
{
    extern char **environ;
    TC_VEC(char *) shell = {0};
    int rc;

    tc_vec_push(&shell, (char *)"/bin/sh");
    tc_vec_push(&shell, (char *)"-c");
    tc_vec_push(&shell, (char *)"exec \"$0\" \"$@\"");
    for (size_t i = 0; argv[i]; i++)
        tc_vec_push(&shell, argv[i]);
    tc_vec_push(&shell, NULL);
    rc = posix_spawn(pid, shell.items[0], NULL, NULL, shell.items, environ);
    tc_vec_release(&shell);
    return rc;
}

static int spawn(pid_t *pid, char **argv)
{
    extern char **environ;
    int rc = posix_spawnp(pid, argv[0], NULL, NULL, argv, environ);

    return rc == ENOEXEC ? spawn_by_shell(pid, argv) : rc;
}

enum tc_status tc_launch_command(const struct tc_python *python, char **argv, int *exit_status,
                                 struct tc_error *err)
{
    pid_t pid;
    int state, rc;

    inject(python);
    signal(SIGCHLD, SIG_DFL); /* who ignores it is told of no exit status */
    share_signals();
    rc = spawn(&pid, argv);
    if (rc != 0)
        return tc_error_set(err, TC_E_NOTFOUND, "%s: %s", argv[0], strerror(rc));
    child = pid;
    if (early)
        kill(pid, early);
    signal(SIGPIPE, SIG_IGN); /* who reads our last line may have left */
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return tc_error_set(err, TC_E_IO, "%s: %s", argv[0], strerror(errno));
    *exit_status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    return TC_OK;
}
