/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.c - dumps of the flight recorder: the last collective call of each rank in each group
 *
 * A group has its calls numbered alike on all of its ranks. Where the numbers of a group differ,
 * ranks with the highest wait for the others. Where that is so of several groups the call that was
 * begun first counts: what others wait for may follow from it.
 */
#include "online/flight.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/number.h"
#include "base/pickle.h"
#include "base/safe.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "online/rank_list.h"

/* The last call of a rank in a group. */
struct last {
    int64_t rank;
    double number, begun_ns;
    tc_sym call, at; /* at: TC_NO_SYM where the dump has no frames */
    bool has_ended;
};

struct group {
    tc_sym name;
    TC_VEC(struct last) lasts; /* in the order of ranks */
};

struct recorder {
    struct tc_strtab *names;
    TC_VEC(struct group) groups; /* numbered as keys */
    struct tc_strtab *keys;
    TC_VEC(int64_t) ranks; /* with a dump */
};

/* ---- dumps ---------------------------------------------------------------------------------- */

static tc_sym intern(struct recorder *r, const char *text)
{
    return tc_strtab_intern(r->names, text, strlen(text));
}

/* "nccl:all_reduce" is all_reduce(). */
static tc_sym call_of(struct recorder *r, const struct tc_json *entry)
{
    const char *name = tc_json_text(tc_json_get(entry, "profiling_name"));
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!name)
        name = "?";
    tc_strbuf_addf(&text, "%s()", strchr(name, ':') ? strchr(name, ':') + 1 : name);
    const tc_sym call = intern(r, text.text);
    tc_strbuf_release(&text);
    return call;
}

/* Of the innermost frame that is in no installed package: "train.py:30". */
static tc_sym line_of(struct recorder *r, const struct tc_json *entry)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym at = TC_NO_SYM;
    const struct tc_json *f = tc_json_first(tc_json_get(entry, "frames"));

    for (; f && at == TC_NO_SYM; f = tc_json_next(f)) {
        const char *file = tc_json_text(tc_json_get(f, "filename"));
        if (!file || strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
            continue;
        tc_strbuf_addf(&text, "%s:%.0f", tc_fs_base(file),
                       tc_json_to_number(tc_json_get(f, "line"), 0));
        at = intern(r, text.text);
    }
    tc_strbuf_release(&text);
    return at;
}

/* process_group is its name, which all ranks have, and what the script calls it. */
static struct group *group_of(struct recorder *r, const struct tc_json *entry)
{
    const struct tc_json *pair = tc_json_first(tc_json_get(entry, "process_group"));
    const char *key = tc_json_text(pair);
    const char *name = pair ? tc_json_text(tc_json_next(pair)) : NULL;

    if (!key)
        return NULL;
    const tc_sym i = tc_strtab_intern(r->keys, key, strlen(key));
    if (i == r->groups.n) {
        const bool is_named = name && name[0] && strcmp(name, "undefined") != 0;
        tc_vec_push(&r->groups, ((struct group){.name = intern(r, is_named ? name : key)}));
    }
    return &r->groups.items[i];
}

/* Entries stand in the order in which they were begun. */
static void add_entry(struct recorder *r, int64_t rank, const struct tc_json *entry)
{
    const char *state = tc_json_text(tc_json_get(entry, "state"));
    const bool is_collective = !tc_json_to_bool(tc_json_get(entry, "is_p2p"), false);
    struct group *group = is_collective ? group_of(r, entry) : NULL;

    if (!group)
        return;
    if (!group->lasts.n || group->lasts.items[group->lasts.n - 1].rank != rank)
        tc_vec_push(&group->lasts, (struct last){0});
    group->lasts.items[group->lasts.n - 1] = (struct last){
        .rank = rank,
        .number = tc_json_to_number(tc_json_get(entry, "collective_seq_id"), 0),
        .begun_ns = tc_json_to_number(tc_json_get(entry, "time_created_ns"), 0),
        .call = call_of(r, entry),
        .at = line_of(r, entry),
        .has_ended = state && !strcmp(state, "completed"),
    };
}

static enum tc_status parse(const struct tc_strbuf *bytes, struct tc_json **out,
                            struct tc_error *err)
{
    enum tc_status status = bytes->size && bytes->text[0] == '{'
                                ? tc_json_parse(bytes->text, bytes->size, out, err)
                                : tc_pickle_parse(bytes->text, bytes->size, out, err);

    if (!status && !tc_json_is_array(tc_json_get(*out, "entries")))
        status = tc_error_set(err, TC_E_FORMAT, "there are no entries");
    return status;
}

