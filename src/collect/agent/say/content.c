/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.c - which members of a content are told, and each of them written
 *
 * First the members are chosen by what the tensor is for; then they are written from a source: its
 * bytes, or the parts that a device sends in their place. Both ways go through the same writers,
 * so that a trace does not tell where a tensor lay. A tensor of few bytes is sent whole, as a
 * device takes longer to answer anything about it.
 */
#include "collect/agent/say/content.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "collect/agent/look/digest.h"
#include "collect/agent/look/look.h"
#include "collect/agent/look/packed.h"
#include "collect/agent/look/sketch.h"
#include "collect/agent/look/summary.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/scalar.h"

/* Elements of integers, booleans and constants that are looked through. */
#define MAX_SUMMARIZED ((size_t)65536)
/* So few elements of floats that take no gradient are shown. */
#define MAX_SHOWN 8
/* Bytes that are digested in full; what is larger is digested in stripes. */
#define MAX_WHOLE ((size_t)256 << 10)
/* Bytes of the operands of an API whose contents are always digested. */
#define MAX_ARGUMENT ((size_t)64 << 10)
#define MIN_ROWS     2
#define MAX_ROWS     256

/* Serials of the last batches, so that they are known where they are handed on. */
#define N_BATCHES 64
static struct {
    int64_t serials[N_BATCHES];
    size_t next;
    struct tc_map known;
} batches;

static bool is_known_batch(int64_t serial)
{
    uint64_t unused;

    return serial && tc_map_get(&batches.known, (uint64_t)serial, &unused);
}

/* None twice: a batch is remembered where it is not known. */
static void remember_batch(int64_t serial)
{
    int64_t *place = &batches.serials[batches.next++ % N_BATCHES];

    tc_map_remove(&batches.known, (uint64_t)*place);
    *place = serial;
    tc_map_put(&batches.known, (uint64_t)serial, 1);
}

/* ---- the members ---- */

enum member {
    DIGEST = 1,
    ROWS = 2,
    SUMMARY = 4,
    FLOAT = 8,
    SCALE = 16,
    RANGE = 32, /* with FLOAT */
    ELEMENTS = 64,
    SKETCH = 128,
};

/* What is there of a content: all its bytes, or the parts that a device sent in their place. */
struct source {
    const unsigned char *whole;
    const unsigned char *sum;     /* of all bytes (lanes.h) */
    const unsigned char *stripes; /* the digest of those of digest.h */
    const unsigned char *rows;    /* of each the lower half of its digest */
    const unsigned char *sample;  /* the elements of which a scale is taken, or that */
    const unsigned char *first;   /* whether an element is unlike the first, and that one */
    const unsigned char *summary;
    const unsigned char *range;
    bool is_packed; /* summary or sample are those of the kernel (packed.h) */
};

static size_t size_of(const struct tc_tensor *as)
{
    return as->n * as->dtype->item_size;
}

static bool is_sampled(const struct tc_tensor *as)
{
    return size_of(as) > MAX_WHOLE && tc_agent.content != TC_CONTENT_FULL;
}

static uint64_t digest_of(const struct source *from, const struct tc_tensor *as)
{
    const uint64_t seed = tc_digest_seed(as->dtype->name, NULL, 0);
    uint64_t sent;

    if (from->whole)
        return is_sampled(as) ? tc_digest_stripes(from->whole, size_of(as), seed)
                              : tc_digest(from->whole, size_of(as), seed);
    memcpy(&sent, from->stripes ? from->stripes : from->sum, sizeof(sent));
    return from->stripes ? sent : tc_digest_of_sum(sent, size_of(as), seed);
}

static void add_digest(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as)
{
    if (!from->whole && !from->stripes && !from->sum)
        return;
    tc_strbuf_adds(out, ",\"digest\":");
    tc_encode_digest(out, digest_of(from, as), is_sampled(as));
}

/* Of what is in this process's memory: a device is not asked. */
static void add_sketch(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as)
{
    struct tc_sketch sketch;

    if (from->whole && tc_sketch_take(from->whole, as->n, 0, as->dtype->number, &sketch))
        tc_sketch_add(out, &sketch);
}

static uint64_t digest_row(const unsigned char *row, size_t size, bool has_pieces)
{
    uint64_t digest = 0;

    if (!has_pieces)
        return tc_digest(row, size, 0);
    for (size_t i = 0; i < TC_N_PIECES; i++)
        digest = tc_digest(row + tc_piece_at(size, i), TC_PIECE_SIZE, digest);
    return digest;
}

