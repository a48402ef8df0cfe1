/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.c - one pass over each file for process ids and numbers in meta_vars, without parsing
 * lines
 *
 * Text is searched for its keys, and meta_vars parsed only when it differs from that of the line
 * before. A file is one of the tool's if one of its first LINES_TO_RECOGNISE lines is a record.
 * Which number is the rank: one that counts the processes from 0, best one that is called so.
 */
#include "import/survey.h"

#include <ctype.h>
#include <string.h>

#include "base/fs.h"
#include "import/lines_by_time.h"
#include "trace/lines.h"
#include "trace/scan.h"

#define LINES_TO_RECOGNISE 16
/* A file that several processes wrote is read once for each of them. */
#define MAX_PROCESSES 4096

void tc_survey_init(struct tc_survey *survey)
{
    *survey = (struct tc_survey){.keys = tc_strtab_new()};
}

void tc_survey_release(struct tc_survey *survey)
{
    for (size_t i = 0; i < survey->processes.n; i++) {
        tc_vec_release(&survey->processes.items[i].files);
        tc_vec_release(&survey->processes.items[i].numbers);
    }
    tc_vec_release(&survey->processes);
    tc_strtab_free(survey->keys);
}

static struct tc_survey_process *process_at(struct tc_survey *survey, int64_t pid)
{
    for (size_t i = 0; i < survey->processes.n; i++)
        if (survey->processes.items[i].pid == pid)
            return &survey->processes.items[i];
    tc_vec_push(&survey->processes,
                ((struct tc_survey_process){.pid = pid, .rank = -1, .world = 1}));
    return &survey->processes.items[survey->processes.n - 1];
}

/* Records are not parsed here, only looked into: reading comes later and judges them. */
static const char *behind(struct tc_str line, const char *key)
{
    const char *end = line.text + line.size;
    const char *at = memmem(line.text, line.size, key, strlen(key));

    if (!at)
        return NULL;
    for (at += strlen(key); at < end && (*at == ' ' || *at == ':'); at++)
        ;
    return at < end ? at : NULL;
}

static bool read_pid(struct tc_str line, int64_t *out)
{
    const char *at = behind(line, "\"process_id\""), *end = line.text + line.size;
    int64_t pid = 0;

    if (!at || !isdigit((unsigned char)*at))
        return false;
    for (; at < end && isdigit((unsigned char)*at) && pid < INT64_MAX / 100; at++)
        pid = pid * 10 + (*at - '0');
    *out = pid;
    return true;
}

/* The text of meta_vars, which holds no objects of its own but what a framework hung on it. */
static struct tc_str read_meta(struct tc_str line)
{
    const char *at = behind(line, "\"meta_vars\"");
    const char *end = at ? memchr(at, '}', (size_t)(line.text + line.size - at)) : NULL;

    return end ? (struct tc_str){at, (uint32_t)(end + 1 - at)} : (struct tc_str){NULL, 0};
}

static void add_number(struct tc_survey *survey, struct tc_survey_process *process,
                       const struct tc_member *member)
{
    tc_sym key;

    if (member->value.kind != TC_VALUE_INT || tc_str_is(member->key, "step") ||
        tc_str_is(member->key, "eval_step"))
        return;
    key = tc_strtab_intern(survey->keys, member->key.text, member->key.size);
    for (size_t i = 0; i < process->numbers.n; i++)
        if (process->numbers.items[i].key == key)
            return;
    tc_vec_push(&process->numbers, ((struct tc_survey_number){key, member->value.integer}));
}

static void look_at_meta(struct tc_survey *survey, struct tc_survey_process *process,
                         struct tc_str meta)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_value object;

    if (tc_scan(meta.text, meta.size, &arena, &object, NULL) == TC_OK &&
        object.kind == TC_VALUE_OBJECT) {
        const struct tc_value *stage = tc_value_get(&object, "stage");
        process->has_stages |= stage && stage->kind == TC_VALUE_STR;
        for (uint32_t i = 0; i < object.n; i++)
            add_number(survey, process, &object.members[i]);
    }
    tc_arena_release(&arena);
}

static void add_to_process(struct tc_survey_process *process, size_t file)
{
    if (!process->files.n || process->files.items[process->files.n - 1] != file)
        tc_vec_push(&process->files, file);
}

static bool is_record(struct tc_str line)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_python_line record;
    struct tc_value object;
    const char *why;
    bool is_one = tc_scan(line.text, line.size, &arena, &object, NULL) == TC_OK &&
                  tc_python_line_parse(&object, &record, &why);

    tc_arena_release(&arena);
    return is_one;
}

/* What a line says that the line before it did not. */
struct look {
    struct tc_survey *survey;
    size_t file;
    struct tc_strbuf meta; /* of the line before */
    int64_t pid;
};

