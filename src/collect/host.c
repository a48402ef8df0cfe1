/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - asks an interpreter who it is, and finds the agent that was built for it
 *
 * By running it with a short program of three prints, isolated from the user's environment: a name
 * or a path tells neither the version nor the library. If no agent fits, the message names the
 * versions that there are and what would help, in a build folder or an installed copy.
 */
#include "collect/python.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/interpreter.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Three lines: version, program, shared library (or nothing). The version of one that agents are
 * not built for has more than two numbers. */
static const char question[] =
    "import os, sys, sysconfig\n"
    "v = sysconfig.get_config_var\n"
    "kind = ' free-threaded' if 't' in getattr(sys, 'abiflags', '') else ''\n"
    "kind += '' if sys.implementation.name == 'cpython' else ' (' + sys.implementation.name + ')'\n"
    "names = [v('INSTSONAME'), v('LDLIBRARY')]\n"
    "paths = [os.path.join(v('LIBDIR') or '', n) for n in names if n and '.so' in n]\n"
    "print('%d.%d' % sys.version_info[:2] + kind)\n"
    "print(sys.executable)\n"
    "print(next((p for p in paths if os.path.exists(p)), ''))\n";

void tc_python_release(struct tc_python *python)
{
    tc_free(python->program);
    tc_free(python->version);
    tc_free(python->library);
    tc_free(python->agent);
    tc_free(python->inject);
    *python = (struct tc_python){0};
}

static char *choose(const char *wanted)
{
    char *found = wanted ? tc_strdup(wanted) : tc_interpreter_of_environment();

    return found ? found : tc_strdup("python3");
}

static enum tc_status read_all(int fd, struct tc_strbuf *out)
{
    char piece[1024];
    ssize_t n;

    while ((n = read(fd, piece, sizeof(piece))) > 0)
        tc_strbuf_add(out, piece, (size_t)n);
    return n == 0 ? TC_OK : TC_E_IO;
}