/* The lower half. */
static uint32_t row_of(const struct source *from, const struct tc_tensor *as, size_t size, size_t i)
{
    uint32_t sent;

    if (from->whole)
        return (uint32_t)digest_row(from->whole + i * size, size,
                                    tc_rows_have_pieces(size, size_of(as)));
    memcpy(&sent, from->rows + i * sizeof(sent), sizeof(sent));
    return sent;
}

static size_t n_rows(const struct tc_tensor *as)
{
    const size_t n = as->n_dims > 1 ? (size_t)as->shape[0] : 0;

    return n < MIN_ROWS || n > MAX_ROWS ? 0 : n;
}

static void add_rows(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as)
{
    static const char hex[] = "0123456789abcdef";
    const size_t n = n_rows(as), size = n ? size_of(as) / n : 0;

    if (!n || (!from->whole && !from->rows))
        return;
    tc_strbuf_adds(out, ",\"rows\":\"");
    for (size_t i = 0; i < n; i++) {
        const uint32_t digest = row_of(from, as, size, i);

        for (int shift = 28; shift >= 0; shift -= 4)
            tc_strbuf_addc(out, hex[digest >> shift & 15]);
    }
    tc_strbuf_addc(out, '"');
}

/* As torch sends it. */
static void take_summed(const unsigned char *sent, size_t n_columns, struct tc_summary *out)
{
    int64_t of[TC_SUMMED_LAST + 1] = {0};

    memcpy(of, sent, (n_columns ? TC_SUMMED_LAST + 1 : TC_SUMMED_DISTINCT + 1) * sizeof(of[0]));
    *out = (struct tc_summary){.min = of[TC_SUMMED_MIN],
                               .max = of[TC_SUMMED_MAX],
                               .n_negative = (size_t)of[TC_SUMMED_NEGATIVE],
                               .n_zero = (size_t)of[TC_SUMMED_ZERO],
                               .n_one = (size_t)of[TC_SUMMED_ONE],
                               .n_distinct = of[TC_SUMMED_DISTINCT],
                               .has_first = of[TC_SUMMED_HAS_FIRST],
                               .has_last = of[TC_SUMMED_HAS_LAST],
                               .first = of[TC_SUMMED_FIRST],
                               .last = of[TC_SUMMED_LAST]};
}

static void add_summary(struct tc_strbuf *out, const struct source *from,
                        const struct tc_tensor *as)
{
    size_t n_columns = as->n_dims > 1 ? (size_t)as->shape[as->n_dims - 1] : 0;
    struct tc_summary summary;

    if (from->whole)
        tc_summarize(from->whole, as->n, n_columns, as->dtype->integer, &summary);
    else if (from->summary && from->is_packed)
        tc_packed_summary(from->summary, as->n, n_columns, as->dtype->integer, &summary);
    else if (from->summary)
        take_summed(from->summary, n_columns, &summary);
    else
        return;
    tc_strbuf_adds(out, ",\"summary\":");
    tc_summary_add(out, &summary, as->dtype->integer);
}

/* Rounded to three digits: what is told of it are its sign and its order of magnitude. */
static void add_bound(struct tc_strbuf *out, double x)
{
    const double unit = x == 0 ? 1 : pow(10, floor(log10(fabs(x))) - 2);

    tc_encode_float(out, unit >= 1 ? round(x / unit) * unit : round(x / unit) / round(1 / unit));
}

static void add_range(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as)
{
    struct tc_range range = {0};

    if (from->whole)
        tc_range(from->whole, as->n, as->dtype->number, &range);
    else if (from->range)
        tc_packed_range(from->range, as->dtype->number, &range);
    if (!range.n)
        return;
    tc_strbuf_adds(out, ",\"range\":[");
    add_bound(out, range.min);
    tc_strbuf_addc(out, ',');
    add_bound(out, range.max);
    tc_strbuf_addf(out, ",%zu,%zu]", range.n_negative, range.n_positive);
}

static bool is_constant(const struct source *from, const struct tc_tensor *as)
{
    return from->whole ? as->n == 1 || tc_is_constant(from->whole, as->n, as->dtype->item_size)
                       : from->first[0] == 0;
}

/* A range takes a pass over all elements, a third of a step of a small GPT: only in full. Of a
 * parameter none: what its elements lie between is no matter of one call. */
static void add_elements(struct tc_strbuf *out, const unsigned char *data,
                         const struct tc_tensor *as)
{
    double number = 0;

    for (size_t i = 0; i < as->n; i++)
        if (!isfinite(tc_float_at(data + i * as->dtype->item_size, as->dtype->number)))
            return;
    for (size_t i = 0; i < as->n; i++) {
        number = tc_float_at(data + i * as->dtype->item_size, as->dtype->number);
        tc_strbuf_adds(out, i ? "," : ",\"elements\":[");
        add_bound(out, number);
    }
    tc_strbuf_addc(out, ']');
}