static void look_at_line(struct look *look, struct tc_str line)
{
    struct tc_str meta = read_meta(line);
    int64_t pid;

    if (!read_pid(line, &pid))
        return;
    struct tc_survey_process *process = process_at(look->survey, pid);
    add_to_process(process, look->file);
    if (!process->has_samples && behind(line, "\"state_change\"") && !behind(line, "\"mode\""))
        process->has_samples = true;
    if (!meta.text || (pid == look->pid && meta.size == look->meta.size &&
                       !memcmp(meta.text, look->meta.text, meta.size)))
        return;
    look_at_meta(look->survey, process, meta);
    look->pid = pid;
    tc_strbuf_reset(&look->meta);
    tc_strbuf_add(&look->meta, meta.text, meta.size);
}

enum tc_status tc_survey_file(struct tc_survey *survey, const char *path, size_t i, bool *is_one,
                              struct tc_error *err)
{
    struct look look = {.survey = survey, .file = i, .pid = -1};
    struct tc_notes *unread; /* what is wrong is noted when it is read */
    struct tc_lines *lines;
    struct tc_str line;
    unsigned n = 0;
    enum tc_status status;

    *is_one = false;
    if (tc_fs_is_dir(path))
        return TC_OK;
    unread = tc_notes_new();
    status = tc_lines_open(path, tc_fs_base(path), unread, &lines, err);
    while (status == TC_OK && (status = tc_lines_next(lines, &line, err)) == TC_OK) {
        if (survey->processes.n > MAX_PROCESSES) {
            status = tc_error_set(err, TC_E_IO, "%s: lines of more than %d processes", path,
                                  MAX_PROCESSES);
            break;
        }
        if (!*is_one && n++ < LINES_TO_RECOGNISE)
            *is_one = is_record(line);
        if (!*is_one && n >= LINES_TO_RECOGNISE)
            break;
        if (*is_one)
            look_at_line(&look, line);
    }
    if (status == TC_END) {
        line = tc_lines_tail(lines);
        *is_one = *is_one || (line.size && is_record(line));
        if (*is_one && line.size)
            look_at_line(&look, line);
    }
    tc_strbuf_release(&look.meta);
    tc_lines_close(lines);
    tc_notes_free(unread);
    return status == TC_END || status == TC_E_FORMAT ? TC_OK : status;
}

/* ---- ranks --------------------------------------------------------------------------------- */

static bool number_under(const struct tc_survey_process *process, tc_sym key, int64_t *out)
{
    for (size_t i = 0; i < process->numbers.n; i++) {
        if (process->numbers.items[i].key == key) {
            *out = process->numbers.items[i].value;
            return true;
        }
    }
    return false;
}

/* How many processes the number counts; 0 if it does not count them. */
static size_t counted_by(const struct tc_survey *survey, tc_sym key)
{
    size_t n = survey->processes.n, n_with = 0, n_counted = 0;
    bool *seen = tc_calloc(n + 1, sizeof(*seen));
    int64_t value;

    for (size_t i = 0; i < n; i++) {
        if (!number_under(&survey->processes.items[i], key, &value))
            continue;
        n_with++;
        if (value < 0 || (uint64_t)value >= n || seen[value])
            continue;
        seen[value] = true;
        n_counted++;
    }
    for (size_t i = 0; i < n_with; i++)
        n_counted = seen[i] ? n_counted : 0;
    tc_free(seen);
    return n_counted == n_with && n_with > 1 ? n_with : 0;
}

static bool is_called_rank(const char *key)
{
    for (; *key; key++)
        if (tolower((unsigned char)key[0]) == 'r' && tolower((unsigned char)key[1]) == 'a' &&
            tolower((unsigned char)key[2]) == 'n' && tolower((unsigned char)key[3]) == 'k')
            return true;
    return false;
}

void tc_survey_rank(struct tc_survey *survey)
{
    tc_sym best = TC_NO_SYM;
    size_t world = 0;
    bool is_rank = false;

    for (tc_sym key = 0; key < tc_strtab_count(survey->keys); key++) {
        bool is_better = !is_rank && is_called_rank(tc_strtab_text(survey->keys, key));
        size_t n = best == TC_NO_SYM || is_better ? counted_by(survey, key) : 0;
        if (!n)
            continue;
        best = key;
        world = n;
        is_rank = is_called_rank(tc_strtab_text(survey->keys, key));
    }
    for (size_t i = 0; i < survey->processes.n && best != TC_NO_SYM; i++) {
        struct tc_survey_process *process = &survey->processes.items[i];
        if (number_under(process, best, &process->rank))
            process->world = (int64_t)world;
        else
            process->rank = -1;
    }
}
