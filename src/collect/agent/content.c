/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/content.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"
#include "collect/agent/encode.h"
#include "collect/agent/identity.h"
#include "collect/agent/look.h"
#include "collect/agent/summary.h"

/* Elements of integers, booleans and constants that are looked through. */
#define MAX_SUMMARIZED ((size_t)65536)
/* Bytes that are digested in full; what is larger is digested in stripes. */
#define MAX_WHOLE ((size_t)256 << 10)
/* Bytes of the operands of an API whose contents are always digested. */
#define MAX_ARGUMENT ((size_t)64 << 10)
#define MIN_ROWS     2
#define MAX_ROWS     256
/* Rows that have more bytes together are digested in pieces, from the first byte to the last. */
#define MAX_ROWS_WHOLE ((size_t)256 << 10)
#define N_PIECES       4
#define PIECE          ((size_t)256)

/* Serials of the last batches, so that they are known where they are handed on. */
static struct {
    int64_t serials[64];
    size_t next;
} batches;

static bool is_known_batch(int64_t serial)
{
    for (size_t i = 0; serial && i < sizeof(batches.serials) / sizeof(batches.serials[0]); i++)
        if (batches.serials[i] == serial)
            return true;
    return false;
}

static void remember_batch(int64_t serial)
{
    batches.serials[batches.next++ % (sizeof(batches.serials) / sizeof(batches.serials[0]))] =
        serial;
}

/* ---- the members ---- */

static void add_digest(struct tc_strbuf *out, const struct tc_memory *m, const struct tc_tensor *as)
{
    const uint64_t seed = tc_digest_seed(as->dtype->name, NULL, 0);
    const bool is_sampled = m->size > MAX_WHOLE && tc_agent.content != TC_CONTENT_FULL;

    tc_strbuf_adds(out, ",\"digest\":");
    tc_encode_digest(out,
                     is_sampled ? tc_digest_stripes(m->data, m->size, seed)
                                : tc_digest(m->data, m->size, seed),
                     is_sampled);
}

static uint64_t digest_row(const char *row, size_t size, bool is_whole)
{
    uint64_t digest = 0;

    if (is_whole || size <= N_PIECES * PIECE)
        return tc_digest(row, size, 0);
    for (size_t i = 0; i < N_PIECES; i++)
        digest = tc_digest(row + (size - PIECE) * i / (N_PIECES - 1), PIECE, digest);
    return digest;
}

static void add_rows(struct tc_strbuf *out, const struct tc_memory *m, const struct tc_tensor *as)
{
    static const char hex[] = "0123456789abcdef";
    const size_t n = as->n_dims > 1 ? (size_t)as->shape[0] : 0;

    if (n < MIN_ROWS || n > MAX_ROWS)
        return;
    tc_strbuf_adds(out, ",\"rows\":\"");
    for (size_t i = 0; i < n; i++) {
        uint64_t digest = digest_row((const char *)m->data + i * (m->size / n), m->size / n,
                                     m->size <= MAX_ROWS_WHOLE);
        for (int shift = 28; shift >= 0; shift -= 4)
            tc_strbuf_addc(out, hex[digest >> shift & 15]);
    }
    tc_strbuf_addc(out, '"');
}

static void add_summary(struct tc_strbuf *out, const struct tc_memory *m,
                        const struct tc_tensor *as)
{
    size_t n_columns = as->n_dims > 1 ? (size_t)as->shape[as->n_dims - 1] : 0;
    struct tc_summary summary;

    tc_summarize(m->data, as->n, n_columns, as->dtype->integer, &summary);
    tc_strbuf_adds(out, ",\"summary\":");
    tc_summary_add(out, &summary, as->dtype->integer);
}

/* Rounded to three digits: what is told of it are its sign and its order of magnitude. */
static void add_bound(struct tc_strbuf *out, double x)
{
    const double unit = x == 0 ? 1 : pow(10, floor(log10(fabs(x))) - 2);

    tc_encode_float(out, unit >= 1 ? round(x / unit) * unit : round(x / unit) / round(1 / unit));
}

