/* SPDX-License-Identifier: Apache-2.0 */
/*
 * degree_forms.c - how often the rule of an operator multiplies its arguments
 *
 * A silu is x * s(x), and this product is as random as s(x) itself. So it counts as one new
 * variable y, and sigmoid(x), the s(x) beside it, as y * (1 / x). Without that, a product of a silu
 * and another value, as gated layers have it, would double the degree in every layer.
 */
#include "plan/degree.h"

#include <math.h>
#include <string.h>

#include "plan/rules.h"

#define NONE   TC_DEGREE_NONE
#define HASHED TC_DEGREE_HASHED

static const struct tc_degree_form forms[] = {
  /* sums and copies */
    {"aten.add aten.sub aten.rsub aten.neg aten.bitwise_not aten.masked_fill aten.where "
     "aten.sum aten.mean aten.cumsum aten.cat aten.concat aten.stack aten.clone aten.contiguous "
     "aten._to_copy aten.to aten.expand_copy aten.lift_fresh_copy aten.alias_copy "
     "prims.convert_element_type aten._unsafe_view aten.view_copy aten.reshape aten._reshape_copy "
     "aten.split_with_sizes_copy aten.unbind_copy fsdp.split_with_sizes_copy aten.repeat "
     "aten.constant_pad_nd aten.flip aten.roll aten.triu aten.tril aten.slice_backward "
     "aten.select_backward aten.full aten.full_like aten.new_full aten.fill aten.scalar_tensor "
     "aten.arange aten.embedding aten.embedding_dense_backward aten.index_select "
     "aten.masked_scatter aten.masked_scatter_backward aten.masked_select aten.index_copy "
     "aten.gather aten.scatter aten.scatter_add aten.index aten.index_put "
     "aten._index_put_impl aten._unsafe_index aten._unsafe_index_put aten._adaptive_avg_pool2d "
     "aten._adaptive_avg_pool2d_backward aten.avg_pool2d fsdp.all_gather_copy_in fsdp.chunk_cat aten._chunk_cat "
     "aten.index_add aten.pixel_shuffle aten.pixel_unshuffle aten.channel_shuffle "
     "aten.native_channel_shuffle aten.upsample_nearest1d aten.upsample_nearest2d "
     "aten.upsample_nearest3d aten._upsample_nearest_exact1d aten._upsample_nearest_exact2d "
     "aten._upsample_nearest_exact3d aten.upsample_linear1d aten.upsample_bilinear2d "
     "aten.upsample_trilinear3d aten.upsample_bicubic2d aten.upsample_nearest1d_backward "
     "aten.upsample_nearest2d_backward aten.upsample_nearest3d_backward "
     "aten._upsample_nearest_exact1d_backward aten._upsample_nearest_exact2d_backward "
     "aten._upsample_nearest_exact3d_backward aten.upsample_linear1d_backward "
     "aten.upsample_bilinear2d_backward aten.upsample_trilinear3d_backward "
     "aten.upsample_bicubic2d_backward aten.reflection_pad1d aten.reflection_pad2d "
     "aten.reflection_pad3d aten.replication_pad1d aten.replication_pad2d aten.replication_pad3d "
     "aten.reflection_pad1d_backward aten.reflection_pad2d_backward "
     "aten.reflection_pad3d_backward aten.replication_pad1d_backward "
     "aten.replication_pad2d_backward aten.replication_pad3d_backward aten.avg_pool3d "
     "aten._adaptive_avg_pool3d aten._adaptive_avg_pool3d_backward aten.max_unpool2d "
     "aten.max_unpool3d aten.im2col aten.col2im aten.affine_grid_generator",                NULL,               NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.copy aten.bincount",                                                                  "01",               NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.max_pool2d_with_indices_backward aten.max_pool3d_with_indices_backward "
     "aten.adaptive_max_pool2d_backward aten.adaptive_max_pool3d_backward "
     "aten.avg_pool2d_backward aten.avg_pool3d_backward",                                   "1",                NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.zeros aten.zeros_like aten.new_zeros aten.zero aten.ones aten.ones_like aten.new_ones "
     "aten.eye aten.isfinite aten.isnan aten.isinf",                                        "",                 NULL,    "",           NULL, 0,  0, NONE,   false},

 /* by an order of values */
    {"aten.maximum aten.minimum aten.amax aten.amin aten.max aten.min aten.aminmax "
     "aten.sort aten.topk "
     "aten.max_pool2d_with_indices aten.max_pool3d_with_indices aten.adaptive_max_pool2d "
     "aten.adaptive_max_pool3d",                                                            NULL,               NULL,    "",           NULL, 0,  0, NONE,   true },
    {"aten.eq aten.ne aten.lt aten.le aten.gt aten.ge aten.logical_and aten.logical_or "
     "aten.logical_xor aten.logical_not aten.bitwise_and aten.bitwise_or aten.bitwise_xor "
     "aten.__and__ aten.__or__ aten.any aten.all aten.argmax aten.argmin aten.histc",       "",                 NULL,    "",           NULL, 0,  0, NONE,   true },
    {"aten.clamp aten.clamp_min aten.clamp_max",                                                 NULL,               NULL,    "111",        NULL, 1,  0, NONE,   false},

 /* products */
    {"aten.mul aten.mm aten.bmm aten.mv aten.dot aten.vdot",                                     "11",               NULL,    "",           NULL, 0,  0, NONE,
     false                                                                                                                                                            },
    {"aten._trilinear",                                                                          "111",              NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.addmm aten.baddbmm aten.addmv aten.addcmul aten.lerp aten.convolution aten.conv_tbc",
     "1111",                                                                                                         NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.convolution_backward aten._grouped_mm",                                               "1111",             NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.prod aten.cumprod",                                                                   "n",                NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.square aten.var aten.var_mean",                                                       "2",                NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.div",                                                                                 "1",                NULL,    "11",         NULL, 1,  1, 1,      false},
    {"aten.addcdiv",                                                                             "1101",             NULL,    "",           NULL, 0,  1, 2,      false},
    {"aten.reciprocal",                                                                          "",                 NULL,    "",           NULL, 0,  1, 0,      false},

 /* functions */
    {"aten.exp aten.expm1 aten.log aten.log1p aten.log2 aten.tanh aten.erf aten.cos aten.sin "
     "aten.abs aten.sign aten.sgn aten.floor aten.ceil aten.trunc aten.atan aten.round "
     "aten.hardsigmoid aten.hardtanh aten.log_sigmoid_forward aten.softshrink aten.softplus aten.elu aten.celu aten.gelu aten.silu aten.mish "
     "aten.logsumexp",                                                                      "",                 NULL,    "1",          NULL, 1,  0, NONE,   false},
    {"aten.floor_divide aten.remainder",                                                         "",                 NULL,    "11",         NULL, 1,  0, NONE,   false},
 /* a base that is a number, to the power of a step */
    {"aten.pow",                                                                                 "",                 NULL,    "11",         NULL, 64, 0, NONE,   false},
    {"aten.sigmoid",                                                                             "",                 NULL,    "1",          NULL, 1,  1, 0,      false},
    {"aten.sqrt",                                                                                "",                 NULL,    "1",          "1",  1,  0, NONE,   false},
    {"aten.rsqrt",                                                                               "",                 NULL,    "1",          NULL, 0,  1, HASHED, false},
    {"aten.linalg_vector_norm aten.norm aten._foreach_norm",                                     "",                 NULL,    "2",          "2",  1,  0, NONE,   false},
    {"aten.relu aten.hardswish aten.leaky_relu aten.hardshrink",                                 "1",                NULL,    "1",          NULL, 2,  0, NONE,
     false                                                                                                                                                            },
    {"aten.gelu_backward aten.mish_backward aten.threshold_backward aten.hardtanh_backward "
     "aten.hardswish_backward aten.softplus_backward aten.leaky_relu_backward "
     "aten.log_sigmoid_backward aten.hardsigmoid_backward aten.hardshrink_backward "
     "aten.softshrink_backward",                                                            "1",                NULL,    "01",         NULL, 2,  0, NONE,   false},
    {"aten.silu_backward",                                                                       "1",                NULL,    "01",         NULL, 2,  1, 1,      false},
    {"aten.sigmoid_backward aten.tanh_backward",                                                 "12",               NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.bernoulli aten.uniform aten.normal aten.rand aten.rand_like aten.randn aten.randn_like "
     "aten.exponential",                                                                    "",                 NULL,    "1",          NULL, 3,  0, NONE,   false},
    {"aten.native_dropout",                                                                      "1",                NULL,    "",           NULL, 2,  0, NONE,   false},
    {"aten.native_dropout_backward",                                                             "11",               NULL,    "",           NULL, 0,  0, NONE,   false},

 /* softmax, attention, losses */
    {"aten._softmax aten.softmax aten._safe_softmax",                                            "",                 NULL,    "1",          NULL, 1,  1, HASHED, false},
    {"aten._log_softmax aten.log_softmax",                                                       "1",                NULL,    "1",          NULL, 1,  0, NONE,   false},
    {"aten._softmax_backward_data",                                                              "12",               NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten._log_softmax_backward_data",                                                          "1",                NULL,    "01",         NULL, 1,  0, NONE,   false},
    {"aten._scaled_dot_product_flash_attention_for_cpu aten._scaled_dot_product_flash_attention "
     "aten._scaled_dot_product_efficient_attention aten._scaled_dot_product_cudnn_attention "
     "aten._scaled_dot_product_fused_attention_overrideable",                               "001",              "",      "11001",      NULL, 3,  1, HASHED, false},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward "
     "aten._scaled_dot_product_flash_attention_backward "
     "aten._scaled_dot_product_efficient_attention_backward "
     "aten._scaled_dot_product_cudnn_attention_backward "
     "aten._scaled_dot_product_fused_attention_overrideable_backward",                      "1110000111",       NULL,    "1100100001", NULL, 5,  2, HASHED, false},
    {"aten.nll_loss_forward aten.nll_loss2d_forward",                                            "101",              "001",   "",           NULL, 0,  1, 2,      false},
    {"aten.nll_loss_backward aten.nll_loss2d_backward",                                          "1001",             NULL,    "",           NULL, 0,  1, 6,      false},
    {"aten.mse_loss",                                                                            "22",               NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.mse_loss_backward",                                                                   "111",              NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.binary_cross_entropy_with_logits",                                                    "11011",            NULL,    "1",          NULL, 2,  0, NONE,   false},

 /* functions of a difference, of a product; activations with weights */
    {"aten.smooth_l1_loss aten.huber_loss",                                                      "",                 NULL,    "11",         NULL, 2,  0, NONE,   false},
    {"aten.smooth_l1_loss_backward aten.huber_loss_backward",                                    "1",                NULL,    "011",        NULL, 2,  0, NONE,
     false                                                                                                                                                            },
    {"aten.binary_cross_entropy",                                                                "01",               NULL,    "1",          NULL, 2,  0, NONE,   false},
    {"aten.binary_cross_entropy_backward",                                                       "111",              NULL,    "",           NULL, 0,  2, 1,      false},
    {"aten.soft_margin_loss",                                                                    "",                 NULL,    "11",         NULL, 2,  0, NONE,   false},
    {"aten.soft_margin_loss_backward",                                                           "101",              NULL,    "011",        NULL, 2,  1, 1,      false},
    {"aten.xlogy",                                                                               "1",                NULL,    "01",         NULL, 1,  0, NONE,   false},
    {"aten.elu_backward",                                                                        "101",              NULL,    "000001",     NULL, 3,  0, NONE,   false},
    {"aten.threshold",                                                                           "11",               NULL,    "1",          NULL, 2,  0, NONE,   false},
    {"aten.rrelu_with_noise",                                                                    "1",                NULL,    "1",          NULL, 2,  0, NONE,   false},
    {"aten.rrelu_with_noise_backward",                                                           "1",                NULL,    "01",         NULL, 2,  0, NONE,   false},
    {"aten.multi_margin_loss",                                                                   "200011",           NULL,    "1",          NULL, 2,  0, NONE,   false},
    {"aten.multi_margin_loss_backward",                                                          "1100011",          NULL,    "01",         NULL, 2,  0, NONE,   false},
    {"aten.multilabel_margin_loss_forward",                                                      "1",                "",      "1",          NULL, 1,  0, NONE,   false},
    {"aten.multilabel_margin_loss_backward",                                                     "1",                NULL,    "01",         NULL, 1,  0, NONE,   false},
    {"aten._embedding_bag aten._embedding_bag_forward_only",                                     "10001",            "",      "",           NULL, 0,  0, NONE,
     true                                                                                                                                                             },
    {"aten._embedding_bag_backward",                                                             "10001",            NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten._pdist_forward",                                                                      "",                 NULL,    "2",          "2",  1,  0, NONE,   false},
    {"aten._pdist_backward",                                                                     "1101",             NULL,    "",           NULL, 0,  1, 3,      false},
    {"aten._prelu_kernel",                                                                       "11",               NULL,    "1",          NULL, 1,  0, NONE,   false},
    {"aten._prelu_kernel_backward",                                                              "111",              NULL,    "01",         NULL, 1,  0, NONE,   false},
    {"aten.glu",                                                                                 "1",                NULL,    "1",          NULL, 1,  1, 0,      false},
    {"aten.glu_backward",                                                                        "11",               NULL,    "01",         NULL, 2,  2, 1,      false},

 /* norms; what comes after the first result are the mean and the inverse root */
    {"aten.native_layer_norm aten._fused_rms_norm aten.native_group_norm",                       "111",              "1",     "2",          NULL, 1,
     1,                                                                                                                                                  HASHED, false},
    {"aten.native_layer_norm_backward aten._fused_rms_norm_backward "
     "aten.native_group_norm_backward",                                                     "12231",            NULL,    "",           NULL, 0,  0, NONE,   false},
    {"aten.native_batch_norm aten._native_batch_norm_legit_functional",                          "1111",             "20011", "20001",
     NULL,                                                                                                                                        1,  1, HASHED, false},
    {"aten.native_batch_norm_backward",                                                          "1223111",          NULL,    "0000001",    NULL, 1,  1, HASHED, false},

 /* optimizers */
    {"aten._fused_adam aten._fused_adamw",                                                       "2211100000000100", NULL,    "2202",       NULL, 8,  2, HASHED,
     false                                                                                                                                                            },
    {"aten._fused_adagrad",                                                                      "2221",             NULL,    "222",        NULL, 8,  2, HASHED, false},
    {"aten._fused_sgd",                                                                          "111",              NULL,    "",           NULL, 4,  0, NONE,   false},
};

static bool names(const struct tc_degree_form *form, const char *rule)
{
    size_t size = strlen(rule);

    for (const char *p = strstr(form->names, rule); p; p = strstr(p + 1, rule))
        if ((p == form->names || p[-1] == ' ') && (p[size] == ' ' || !p[size]))
            return true;
    return false;
}

const struct tc_degree_form *tc_degree_form_of(const struct tc_rule *rule)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (names(&forms[i], rule->name))
            return &forms[i];
    return NULL;
}

