/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shipped.c - finds the folder of shipped sets and reads those that a name stands for
 *
 * @all reads every set as an optional one, which a run has to be about (check/choice.c); a single
 * name reads just that. A name that is unknown is refused with the nearest and with all that there
 * are.
 */
#include "invariant/shipped.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/near.h"

#define SUFFIX ".jsonl"
#define ALL    "@all"

static char *shipped_folder(void)
{
    const char *own = getenv(TC_SHIPPED_FOLDER);

    return own && *own ? tc_strdup(own) : tc_fs_installed("share/traincheck/invariants");
}

/* The names of the sets in a folder, each with its @, after that of all together. */
struct names {
    char **files;
    size_t n_files;
    TC_VEC(char *) sets;
};

static enum tc_status list_names(const char *folder, struct names *names, struct tc_error *err)
{
    enum tc_status status = tc_fs_list(folder, &names->files, &names->n_files, err);

    if (status != TC_OK)
        return status;
    tc_vec_push(&names->sets, tc_strdup(ALL));
    for (size_t i = 0; i < names->n_files; i++) {
        const char *file = names->files[i];
        size_t size = strlen(file);
        if (size <= strlen(SUFFIX) || strcmp(file + size - strlen(SUFFIX), SUFFIX))
            continue;
        struct tc_strbuf name = TC_STRBUF_INIT;
        tc_strbuf_addc(&name, '@');
        tc_strbuf_add(&name, file, size - strlen(SUFFIX));
        tc_vec_push(&names->sets, tc_strbuf_take(&name));
    }
    return TC_OK;
}

static void release_names(struct names *names)
{
    tc_fs_list_free(names->files, names->n_files);
    for (size_t i = 0; i < names->sets.n; i++)
        tc_free(names->sets.items[i]);
    tc_vec_release(&names->sets);
}

static enum tc_status read_set(struct tc_invariant_set *set, const char *folder, const char *name,
                               bool is_optional, struct tc_error *err)
{
    struct tc_strbuf path = TC_STRBUF_INIT;
    enum tc_status status;

    tc_strbuf_addf(&path, "%s/%s" SUFFIX, folder, name + 1);
    status = tc_invariant_set_read_file(set, path.text, name, is_optional, err);
    tc_strbuf_release(&path);
    return status;
}

static enum tc_status refuse(const struct names *names, const char *name, struct tc_error *err)
{
    struct tc_strbuf known = TC_STRBUF_INIT;
    struct tc_near near;
    const char *meant = NULL;
    bool is_comparable = tc_near_begin(&near, name, strlen(name));

    for (size_t i = 0; i < names->sets.n; i++) {
        tc_strbuf_addf(&known, "%s%s", i ? ", " : "", names->sets.items[i]);
        if (is_comparable && tc_near_try(&near, names->sets.items[i]))
            meant = names->sets.items[i];
    }
    tc_error_set(err, TC_E_NOTFOUND, "no shipped set is called '%s'%s%s%s %s", name,
                 meant ? ": did you mean '" : "", meant ? meant : "",
                 meant ? "'? There are" : "; there are", known.text);
    tc_strbuf_release(&known);
    return TC_E_NOTFOUND;
}

static enum tc_status read_named(struct tc_invariant_set *set, const char *folder,
                                 const struct names *names, const char *name, struct tc_error *err)
{
    bool is_all = !strcmp(name, ALL), is_known = is_all;
    enum tc_status status = TC_OK;

    for (size_t i = 1; i < names->sets.n && !status; i++)
        if (is_all || !strcmp(name, names->sets.items[i])) {
            is_known = true;
            status = read_set(set, folder, names->sets.items[i], is_all, err);
        }
    return is_known ? status : refuse(names, name, err);
}

enum tc_status tc_shipped_read(struct tc_invariant_set *set, const char *name, struct tc_error *err)
{
    char *folder = shipped_folder();
    struct names names = {0};
    enum tc_status status = list_names(folder, &names, err);

    if (status == TC_OK && names.sets.n < 2)
        status = tc_error_set(err, TC_E_NOTFOUND, "%s: holds no sets of invariants", folder);
    if (status == TC_OK)
        status = read_named(set, folder, &names, name, err);
    else
        tc_error_prefix(err, "%s", name);
    release_names(&names);
    tc_free(folder);
    return status;
}

enum tc_status tc_invariant_set_read(struct tc_invariant_set *set, const char *path,
                                     struct tc_error *err)
{
    return *path == '@' ? tc_shipped_read(set, path, err)
                        : tc_invariant_set_read_file(set, path, path, false, err);
}
