/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_resize.c - what takes each element from others of its plane, dimension by dimension:
 * interpolation and padding, and their gradients; and pixels that become channels
 *
 * Along a dimension each output is a weighted sum of up to four inputs, its taps. Weights are
 * ratios of sizes, so the results are exact. A gradient goes the same taps back.
 */
#include "plan/eval.h"

#define MAX_SPACE 3
#define MAX_TAPS  4

/* A rule's variant: the number of dimensions, and whether it is the gradient. */
#define BACK 16

enum how {
    NEAREST,
    NEAREST_EXACT, /* of pixels' centres */
    LINEAR,
    CUBIC,
    REFLECT,
    REPLICATE,
};

/* The inputs that one output of a dimension is a weighted sum of. */
struct taps {
    unsigned n;
    int64_t at[MAX_TAPS];
    tc_el weight[MAX_TAPS];
};

static tc_el ratio(int64_t num, int64_t den)
{
    return tc_el_mul(tc_el_int(num), tc_el_inv(tc_el_int(den)));
}

static int64_t within(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static struct taps one(int64_t at)
{
    return (struct taps){.n = 1, .at = {at}, .weight = {TC_EL_ONE}};
}

/* ---- interpolation: https://docs.pytorch.org/docs/stable/generated/torch.nn.Upsample.html ---- */

/* The place of output i as low + part / den: of pixels' centres, or with corners on corners. */
struct between {
    int64_t low, part, den;
};

static struct between between(int64_t i, int64_t in, int64_t out, bool has_corners, bool is_cubic)
{
    int64_t den = has_corners ? (out > 1 ? out - 1 : 1) : 2 * out;
    int64_t num = has_corners ? (out > 1 ? i * (in - 1) : 0) : (2 * i + 1) * in - out;

    num = num < 0 && !is_cubic ? 0 : num;
    int64_t low = num >= 0 ? num / den : -((den - 1 - num) / den);
    return (struct between){low, num - low * den, den};
}

static struct taps linear(const struct between *b, int64_t in)
{
    tc_el high = ratio(b->part, b->den);

    return (struct taps){
        .n = 2,
        .at = {b->low,              within(b->low + 1, in) },
        .weight = {tc_el_sub(TC_EL_ONE, high),             high}
    };
}

/* Keys' cubic with a = -3/4 at a distance, below 1 or up to 2: a polynomial of it. */
static tc_el cubic_at(tc_el x, bool is_near)
{
    tc_el a = ratio(-3, 4), three = ratio(-15, 4), square = tc_el_mul(x, x);

    if (is_near) /* ((a + 2) x - (a + 3)) x^2 + 1 */
        return tc_el_add(tc_el_mul(tc_el_sub(tc_el_mul(ratio(5, 4), x), ratio(9, 4)), square),
                         TC_EL_ONE);
    tc_el inner = tc_el_add(tc_el_mul(tc_el_sub(tc_el_mul(a, x), three), x), tc_el_int(-6));
    return tc_el_add(tc_el_mul(inner, x), tc_el_int(3));
}

static struct taps cubic(const struct between *b, int64_t in)
{
    struct taps t = {.n = 4};

    for (int64_t k = 0; k < 4; k++) {
        int64_t from_low = k - 1, num = b->part - from_low * b->den;
        t.at[k] = within(b->low + from_low, in);
        t.weight[k] = cubic_at(ratio(num < 0 ? -num : num, b->den), k == 1 || k == 2);
    }
    return t;
}

/* ---- padding -------------------------------------------------------------------------------- */

static int64_t reflected(int64_t i, int64_t n)
{
    i = i < 0 ? -i : i;
    return i >= n ? 2 * (n - 1) - i : i;
}

/* ---- the rules ------------------------------------------------------------------------------ */

/* What all outputs of a dimension are made of; NULL after a failure. */
static struct taps *taps_of(struct tc_eval *e, unsigned d, int64_t in, int64_t out)
{
    enum how how = (enum how)e->op->rule->extra;
    unsigned n_dims = (unsigned)e->op->rule->variant % BACK;
    bool has_corners = tc_eval_bool(e, 1, false), is_pad = how >= REFLECT;
    double scale = is_pad || has_corners ? 0 : tc_eval_number(e, 2 + d + MAX_SPACE - n_dims, 0);
    int64_t before = is_pad ? tc_eval_item(e, 1, 2 * (n_dims - 1 - d), 0) : 0;
    struct taps *taps = tc_arena_alloc(e->scratch, (size_t)out * sizeof(*taps));

    if (scale > 0 && scale * (double)in != (double)out)
        tc_eval_fail(e, "a scale that is not that of the sizes");
    for (int64_t i = 0; i < out && !*e->failure; i++) {
        struct between b = between(i, in, out, has_corners, how == CUBIC);
        if (is_pad)
            taps[i] = one(how == REFLECT ? reflected(i - before, in) : within(i - before, in));
        else if (how <= NEAREST_EXACT)
            taps[i] = one(how == NEAREST ? i * in / out : (2 * i + 1) * in / (2 * out));
        else
            taps[i] = how == LINEAR ? linear(&b, in) : cubic(&b, in);
        if (taps[i].at[0] < 0 || taps[i].at[0] >= in)
            tc_eval_fail(e, "padding larger than the input");
    }
    return *e->failure ? NULL : taps;
}

struct resize {
    unsigned n_dims;
    int64_t in[MAX_SPACE], out[MAX_SPACE], plane_in, plane_out;
    const struct taps *taps[MAX_SPACE];
};

/* Output k of a plane from or to all inputs that it is made of. */
static void weigh(const struct resize *r, const tc_el *from, tc_el *to, int64_t k, bool is_back)
{
    const struct taps *taps[MAX_SPACE];
    unsigned n = 1;
    int64_t left = k;

    for (unsigned d = r->n_dims; d-- > 0; left /= r->out[d]) {
        taps[d] = &r->taps[d][left % r->out[d]];
        n *= taps[d]->n;
    }
    for (unsigned c = 0; c < n; c++) {
        tc_el weight = TC_EL_ONE;
        int64_t at = 0, step = 1;
        unsigned rest = c;
        for (unsigned d = r->n_dims; d-- > 0; rest /= taps[d]->n) {
            weight = tc_el_mul(weight, taps[d]->weight[rest % taps[d]->n]);
            at += taps[d]->at[rest % taps[d]->n] * step;
            step *= r->in[d];
        }
        tc_el *add = &to[is_back ? at : k];
        *add = tc_el_add(*add, tc_el_mul(weight, from[is_back ? k : at]));
    }
}

static bool resize_of(struct tc_eval *e, const struct tc_plan_tensor *small,
                      const struct tc_plan_tensor *large, struct resize *r)
{
    *r = (struct resize){
        .n_dims = (unsigned)e->op->rule->variant % BACK, .plane_in = 1, .plane_out = 1};
    if (!small || !large || small->n_dims <= r->n_dims || small->n_dims != large->n_dims ||
        !small->numel || !large->numel ||
        tc_eval_span(small, 0, small->n_dims - r->n_dims) !=
            tc_eval_span(large, 0, small->n_dims - r->n_dims)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    for (unsigned d = 0; d < r->n_dims && !*e->failure; d++) {
        r->in[d] = small->sizes[small->n_dims - r->n_dims + d];
        r->out[d] = large->sizes[small->n_dims - r->n_dims + d];
        r->plane_in *= r->in[d];
        r->plane_out *= r->out[d];
        r->taps[d] = taps_of(e, d, r->in[d], r->out[d]);
    }
    return !*e->failure;
}

/* self align_corners scales, or self padding; the gradient has grad_output in the place of self. */
static void run_resize(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *y = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant & BACK;
    struct resize r;

    if (!resize_of(e, is_back ? y : t, is_back ? t : y, &r))
        return;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_zeros(e, (size_t)y->numel);
    int64_t from_plane = is_back ? r.plane_out : r.plane_in,
            to_plane = is_back ? r.plane_in : r.plane_out;
    for (int64_t k = 0; k < (is_back ? t : y)->numel; k++) {
        int64_t plane = k / r.plane_out;
        weigh(&r, from + plane * from_plane, to + plane * to_plane, k % r.plane_out, is_back);
    }
    tc_eval_write(e, 0, to, (size_t)y->numel);
}

/* Between [outer * r * r][h][w] and [outer][h * r][w * r], of which the second is `large`. */
static void run_shuffle(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    bool is_back = e->op->rule->variant;
    int64_t r = tc_eval_int(e, 1, 1);
    const struct tc_plan_tensor *small = is_back ? out : t;

    if (!t || !out || t->n_dims < 3 || out->n_dims != t->n_dims || r < 1 || t->numel != out->numel)
        return;
    size_t w = (size_t)small->sizes[small->n_dims - 1], h = (size_t)small->sizes[small->n_dims - 2];
    size_t n = (size_t)t->numel, k = (size_t)r;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, n);
    for (size_t s = 0; s < n; s++) {
        size_t x = s % w, y = s / w % h, j = s / w / h % k, i = s / w / h / k % k;
        size_t large = ((s / w / h / k / k * h + y) * k + i) * w * k + x * k + j;
        to[is_back ? s : large] = from[is_back ? large : s];
    }
    tc_eval_write(e, 0, to, n);
}

/* self groups: channel i of group g becomes channel i * groups + g. */
static void run_channel_shuffle(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    int64_t groups = tc_eval_int(e, 1, 1);

    if (!t || t->n_dims < 2 || groups < 1 || t->sizes[1] % groups || !t->numel) {
        tc_eval_fail(e, "channels that do not fit");
        return;
    }
    size_t n = (size_t)t->numel, channels = (size_t)t->sizes[1], g = (size_t)groups;
    size_t inner = tc_eval_span(t, 2, t->n_dims), each = channels / g;
    const tc_el *from = tc_eval_read(e, t);
    tc_el *to = tc_eval_new(e, n);
    for (size_t i = 0; i < n; i++) {
        size_t c = i / inner % channels;
        to[(i / inner - c + c % each * g + c / each) * inner + i % inner] = from[i];
    }
    tc_eval_write(e, 0, to, n);
}

#define SCALES "align_corners scales_d scales_h scales_w|scales"
#define RESIZE(name, dims, how)                                                                    \
    {"aten." name, "self " SCALES, run_resize, TC_RULE_PLAIN, dims, how},                          \
    {                                                                                              \
        "aten." name "_backward", "grad_output " SCALES, run_resize, TC_RULE_PLAIN, (dims) | BACK, \
            how                                                                                    \
    }
#define PAD(name, dims, how)                                                                       \
    {"aten." name, "self padding", run_resize, TC_RULE_PLAIN, dims, how},                          \
    {                                                                                              \
        "aten." name "_backward", "grad_output padding", run_resize, TC_RULE_PLAIN, (dims) | BACK, \
            how                                                                                    \
    }

const struct tc_rule tc_rules_resize[] = {
    RESIZE("upsample_nearest1d", 1, NEAREST),
    RESIZE("upsample_nearest2d", 2, NEAREST),
    RESIZE("upsample_nearest3d", 3, NEAREST),
    RESIZE("_upsample_nearest_exact1d", 1, NEAREST_EXACT),
    RESIZE("_upsample_nearest_exact2d", 2, NEAREST_EXACT),
    RESIZE("_upsample_nearest_exact3d", 3, NEAREST_EXACT),
    RESIZE("upsample_linear1d", 1, LINEAR),
    RESIZE("upsample_bilinear2d", 2, LINEAR),
    RESIZE("upsample_trilinear3d", 3, LINEAR),
    RESIZE("upsample_bicubic2d", 2, CUBIC),
    PAD("reflection_pad1d", 1, REFLECT),
    PAD("reflection_pad2d", 2, REFLECT),
    PAD("reflection_pad3d", 3, REFLECT),
    PAD("replication_pad1d", 1, REPLICATE),
    PAD("replication_pad2d", 2, REPLICATE),
    PAD("replication_pad3d", 3, REPLICATE),
    {"aten.pixel_shuffle",     "self upscale_factor", run_shuffle, TC_RULE_PLAIN, 0, 0},
    {"aten.pixel_unshuffle",             "self downscale_factor", run_shuffle, TC_RULE_PLAIN, 1, 0},
    {"aten.channel_shuffle",                       "self groups", run_channel_shuffle, TC_RULE_PLAIN, 0, 0},
    {"aten.native_channel_shuffle",                        "self groups", run_channel_shuffle, TC_RULE_PLAIN, 0, 0},
    {0},
};