const struct tc_degree_form *tc_degree_form_of_unknown(void)
{
    static const struct tc_degree_form form = {
        .times = "", .arguments = "", .functions = 1, .inverted = NONE};

    return &form;
}

bool tc_degree_is_elementwise(const struct tc_rule *rule)
{
    return rule->kind == TC_RULE_ELEMENTWISE || !strcmp(rule->name, "aten._fused_adam") ||
           !strcmp(rule->name, "aten._fused_adamw") || !strcmp(rule->name, "aten._fused_sgd") ||
           !strcmp(rule->name, "aten._fused_adagrad");
}

static struct tc_degree_form form_named(const char *name)
{
    struct tc_rule rule = {.name = name};

    return *tc_degree_form_of(&rule);
}

/* A power is a product, an inverse or a root where its rule makes it one. */
struct tc_degree_form tc_degree_form_of_op(const struct tc_degree_form *form,
                                           const struct tc_plan_op *op)
{
    static const char *const counts[] = {"", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    struct tc_degree_form changed = *form;
    double exponent = 0;

    if (strcmp(op->rule->name, "aten.pow") != 0 || op->n_args < 2)
        return changed;
    if (op->args[1].kind == TC_PLAN_WHOLE)
        exponent = (double)op->args[1].whole;
    else if (op->args[1].kind == TC_PLAN_NUMBER)
        exponent = op->args[1].number;
    else
        return changed;
    if (exponent == 0.5 || exponent == -0.5)
        return form_named(exponent > 0 ? "aten.sqrt" : "aten.rsqrt");
    if (exponent != floor(exponent) || fabs(exponent) > 9)
        return changed;
    changed = form_named(exponent < 0 ? "aten.reciprocal" : "aten.square");
    if (exponent < 0)
        changed.inverses = (unsigned)-exponent;
    else
        changed.times = counts[(unsigned)exponent];
    return changed;
}