static void read_dump(struct recorder *r, int64_t rank, const char *path, struct tc_notes *notes)
{
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_json *dump = NULL;
    struct tc_error why;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_LARGE, &bytes, &why);

    if (!status)
        status = parse(&bytes, &dump, &why);
    if (status) {
        tc_notes_add(notes, "no-flight-dump", tc_fs_base(path), 0,
                     "not read as a dump of the flight recorder: %s", why.text);
    } else {
        tc_vec_push(&r->ranks, rank);
        const struct tc_json *e = tc_json_first(tc_json_get(dump, "entries"));
        for (; e; e = tc_json_next(e))
            add_entry(r, rank, e);
    }
    tc_json_free(dump);
    tc_strbuf_release(&bytes);
}

/* The digits at its end; -1: it is a trace, or has none. */
static int64_t rank_of_name(const char *name)
{
    size_t n = strlen(name), end = n;

    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    if (!n || end - n > 9 || end == n || name[n - 1] == '.' || !strncmp(name, "trace_", 6))
        return -1;
    return (int64_t)tc_number_parse(name + n, end - n);
}

struct file {
    int64_t rank;
    const char *name;
};

static int compare_files(const void *a, const void *b)
{
    const struct file *x = a, *y = b;

    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->name, y->name);
}

/* In the order of ranks; of several files of a rank the first. */
static void read_folder(struct recorder *r, const char *folder, struct tc_notes *notes)
{
    TC_VEC(struct file) files = {0};
    char **names;
    size_t n;

    if (tc_fs_list(folder, &names, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++)
        if (rank_of_name(names[i]) >= 0)
            tc_vec_push(&files, ((struct file){rank_of_name(names[i]), names[i]}));
    if (files.n)
        qsort(files.items, files.n, sizeof(*files.items), compare_files);
    for (size_t i = 0; i < files.n; i++) {
        if (r->ranks.n && r->ranks.items[r->ranks.n - 1] == files.items[i].rank)
            continue;
        char *path = tc_fs_join(folder, files.items[i].name);
        read_dump(r, files.items[i].rank, path, notes);
        tc_free(path);
    }
    tc_vec_release(&files);
    tc_fs_list_free(names, n);
}

static int compare_lasts(const void *a, const void *b)
{
    const struct last *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool has_rank(const struct group *group, int64_t rank)
{
    for (size_t i = 0; i < group->lasts.n; i++)
        if (group->lasts.items[i].rank == rank)
            return true;
    return false;
}

/* All ranks are in the group of all, also those that have begun nothing in it. */
static void add_silent_ranks(struct recorder *r)
{
    for (size_t g = 0; g < r->groups.n; g++) {
        struct group *group = &r->groups.items[g];
        if (strcmp(tc_strtab_text(r->names, group->name), "default_pg") != 0)
            continue;
        for (size_t i = 0; i < r->ranks.n; i++)
            if (!has_rank(group, r->ranks.items[i]))
                tc_vec_push(
                    &group->lasts,
                    ((struct last){.rank = r->ranks.items[i], .call = TC_NO_SYM, .at = TC_NO_SYM}));
        qsort(group->lasts.items, group->lasts.n, sizeof(*group->lasts.items), compare_lasts);
    }
}

/* ---- who waits ------------------------------------------------------------------------------ */

/* A call that some ranks of a group have begun, and others have not. */
struct stall {
    const struct group *group;
    const struct last *leads; /* the first rank that has begun it */
};

/* Of the group the call with the highest number, if ranks lack it. */
static struct stall stall_of(const struct group *group)
{
    struct stall stall = {group, NULL};
    bool is_lacking = false;

    for (size_t i = 0; i < group->lasts.n; i++) {
        const struct last *last = &group->lasts.items[i];
        is_lacking |= last->number != group->lasts.items[0].number;
        if (!stall.leads || last->number > stall.leads->number)
            stall.leads = last;
    }
    if (!is_lacking || stall.leads->has_ended)
        stall.leads = NULL;
    return stall;
}

static struct stall find_stall(const struct recorder *r)
{
    struct stall found = {0};

    for (size_t i = 0; i < r->groups.n; i++) {
        const struct stall stall = stall_of(&r->groups.items[i]);
        if (stall.leads && (!found.leads || stall.leads->begun_ns < found.leads->begun_ns))
            found = stall;
    }
    return found;
}

static void set_call(const struct recorder *r, const struct last *last, struct tc_json *object)
{
    tc_json_set_number(object, "number", last->number);
    if (last->call != TC_NO_SYM)
        tc_json_set_string(object, "call", tc_strtab_text(r->names, last->call));
    if (last->at != TC_NO_SYM)
        tc_json_set_string(object, "at", tc_strtab_text(r->names, last->at));
}

static struct tc_json *to_json(const struct recorder *r, const struct stall *stall)
{
    struct tc_json *object = tc_json_object(), *ranks = tc_json_array(), *missing = tc_json_array();

    tc_json_set_string(object, "group", tc_strtab_text(r->names, stall->group->name));
    set_call(r, stall->leads, object);
    for (size_t i = 0; i < stall->group->lasts.n; i++) {
        const struct last *last = &stall->group->lasts.items[i];
        if (last->number == stall->leads->number) {
            tc_json_append(ranks, tc_json_number((double)last->rank));
            continue;
        }
        struct tc_json *one = tc_json_object();
        tc_json_set_number(one, "rank", (double)last->rank);
        set_call(r, last, one);
        tc_json_append(missing, one);
    }
    tc_json_set(object, "ranks", ranks);
    tc_json_set(object, "missing", missing);
    return object;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* "rank 1 has not begun all_reduce() number 6 of default_pg, for which ranks 0 and 2 wait" */
static void add_sentence(const struct tc_json *flight, struct tc_strbuf *out)
{
    TC_VEC(int64_t) begun = {0}, missing = {0};
    const struct tc_json *r;

    for (r = tc_json_first(tc_json_get(flight, "ranks")); r; r = tc_json_next(r))
        tc_vec_push(&begun, (int64_t)tc_json_to_number(r, 0));
    for (r = tc_json_first(tc_json_get(flight, "missing")); r; r = tc_json_next(r))
        tc_vec_push(&missing, (int64_t)tc_json_to_number(tc_json_get(r, "rank"), 0));
    tc_rank_list_add(missing.items, missing.n, out);
    tc_strbuf_addf(out, " %s not begun %s number %.0f of %s, for which ",
                   missing.n == 1 ? "has" : "have", tc_json_text(tc_json_get(flight, "call")),
                   tc_json_to_number(tc_json_get(flight, "number"), 0),
                   tc_json_text(tc_json_get(flight, "group")));
    tc_rank_list_add(begun.items, begun.n, out);
    tc_strbuf_adds(out, begun.n == 1 ? " waits" : " wait");
    tc_vec_release(&begun);
    tc_vec_release(&missing);
}

void tc_flight_text(const struct tc_json *finding, struct tc_strbuf *out)
{
    const struct tc_json *flight = tc_json_get(finding, "flight");
    struct tc_strbuf sentence = TC_STRBUF_INIT;

    if (!flight)
        return;
    add_sentence(flight, &sentence);
    tc_strbuf_adds(out, "      flight recorder: ");
    tc_safe_adds(out, TC_SAFE_LINE, sentence.text);
    if (tc_json_get(flight, "at")) {
        tc_strbuf_adds(out, " at ");
        tc_safe_adds(out, TC_SAFE_LINE, tc_json_text(tc_json_get(flight, "at")));
    }
    tc_strbuf_addc(out, '\n');
    tc_strbuf_release(&sentence);
}

/* Does the trace tell whom ranks wait for? Some do then, and others do not. */
static bool is_wait_told(const struct tc_json *finding)
{
    const struct tc_json *ranks = tc_json_get(finding, "ranks");
    size_t n_waiting = 0;

    for (const struct tc_json *r = tc_json_first(ranks); r; r = tc_json_next(r))
        n_waiting += tc_json_to_bool(tc_json_get(r, "waits"), false);
    return n_waiting && n_waiting < tc_json_count(ranks);
}

/* The rank to look at first, and its line, are then of the first that is missing. */
static void take_sentence(struct tc_json *finding, const struct tc_json *flight)
{
    const struct tc_json *missing = tc_json_first(tc_json_get(flight, "missing"));
    const double rank = tc_json_to_number(tc_json_get(missing, "rank"), 0);
    struct tc_strbuf sentence = TC_STRBUF_INIT;

    add_sentence(flight, &sentence);
    tc_json_set_string(finding, "sentence", sentence.text);
    tc_strbuf_release(&sentence);
    tc_json_set_number(finding, "rank", rank);
    const struct tc_json *r = tc_json_first(tc_json_get(finding, "ranks"));
    for (; r; r = tc_json_next(r))
        if (tc_json_to_number(tc_json_get(r, "rank"), -1) == rank && tc_json_get(r, "at"))
            tc_json_set_string(finding, "at", tc_json_text(tc_json_get(r, "at")));
}

void tc_flight_add(struct tc_json *finding, const char *folder, struct tc_notes *notes)
{
    struct recorder r = {.names = tc_strtab_new(), .keys = tc_strtab_new()};

    read_folder(&r, folder, notes);
    add_silent_ranks(&r);
    const struct stall stall = find_stall(&r);
    if (stall.leads) {
        struct tc_json *flight = to_json(&r, &stall);
        if (!is_wait_told(finding))
            take_sentence(finding, flight);
        tc_json_set(finding, "flight", flight);
    }
    for (size_t i = 0; i < r.groups.n; i++)
        tc_vec_release(&r.groups.items[i].lasts);
    tc_vec_release(&r.groups);
    tc_vec_release(&r.ranks);
    tc_strtab_free(r.names);
    tc_strtab_free(r.keys);
}
