/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - the plans of a folder
 *
 * Every plan file of a folder is read. A hole or a torn end is an error here, and not a note as
 * in a trace. Every rank of the world must have one plan, captured or retargeted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/hash.h"
#include "plan/copies.h"
#include "trace/lines.h"
#include "trace/reader_notes.h"

void tc_plan_init(struct tc_plan_set *set, const char *folder, struct tc_strtab *names)
{
    *set = (struct tc_plan_set){
        .folder = folder, .names = names, .group_ids = tc_strtab_new(), .texts = tc_strtab_new()};
}

static void release_program(struct tc_plan_program *p)
{
    tc_vec_release(&p->ops);
    tc_vec_release(&p->storages);
    tc_vec_release(&p->allocs);
    tc_vec_release(&p->frees);
    tc_vec_release(&p->groups);
}

static void release_rank(struct tc_plan_rank *rank)
{
    if (rank->program && rank->owns_program)
        release_program(rank->program);
    tc_vec_release(&rank->mesh);
    if (!rank->borrows_inits)
        tc_vec_release(&rank->inits);
    if (!rank->borrows_consts)
        tc_vec_release(&rank->consts);
    if (!rank->borrows_results)
        tc_vec_release(&rank->results);
}

void tc_plan_release(struct tc_plan_set *set)
{
    for (uint32_t i = 0; i < set->world; i++)
        release_rank(&set->ranks[i]);
    tc_free(set->copies.of);
    tc_free(set->copies.next);
    tc_free(set->copies.distinct);
    tc_free(set->ranks);
    tc_vec_release(&set->groups);
    tc_vec_release(&set->notes);
    tc_map_release(&set->rules);
    tc_strtab_free(set->group_ids);
    tc_strtab_free(set->texts);
    tc_arena_release(&set->arena);
    tc_arena_release(&set->line);
}

uint32_t tc_plan_group(struct tc_plan_set *set, const uint32_t *ranks, uint32_t n)
{
    tc_sym id = tc_strtab_intern(set->group_ids, ranks, n * sizeof(*ranks));

    if (id == set->groups.n) {
        struct tc_plan_group group = {
            (const uint32_t *)(const void *)tc_strtab_text(set->group_ids, id), n};
        tc_vec_push(&set->groups, group);
    }
    return id;
}

int64_t tc_plan_group_index(const struct tc_plan_group *group, uint32_t rank)
{
    for (uint32_t i = 0; i < group->n; i++)
        if (group->ranks[i] == rank)
            return i;
    return -1;
}

/* ---- once all lines are there -------------------------------------------------------------- */

/* Operators only: shards may differ in size. */
static uint64_t sign(const struct tc_plan_rank *rank)
{
    const struct tc_plan_program *p = rank->program;
    uint64_t hash = p->ops.n;

    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        hash = tc_hash_mix_text(hash, op->name, strlen(op->name));
    }
    return hash;
}

static enum tc_status finish(struct tc_plan_set *set, struct tc_plan_rank *rank,
                             struct tc_error *err)
{
    struct tc_plan_program *p = rank->program;
    uint32_t *groups = tc_arena_alloc(&set->arena, (p->groups.n + 1) * sizeof(*groups));

    if (p->ops.n >= UINT32_MAX / 2)
        return tc_error_set(err, TC_E_FORMAT, "%s: too many operators", rank->file);
    for (size_t i = 0; i < p->groups.n; i++)
        groups[i] = p->groups.items[i];
    rank->groups = groups;
    p->signature = sign(rank);
    tc_plan_put_in_slots(rank);
    set->n_ops += p->ops.n;
    return TC_OK;
}

static enum tc_status check_ranks(const struct tc_plan_set *set, struct tc_error *err)
{
    struct tc_strbuf missing = TC_STRBUF_INIT;
    uint32_t n = 0;

    for (uint32_t i = 0; i < set->world; i++)
        if (!set->ranks[i].file && n++ < 8)
            tc_strbuf_addf(&missing, "%s%u", n > 1 ? ", " : "", i);
    if (n)
        tc_error_set(err, TC_E_FORMAT, "%s: the plan%s of rank%s %s%s missing (world %u)",
                     set->folder, n > 1 ? "s" : "", n > 1 ? "s" : "", missing.text,
                     n > 8   ? " and more are"
                     : n > 1 ? " are"
                             : " is",
                     set->world);
    tc_strbuf_release(&missing);
    return n ? TC_E_FORMAT : TC_OK;
}

/* ---- files --------------------------------------------------------------------------------- */

static bool is_plan_file(const char *name)
{
    size_t n = strlen(name);

    return !strncmp(name, "plan-", 5) && ((n > 6 && !strcmp(name + n - 6, ".jsonl")) ||
                                          (n > 10 && !strcmp(name + n - 10, ".jsonl.zst")));
}

static enum tc_status read_lines(struct tc_plan_set *set, const char *name, struct tc_lines *lines,
                                 struct tc_error *err)
{
    struct tc_plan_rank *rank = NULL;
    struct tc_str line;
    enum tc_status status;

    while ((status = tc_lines_next(lines, &line, err)) == TC_OK) {
        status =
            tc_plan_read_line(set, name, &rank, line.text, line.size, tc_lines_number(lines), err);
        if (status) {
            tc_error_prefix(err, "%s:%llu", name, (unsigned long long)tc_lines_number(lines));
            return status;
        }
    }
    if (status == TC_END && tc_lines_torn(lines))
        return tc_error_set(err, TC_E_FORMAT, "%s: the file ends in the midst of a line", name);
    return status == TC_END ? TC_OK : status;
}

/* A plan with a hole is no plan: what is a note for a trace is an error here. */
static enum tc_status read_file(struct tc_plan_set *set, const char *name, struct tc_error *err)
{
    char *path = tc_fs_join(set->folder, name);
    struct tc_notes *notes = tc_notes_new();
    struct tc_lines *lines = NULL;
    enum tc_status status = tc_lines_open(path, name, notes, &lines, err);

    if (!status)
        status = read_lines(set, name, lines, err);
    if (!status && tc_notes_count(notes))
        status = tc_error_set(err, TC_E_FORMAT, "%s: %s", name, tc_notes_get(notes, 0)->text);
    tc_lines_close(lines);
    tc_notes_free(notes);
    tc_free(path);
    return status;
}

static enum tc_status finish_all(struct tc_plan_set *set, struct tc_error *err)
{
    enum tc_status status = check_ranks(set, err);

    for (uint32_t i = 0; i < set->world && !status; i++)
        if (set->ranks[i].like < 0)
            status = finish(set, &set->ranks[i], err);
    if (!status)
        status = tc_plan_retarget(set, err);
    if (!status)
        tc_plan_find_copies(set);
    return status;
}

enum tc_status tc_plan_read(struct tc_plan_set *set, const char *folder, struct tc_strtab *names,
                            struct tc_error *err)
{
    char **files = NULL;
    size_t n = 0, n_plans = 0;
    enum tc_status status;

    tc_plan_init(set, folder, names);
    status = tc_fs_list(folder, &files, &n, err);
    for (size_t i = 0; i < n && !status; i++)
        if (is_plan_file(files[i])) {
            n_plans++;
            status = read_file(set, files[i], err);
        }
    tc_fs_list_free(files, n);
    if (!status && !set->world)
        status = tc_error_set(err, TC_E_NOTFOUND, "%s: %s", folder,
                              n_plans ? "the plan files are empty"
                                      : "no plan-*.jsonl or plan-*.jsonl.zst in this folder");
    return status ? status : finish_all(set, err);
}
