#include "collect/python.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/banned.h"
#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Three lines: version, program, shared library (or nothing). */
static const char question[] =
    "import os, sys, sysconfig\n"
    "v = sysconfig.get_config_var\n"
    "names = [v('INSTSONAME'), v('LDLIBRARY')]\n"
    "paths = [os.path.join(v('LIBDIR') or '', n) for n in names if n and '.so' in n]\n"
    "print('%d.%d' % sys.version_info[:2])\n"
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

static char *in_environment(const char *variable)
{
    const char *prefix = getenv(variable);
    char *path;

    if (!prefix || !*prefix)
        return NULL;
    path = tc_fs_join(prefix, "bin/python");
    if (access(path, X_OK) == 0)
        return path;
    tc_free(path);
    return NULL;
}

static char *choose(const char *wanted)
{
    char *found;

    if (wanted)
        return tc_strdup(wanted);
    found = in_environment("VIRTUAL_ENV");
    if (!found)
        found = in_environment("CONDA_PREFIX");
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

static enum tc_status ask(struct tc_python *python, struct tc_error *err)
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
        status = tc_error_set(err, TC_E_PYTHON, "%s does not say its version", python->program);
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

/* ../lib/traincheck seen from the folder of our executable: the same when built and when installed.
 */
static char *agent_folder(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n < 0)
        return tc_strdup(".");
    for (int up = 0; up < 2; up++) {
        self[n] = '\0';
        slash = strrchr(self, '/');
        n = slash ? slash - self : n;
    }
    self[n] = '\0';
    return tc_fs_join(self, "lib/traincheck");
}

/* The versions of the agents in the folder, "3.11, 3.12". */
static void list_agents(const char *folder, struct tc_strbuf *out)
{
    char **names = NULL;
    size_t n = 0;
    int major, minor;

    if (tc_fs_list(folder, &names, &n, NULL) != TC_OK)
        n = 0;
    for (size_t i = 0; i < n; i++)
        if (sscanf(names[i], "traincheck_agent.cpython-%1d%d.so", &major, &minor) == 2)
            tc_strbuf_addf(out, "%s%d.%d", out->size ? ", " : "", major, minor);
    if (names)
        tc_fs_list_free(names, n);
}

static enum tc_status find_agent(struct tc_python *python, struct tc_error *err)
{
    char *folder = agent_folder();
    struct tc_strbuf name = TC_STRBUF_INIT, have = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    tc_strbuf_addf(&name, "traincheck_agent.cpython-%s", python->version);
    memmove(strchr(name.text + 24, '.'), strchr(name.text + 24, '.') + 1,
            strlen(strchr(name.text + 24, '.'))); /* 3.11 is written 311 */
    name.size--;
    tc_strbuf_adds(&name, ".so");
    python->agent = tc_fs_join(folder, name.text);
    python->inject = tc_fs_join(folder, "inject");
    if (access(python->agent, R_OK) != 0) {
        list_agents(folder, &have);
        status = tc_error_set(err, TC_E_NOTFOUND,
                              "%s is Python %s, and this build has agents for: %s; to add one: "
                              "cmake -B build -DTRAINCHECK_PYTHONS=%s && cmake --build build",
                              python->program, python->version, have.size ? have.text : "none",
                              python->program);
    }
    tc_strbuf_release(&name);
    tc_strbuf_release(&have);
    tc_free(folder);
    return status;
}

enum tc_status tc_python_find(const char *wanted, struct tc_python *out, struct tc_error *err)
{
    enum tc_status status;

    *out = (struct tc_python){.program = choose(wanted)};
    status = ask(out, err);
    if (status == TC_OK)
        status = find_agent(out, err);
    if (status != TC_OK)
        tc_python_release(out);
    return status;
}