static int spawn_asking(const char *program, int out_fd, pid_t *pid)
{
    char *argv[] = {(char *)program, (char *)"-I",     (char *)"-S",
                    (char *)"-c",    (char *)question, NULL};
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int rc;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static enum tc_status run_question(const char *program, struct tc_strbuf *answer,
                                   struct tc_error *err)
{
    enum tc_status status = TC_OK;
    int fds[2], rc, state = 0;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return tc_error_set(err, TC_E_IO, "pipe: %s", strerror(errno));
    rc = spawn_asking(program, fds[1], &pid);
    close(fds[1]);
    if (rc != 0) {
        status = tc_error_set(err, TC_E_NOTFOUND, "%s: %s; name an interpreter with --python",
                              program, strerror(rc));
        goto out;
    }
    read_all(fds[0], answer);
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        status =
            tc_error_set(err, TC_E_PYTHON, "%s does not work as a Python 3 interpreter", program);
out:
    close(fds[0]);
    return status;
}

/* Cut the next line off *text; NULL at the end. */
static char *next_line(char **text)
{
    char *line = *text, *end;

    if (!line)
        return NULL;
    end = strchr(line, '\n');
    *text = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return end ? line : NULL;
}

static enum tc_status ask_interpreter(struct tc_python *python, struct tc_error *err)
{
    struct tc_strbuf answer = TC_STRBUF_INIT;
    char *rest, *version, *program, *library;
    enum tc_status status = run_question(python->program, &answer, err);

    if (status != TC_OK)
        goto out;
    rest = answer.text;
    version = next_line(&rest);
    program = next_line(&rest);
    library = next_line(&rest);
    if (!library) {
        status =
            tc_error_set(err, TC_E_PYTHON,
                         "%s does not answer as Python does; name an interpreter with --python",
                         python->program);
        goto out;
    }
    python->version = tc_strdup(version);
    if (*program) {
        tc_free(python->program);
        python->program = tc_strdup(program);
    }
    python->library = *library ? tc_strdup(library) : NULL;
out:
    tc_strbuf_release(&answer);
    return status;
}

/* "…/traincheck_agent.cpython-311.so" of Python 3.11. */
static char *agent_path(const char *folder, int minor)
{
    struct tc_strbuf name = TC_STRBUF_INIT;
    char *path;

    tc_strbuf_addf(&name, "traincheck_agent.cpython-3%d.so", minor);
    path = tc_fs_join(folder, name.text);
    tc_strbuf_release(&name);
    return path;
}

static bool has_agent(const char *folder, int minor)
{
    char *path = agent_path(folder, minor);
    bool found = access(path, R_OK) == 0;

    tc_free(path);
    return found;
}

/* The versions of the agents in the folder, "3.11, 3.12". */
static void list_agents(const char *folder, struct tc_strbuf *out)
{
    for (int minor = OLDEST_MINOR; minor <= NEWEST_MINOR; minor++)
        if (has_agent(folder, minor))
            tc_strbuf_addf(out, "%s3.%d", out->size ? ", " : "", minor);
    if (!out->size)
        tc_strbuf_adds(out, "none");
}

/* How to get an agent for the program: in a build folder, build it; an installed copy has no
 * sources. */
static void add_remedy(struct tc_strbuf *out, const char *program)
{
    char *cache = tc_fs_installed("CMakeCache.txt");
    int n = (int)(strlen(cache) - strlen("/CMakeCache.txt"));

    if (access(cache, F_OK) == 0)
        tc_strbuf_addf(out, "to add one: cmake -DTRAINCHECK_PYTHONS=%s %.*s && cmake --build %.*s",
                       program, n, cache, n, cache);
    else
        tc_strbuf_addf(out,
                       "the wheel has one for each of CPython 3.%d to 3.%d: pip install "
                       "--upgrade libtraincheck",
                       OLDEST_MINOR, NEWEST_MINOR);
    tc_free(cache);
}

static enum tc_status refuse_version(const struct tc_python *python, int minor, const char *folder,
                                     struct tc_error *err)
{
    struct tc_strbuf have = TC_STRBUF_INIT, remedy = TC_STRBUF_INIT;

    if (!minor)
        return tc_error_set(err, TC_E_NOTFOUND,
                            "%s is Python %s; CPython 3.%d to 3.%d, not free-threaded, can be "
                            "traced; name another interpreter with --python",
                            python->program, python->version, OLDEST_MINOR, NEWEST_MINOR);
    list_agents(folder, &have);
    add_remedy(&remedy, python->program);
    tc_error_set(err, TC_E_NOTFOUND, "%s is Python %s, and there are agents for: %s; %s",
                 python->program, python->version, have.text, remedy.text);
    tc_strbuf_release(&have);
    tc_strbuf_release(&remedy);
    return TC_E_NOTFOUND;
}

/* 11 of "3.11"; 0 for what agents cannot be built for. */
static int minor_of(const char *version)
{
    int minor = 0, end = 0;
    bool is_whole = sscanf(version, "3.%d%n", &minor, &end) == 1 && !version[end];

    return is_whole && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR ? minor : 0;
}

static enum tc_status find_agent(struct tc_python *python, struct tc_error *err)
{
    char *folder = tc_fs_installed("lib/traincheck");
    int minor = minor_of(python->version);
    enum tc_status status = TC_OK;

    python->agent = agent_path(folder, minor);
    python->inject = tc_fs_join(folder, "inject");
    if (!has_agent(folder, minor))
        status = refuse_version(python, minor, folder, err);
    tc_free(folder);
    return status;
}

enum tc_status tc_python_find(const char *wanted, struct tc_python *out, struct tc_error *err)
{
    enum tc_status status;

    *out = (struct tc_python){.program = choose(wanted)};
    status = ask_interpreter(out, err);
    if (status == TC_OK)
        status = find_agent(out, err);
    if (status != TC_OK)
        tc_python_release(out);
    return status;
}

enum tc_status tc_python_find_agents(struct tc_python *out, struct tc_error *err)
{
    char *folder = tc_fs_installed("lib/traincheck");
    struct tc_strbuf have = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    *out = (struct tc_python){.inject = tc_fs_join(folder, "inject")};
    list_agents(folder, &have);
    if (strcmp(have.text, "none") == 0)
        status = tc_error_set(err, TC_E_NOTFOUND, "%s holds no agent", folder);
    if (status != TC_OK)
        tc_python_release(out);
    tc_strbuf_release(&have);
    tc_free(folder);
    return status;
}