static void add_range(struct tc_strbuf *out, const struct tc_memory *m, const struct tc_tensor *as)
{
    struct tc_range range;

    tc_range(m->data, as->n, as->dtype->number, &range);
    if (!range.n)
        return;
    tc_strbuf_adds(out, ",\"range\":[");
    add_bound(out, range.min);
    tc_strbuf_addc(out, ',');
    add_bound(out, range.max);
    tc_strbuf_addf(out, ",%zu,%zu]", range.n_negative, range.n_positive);
}

/* A range takes a pass over all elements, a third of a step of a small GPT: only in full. Of a
 * parameter none: what its elements lie between is no matter of one call. */
static void add_float(struct tc_strbuf *out, PyObject *tensor, const struct tc_memory *m,
                      const struct tc_tensor *as)
{
    if (as->n > 1 && !tc_is_constant(m->data, as->n, as->dtype->item_size)) {
        if (tc_agent.content == TC_CONTENT_FULL && !tc_tensor_is_parameter(tensor))
            add_range(out, m, as);
        return;
    }
    tc_strbuf_adds(out, as->n == 1 ? ",\"value\":" : ",\"constant\":");
    tc_encode_float(out, tc_float_at(m->data, as->dtype->number));
}

static void add_scale(struct tc_strbuf *out, const struct tc_memory *m, const struct tc_tensor *as)
{
    struct tc_scale scale;

    tc_scale(m->data, as->n, as->dtype->item_size, as->dtype->number, &scale);
    if (!scale.n)
        return;
    tc_strbuf_adds(out, ",\"scale\":{\"rms\":");
    tc_encode_float(out, scale.rms);
    tc_strbuf_adds(out, ",\"min\":");
    tc_encode_float(out, scale.min);
    tc_strbuf_adds(out, ",\"max\":");
    tc_encode_float(out, scale.max);
    tc_strbuf_addc(out, '}');
}

/* ---- which of them ---- */

enum member {
    DIGEST = 1,
    ROWS = 2,
    SUMMARY = 4,
    FLOAT = 8,
    SCALE = 16,
};

/* A batch takes no gradient: what does was computed, as the input of a discriminator. */
static unsigned members_of_batch(const struct tc_tensor *as, int64_t serial, bool is_batch)
{
    if (is_known_batch(serial))
        return DIGEST;
    if (!is_batch || as->requires_grad)
        return 0;
    if (serial)
        remember_batch(serial);
    return DIGEST | ROWS | (as->dtype->number != TC_NUMBER_OTHER && as->n > 1 ? SCALE : 0);
}

static unsigned members_of(const struct tc_tensor *as, int64_t serial, const struct tc_asked *asked)
{
    unsigned members = 0;

    if (asked->digests && as->n * as->dtype->item_size <= MAX_ARGUMENT)
        members |= DIGEST;
    if (!asked->content || as->n == 0)
        return members;
    members |= members_of_batch(as, serial, asked->is_batch);
    if (tc_agent.content == TC_CONTENT_FULL)
        members |= DIGEST;
    if (as->n <= MAX_SUMMARIZED && as->dtype->integer)
        members |= DIGEST | SUMMARY;
    /* Most floats lie apart where heads of attention do: to bring them together costs more. */
    if (as->n <= MAX_SUMMARIZED && as->dtype->number != TC_NUMBER_OTHER && as->is_contiguous)
        members |= FLOAT;
    return members;
}

void tc_content_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as,
                    int64_t serial, const struct tc_asked *asked)
{
    unsigned members = members_of(as, serial, asked);
    struct tc_memory memory;

    if (!members)
        return;
    tc_look_memory(tensor, as, tc_agent.content == TC_CONTENT_FULL ? TC_REACH_COPY : TC_REACH_APART,
                   &memory);
    if (memory.is_packed) /* what a wrapper holds is not what it shows */
        tc_memory_release(&memory);
    if (memory.data && (members & DIGEST))
        add_digest(out, &memory, as);
    if (memory.data && (members & ROWS))
        add_rows(out, &memory, as);
    if (memory.data && (members & SUMMARY))
        add_summary(out, &memory, as);
    if (memory.data && (members & SCALE))
        add_scale(out, &memory, as);
    if (memory.data && (members & FLOAT))
        add_float(out, tensor, &memory, as);
    tc_memory_release(&memory);
}
