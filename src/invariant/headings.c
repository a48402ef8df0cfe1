/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headings.c - a group of facts: what they have in common, then a line of what is its own for each
 *
 * A heading has the members of the subject, the relation, and what most of its lines have of needs
 * and evidence. A line has its claim, and of these what differs. All other members stay in their
 * line, in their order, so that a file that is read and written anew is what it was.
 */
#include "invariant/headings.h"

#include <string.h>

/* What a line has from its heading where it does not say it. */
static const char *const shared[] = {"needs", "evidence"};

/* The other members of a heading are the subject; of a line they are its own. */
static const char *const of_heading[] = {"relation", "needs", "evidence"};
static const char *const of_claim[] = {"attribute", "operand", "is"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_in(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

static bool has_one_of(const struct tc_json *object, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tc_json_get(object, keys[i]))
            return true;
    return false;
}

static void copy_member(struct tc_json *to, const struct tc_json *from, const char *key)
{
    const struct tc_json *member = tc_json_get(from, key);

    if (member)
        tc_json_set(to, key, tc_json_copy(member));
}

/* ---- reading --------------------------------------------------------------------------------- */

bool tc_is_heading(const struct tc_json *line)
{
    return tc_json_is_string(tc_json_get(line, "subject")) && !tc_json_get(line, "attribute") &&
           !tc_json_get(line, "params");
}

bool tc_is_below_heading(const struct tc_json *line)
{
    return tc_json_is_string(tc_json_get(line, "attribute")) && !tc_json_get(line, "params");
}

static struct tc_json *subject_of_heading(const struct tc_json *heading)
{
    struct tc_json *subject = tc_json_object();

    for (const struct tc_json *m = tc_json_first(heading); m; m = tc_json_next(m))
        if (!is_in(tc_json_key(m), of_heading, COUNT(of_heading)))
            tc_json_set(subject, tc_json_key(m), tc_json_copy(m));
    return subject;
}

static struct tc_json *params_of(const struct tc_json *heading, const struct tc_json *line)
{
    struct tc_json *params = tc_json_array(), *claim = tc_json_object();

    for (size_t i = 0; i < COUNT(of_claim); i++)
        copy_member(claim, line, of_claim[i]);
    tc_json_append(params, subject_of_heading(heading));
    tc_json_append(params, claim);
    return params;
}

/* An empty list of needs says that there are none, whatever the heading needs. */
static void join_shared(struct tc_json *object, const struct tc_json *heading,
                        const struct tc_json *line, const char *key)
{
    const struct tc_json *own = tc_json_get(line, key);

    if (!own || !tc_json_is_array(own) || tc_json_count(own))
        copy_member(object, own ? line : heading, key);
}

struct tc_json *tc_heading_join(const struct tc_json *heading, const struct tc_json *line)
{
    struct tc_json *object = tc_json_object();

    copy_member(object, line, "id");
    copy_member(object, heading, "relation");
    tc_json_set(object, "params", params_of(heading, line));
    tc_json_set(object, "when", tc_json_array());
    join_shared(object, heading, line, "needs");
    copy_member(object, line, "text");
    join_shared(object, heading, line, "evidence");
    for (const struct tc_json *m = tc_json_first(line); m; m = tc_json_next(m))
        if (!is_in(tc_json_key(m), of_claim, COUNT(of_claim)) &&
            !tc_json_get(object, tc_json_key(m)) && !is_in(tc_json_key(m), shared, COUNT(shared)))
            tc_json_set(object, tc_json_key(m), tc_json_copy(m));
    return object;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_equal(const struct tc_json *a, const struct tc_json *b)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!a || !b)
        return a == b;
    tc_json_print(a, &text);
    const size_t size = text.size;
    tc_json_print(b, &text);
    const bool is = text.size == 2 * size && !memcmp(text.text, text.text + size, size);
    tc_strbuf_release(&text);
    return is;
}

static const struct tc_json *subject_of(const struct tc_json *invariant)
{
    return tc_json_first(tc_json_get(invariant, "params"));
}

static bool has_only(const struct tc_json *object, const char *const *keys, size_t n)
{
    for (const struct tc_json *m = tc_json_first(object); m; m = tc_json_next(m))
        if (!is_in(tc_json_key(m), keys, n))
            return false;
    return true;
}