static void add_float(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as,
                      unsigned members)
{
    if (!from->whole && !from->first)
        return;
    if (!is_constant(from, as)) {
        if (members & RANGE)
            add_range(out, from, as);
        if ((members & ELEMENTS) && from->whole)
            add_elements(out, from->whole, as);
        return;
    }
    tc_strbuf_adds(out, as->n == 1 ? ",\"value\":" : ",\"constant\":");
    tc_encode_float(
        out,
        tc_float_at(from->whole ? from->whole : from->first + (as->dtype->item_size == 8 ? 8 : 4),
                    as->dtype->number));
}

static void add_scale(struct tc_strbuf *out, const struct source *from, const struct tc_tensor *as)
{
    struct tc_scale scale = {0};

    if (from->whole)
        tc_scale(from->whole, as->n, as->dtype->item_size, as->dtype->number, &scale);
    else if (from->sample && from->is_packed)
        tc_packed_scale(from->sample, as->dtype->number, &scale);
    else if (from->sample)
        tc_scale(from->sample, as->n < TC_N_SCALED ? as->n : TC_N_SCALED, as->dtype->item_size,
                 as->dtype->number, &scale);
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

static unsigned members_of(PyObject *tensor, const struct tc_tensor *as, int64_t serial,
                           const struct tc_asked *asked)
{
    unsigned members = 0;

    if (asked->digests && as->n * as->dtype->item_size <= MAX_ARGUMENT)
        members |= DIGEST;
    if (!asked->content || as->n == 0)
        return members;
    if (asked->is_brief) /* one number is a loss or a rate */
        return as->n == 1 && as->dtype->number != TC_NUMBER_OTHER && as->is_contiguous ? FLOAT : 0;
    members |= members_of_batch(as, serial, asked->is_batch);
    members |= asked->is_noise ? DIGEST : 0;
    if (tc_agent.content == TC_CONTENT_FULL)
        members |= DIGEST | (as->dtype->number != TC_NUMBER_OTHER ? SKETCH : 0);
    if (as->n <= MAX_SUMMARIZED && as->dtype->integer)
        members |= DIGEST | SUMMARY;
    /* Most floats lie apart where heads of attention do: to bring them together costs more. */
    if (as->n <= MAX_SUMMARIZED && as->dtype->number != TC_NUMBER_OTHER && as->is_contiguous)
        members |= FLOAT;
    if ((members & FLOAT) && tc_agent.content == TC_CONTENT_FULL && !tc_tensor_is_parameter(tensor))
        members |= RANGE;
    if ((members & FLOAT) && as->n > 1 && as->n <= MAX_SHOWN && !as->requires_grad &&
        !tc_tensor_is_parameter(tensor))
        members |= ELEMENTS;
    return members;
}

static void add_members(struct tc_strbuf *out, const struct source *from,
                        const struct tc_tensor *as, unsigned members)
{
    if (members & DIGEST)
        add_digest(out, from, as);
    if (members & SKETCH)
        add_sketch(out, from, as);
    if (members & ROWS)
        add_rows(out, from, as);
    if (members & SUMMARY)
        add_summary(out, from, as);
    if (members & SCALE)
        add_scale(out, from, as);
    if (members & FLOAT)
        add_float(out, from, as, members);
}

/* ---- what lies elsewhere ---- */

/* So few bytes are sent whole: operators take longer to answer anything about them. The kernel
 * answers all at once, in some 32 bytes, and 4 for each row. */
#define MAX_SENT        ((size_t)4096)
#define MAX_SENT_KERNEL ((size_t)32)

/* What is kept until the answers have come. */
struct wanted {
    struct tc_tensor as;
    unsigned members;
    unsigned char sent[6]; /* what has been asked (enum tc_what), in that order */
    size_t n_sent;
};

/* The elements that are shown are 64 bytes at most. */
static bool is_sent_whole(const struct tc_tensor *as, unsigned members)
{
    return size_of(as) <= (tc_look_has_kernel(as) ? MAX_SENT_KERNEL : MAX_SENT) ||
           members & ELEMENTS;
}

static void send(struct wanted *w, PyObject *tensor, enum tc_what what)
{
    tc_line_ask(what, tensor, NULL);
    w->sent[w->n_sent++] = (unsigned char)what;
}

static void send_all(struct wanted *w, PyObject *tensor)
{
    if (is_sent_whole(&w->as, w->members)) {
        send(w, tensor, TC_WHAT_BYTES);
        return;
    }
    if (w->members & DIGEST)
        send(w, tensor, is_sampled(&w->as) ? TC_WHAT_STRIPES : TC_WHAT_DIGEST);
    if (w->members & SUMMARY)
        send(w, tensor, TC_WHAT_SUMMARY);
    if (w->members & SCALE)
        send(w, tensor, TC_WHAT_SAMPLE);
    if (w->members & FLOAT)
        send(w, tensor, TC_WHAT_FIRST);
    if (w->members & RANGE)
        send(w, tensor, TC_WHAT_RANGE);
    if ((w->members & ROWS) && n_rows(&w->as))
        send(w, tensor, TC_WHAT_ROWS);
}

static void take_sent(struct source *from, unsigned char what, const struct tc_piece *piece)
{
    const unsigned char *data = tc_piece_data(piece);
    const unsigned char **const places[] = {
        [TC_WHAT_BYTES] = &from->whole,     [TC_WHAT_STRIPES] = &from->stripes,
        [TC_WHAT_DIGEST] = &from->sum,      [TC_WHAT_ROWS] = &from->rows,
        [TC_WHAT_SAMPLE] = &from->sample,   [TC_WHAT_FIRST] = &from->first,
        [TC_WHAT_SUMMARY] = &from->summary, [TC_WHAT_RANGE] = &from->range};

    if (what == TC_WHAT_SUMMARY || what == TC_WHAT_SAMPLE)
        from->is_packed = tc_piece_is_of_kernel(piece);
    if (what == TC_WHAT_RANGE && !tc_piece_is_of_kernel(piece)) /* all of it */
        from->whole = data;
    else
        *places[what] = data;
}

static void fill_members(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                         const struct tc_piece *pieces)
{
    const struct wanted *w = hole->told;
    struct source from = {0};

    (void)text;
    for (size_t i = 0; i < w->n_sent; i++)
        take_sent(&from, w->sent[i], &pieces[i]);
    add_members(out, &from, &w->as, w->members);
}

static void ask_members(PyObject *tensor, const struct tc_tensor *as, unsigned members)
{
    struct wanted *w = tc_calloc(1, sizeof(*w));

    w->as = *as;
    w->members = members;
    tc_line_open(fill_members, w);
    send_all(w, tensor);
    tc_line_close();
}

void tc_content_add(struct tc_strbuf *out, PyObject *tensor, const struct tc_tensor *as,
                    int64_t serial, const struct tc_asked *asked)
{
    const enum tc_reach reach =
        tc_agent.content == TC_CONTENT_FULL ? TC_REACH_COPY : TC_REACH_APART;
    unsigned members = members_of(tensor, as, serial, asked);
    struct tc_memory memory;
    struct source from = {0};

    if (!members)
        return;
    if (tc_look_is_here(as)) {
        from.whole = as->address;
        add_members(out, &from, as, members);
        return;
    }
    if (tc_look_is_asked(tensor, as, reach)) {
        ask_members(tensor, as, members);
        return;
    }
    if (tc_look_is_elsewhere(as) && reach != TC_REACH_COPY && as->n)
        return;
    tc_look_memory(tensor, as, reach, &memory);
    if (memory.is_packed) /* what a wrapper holds is not what it shows */
        tc_memory_release(&memory);
    from.whole = memory.data;
    add_members(out, &from, as, members);
    tc_memory_release(&memory);
}

/* ---- what is told again ---- */

bool tc_content_lasts(const struct tc_asked *asked)
{
    return asked->content && !asked->is_batch && !asked->digests && !asked->is_brief &&
           !asked->is_noise && !asked->is_named && tc_agent.content == TC_CONTENT_BATCHES &&
           !tc_agent.stats;
}

bool tc_content_is_batch(int64_t serial)
{
    return is_known_batch(serial);
}

size_t tc_content_n_batches(void)
{
    return batches.next;
}

static bool is_shown(const struct tc_tensor *as)
{
    return as->n <= MAX_SHOWN;
}

bool tc_content_take(const struct tc_tensor *as, struct tc_content_taken *out)
{
    if (!tc_look_is_here(as) || as->dtype->number == TC_NUMBER_OTHER)
        return false;
    if (is_shown(as))
        memcpy(out->bytes, as->address, size_of(as));
    return is_shown(as) || as->n > MAX_SUMMARIZED ||
           !tc_is_constant(as->address, as->n, as->dtype->item_size);
}

/* Of more elements nothing is told, but where they are all the same. */
bool tc_content_is_as(const struct tc_tensor *as, const struct tc_content_taken *taken)
{
    if (!is_shown(as))
        return as->n > MAX_SUMMARIZED || !tc_is_constant(as->address, as->n, as->dtype->item_size);
    return memcmp(taken->bytes, as->address, size_of(as)) == 0;
}
