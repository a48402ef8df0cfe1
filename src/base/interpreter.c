/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter.c - which environment's Python comes first, by what lies beside us
 *
 * The tool's own environment comes before the one that is active (VIRTUAL_ENV, then CONDA_PREFIX).
 * It is an environment if it holds pyvenv.cfg or conda-meta; what pipx or uv made for one tool
 * alone holds no torch and is passed by. Only what can be run is named; links stay as they are.
 */
#include "base/interpreter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"

static bool is_beside(const char *name)
{
    char *path = tc_fs_installed(name);
    bool is_there = tc_fs_exists(path);

    tc_free(path);
    return is_there;
}

/* Takes over the path; NULL if nothing there can be run. */
static char *if_runs(char *path)
{
    if (access(path, X_OK) == 0)
        return path;
    tc_free(path);
    return NULL;
}

/* Not what lies in /usr/bin: there the interpreter on PATH is as good a guess as that beside us. */
static char *of_own(void)
{
    if (!is_beside("pyvenv.cfg") && !is_beside("conda-meta"))
        return NULL;
    if (is_beside("pipx_metadata.json") || is_beside("uv-receipt.toml"))
        return NULL;
    return if_runs(tc_fs_installed("bin/python"));
}

static char *of_active(const char *variable)
{
    const char *prefix = getenv(variable);

    return prefix && *prefix ? if_runs(tc_fs_join(prefix, "bin/python")) : NULL;
}

char *tc_interpreter_of_environment(void)
{
    char *path = of_own();

    if (!path)
        path = of_active("VIRTUAL_ENV");
    if (!path)
        path = of_active("CONDA_PREFIX");
    return path;
}