/* A fact that can be told apart from its subject, and rests on evidence. */
static bool may_have_heading(const struct tc_json *invariant)
{
    const struct tc_json *subject = subject_of(invariant), *claim = NULL;

    if (subject)
        claim = tc_json_next(subject);
    return tc_json_is_string(tc_json_get(invariant, "relation")) &&
           tc_json_is_string(tc_json_get(subject, "subject")) &&
           tc_json_is_string(tc_json_get(claim, "attribute")) && !tc_json_next(claim) &&
           has_only(claim, of_claim, COUNT(of_claim)) &&
           !has_one_of(subject, of_heading, COUNT(of_heading)) &&
           !has_one_of(invariant, of_claim, COUNT(of_claim)) &&
           tc_json_get(invariant, "evidence") && tc_json_is_array(tc_json_get(invariant, "when")) &&
           !tc_json_count(tc_json_get(invariant, "when"));
}

static bool have_one_heading(const struct tc_json *a, const struct tc_json *b)
{
    return is_equal(tc_json_get(a, "relation"), tc_json_get(b, "relation")) &&
           is_equal(subject_of(a), subject_of(b));
}

/* The first of those that have what most of the group have. */
static const struct tc_json *usual(const struct tc_heading_writer *writer, const char *key)
{
    const struct tc_json *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < writer->group.n && 2 * most <= writer->group.n; i++) {
        const struct tc_json *member = tc_json_get(writer->group.items[i], key);
        size_t n = 0;
        for (size_t j = i; j < writer->group.n; j++)
            n += is_equal(member, tc_json_get(writer->group.items[j], key));
        best = n > most ? member : best;
        most = n > most ? n : most;
    }
    return best;
}

static struct tc_json *heading_of(const struct tc_heading_writer *writer)
{
    const struct tc_json *first = writer->group.items[0], *subject = subject_of(first);
    struct tc_json *heading = tc_json_object();

    copy_member(heading, first, "relation");
    for (const struct tc_json *m = tc_json_first(subject); m; m = tc_json_next(m))
        copy_member(heading, subject, tc_json_key(m));
    for (size_t i = 0; i < COUNT(shared); i++) {
        const struct tc_json *member = usual(writer, shared[i]);
        if (member)
            tc_json_set(heading, shared[i], tc_json_copy(member));
    }
    return heading;
}

/* Nothing where the heading says it. */
static void tell_shared(struct tc_json *line, const struct tc_json *heading,
                        const struct tc_json *invariant, const char *key)
{
    const struct tc_json *own = tc_json_get(invariant, key), *known = tc_json_get(heading, key);

    if (!own && known)
        tc_json_set(line, key, tc_json_array());
    else if (!is_equal(own, known))
        copy_member(line, invariant, key);
}

static struct tc_json *line_below(const struct tc_json *heading, const struct tc_json *invariant)
{
    static const char *const told[] = {"relation", "params", "when", "needs", "evidence"};
    struct tc_json *line = tc_json_object();

    copy_member(line, invariant, "id");
    for (size_t i = 0; i < COUNT(of_claim); i++)
        copy_member(line, tc_json_next(subject_of(invariant)), of_claim[i]);
    tell_shared(line, heading, invariant, "needs");
    copy_member(line, invariant, "text");
    tell_shared(line, heading, invariant, "evidence");
    for (const struct tc_json *m = tc_json_first(invariant); m; m = tc_json_next(m))
        if (!is_in(tc_json_key(m), told, COUNT(told)) && !tc_json_get(line, tc_json_key(m)))
            tc_json_set(line, tc_json_key(m), tc_json_copy(m));
    return line;
}

static void write_below_heading(struct tc_heading_writer *writer)
{
    struct tc_json *heading = heading_of(writer);

    tc_json_print(heading, writer->out);
    tc_strbuf_addc(writer->out, '\n');
    for (size_t i = 0; i < writer->group.n; i++) {
        tc_json_print_line(line_below(heading, writer->group.items[i]), writer->out);
        tc_json_free(writer->group.items[i]);
    }
    tc_json_free(heading);
}

/* One alone is a whole line: when it changes, one line does. */
static void write_group(struct tc_heading_writer *writer)
{
    if (writer->group.n > 1)
        write_below_heading(writer);
    else if (writer->group.n == 1)
        tc_json_print_line(writer->group.items[0], writer->out);
    writer->group.n = 0;
}

void tc_heading_writer_add(struct tc_heading_writer *writer, struct tc_json *take)
{
    const bool may = may_have_heading(take);

    if (writer->group.n && !(may && have_one_heading(writer->group.items[0], take)))
        write_group(writer);
    if (may)
        tc_vec_push(&writer->group, take);
    else
        tc_json_print_line(take, writer->out);
}

void tc_heading_writer_end(struct tc_heading_writer *writer)
{
    write_group(writer);
    tc_vec_release(&writer->group);
}
