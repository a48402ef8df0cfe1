#!/usr/bin/env python3
"""Which operators the modules of torch.nn and the functions of torch.nn.functional run, forward and backward, and which of
them have a rule.

    benchmarks/plan/operators.py --real build/tests/bin/plan_real

What has none is named with its operators; the last lines have the shares whose plan can be judged."""
import argparse
import subprocess
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

# Views, and what makes constants: neither is an operator of a plan.
VIEWS = ("linspace", "lift_fresh", "unsqueeze_", "view", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "detach", "alias", "split",
         "unbind", "as_strided", "_reshape_alias", "chunk", "unfold", "split_with_sizes", "movedim", "diagonal",
         "unsafe_split")


def sample(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0)).mul(0.8).add(0.1).requires_grad_()


X, IMAGE, LINE, VOLUME = sample(4, 6), sample(2, 4, 6, 6), sample(2, 4, 8), sample(2, 4, 4, 4, 4)
CLASS, SIGN = torch.tensor([0, 1, 2, 3]), torch.tensor([1.0, -1.0, 1.0, -1.0])

ACTIVATIONS = {name: (getattr(nn, name)(*args), (X,)) for name, args in {
    "CELU": (), "ELU": (), "GELU": (), "GLU": (), "Hardshrink": (), "Hardsigmoid": (), "Hardswish": (), "Hardtanh": (),
    "LeakyReLU": (), "LogSigmoid": (), "LogSoftmax": (-1,), "Mish": (), "PReLU": (), "ReLU": (), "ReLU6": (), "SELU": (),
    "Sigmoid": (), "SiLU": (), "Softmax": (-1,), "Softmin": (-1,), "Softplus": (), "Softshrink": (), "Softsign": (), "Tanh": (),
    "Tanhshrink": (), "Threshold": (0.3, 0.1)}.items()}
NORMS = {"BatchNorm1d": (nn.BatchNorm1d(6), (X,)), "BatchNorm2d": (nn.BatchNorm2d(4), (IMAGE,)),
         "GroupNorm": (nn.GroupNorm(2, 4), (IMAGE,)), "InstanceNorm2d": (nn.InstanceNorm2d(4, affine=True), (IMAGE,)),
         "LayerNorm": (nn.LayerNorm(6), (X,)), "RMSNorm": (nn.RMSNorm(6), (X,)), "LocalResponseNorm": (nn.LocalResponseNorm(2), (IMAGE,))}
Y = sample(4, 6).detach()
LOSSES = {"L1Loss": (X, Y), "MSELoss": (X, Y), "SmoothL1Loss": (X, Y), "HuberLoss": (X, Y), "CrossEntropyLoss": (X, CLASS),
          "NLLLoss": (X, CLASS), "BCELoss": (X, Y), "BCEWithLogitsLoss": (X, Y), "KLDivLoss": (X, Y), "PoissonNLLLoss": (X, Y),
          "GaussianNLLLoss": (X, Y, sample(4, 6)), "MarginRankingLoss": (X[:, 0], X[:, 1], SIGN),
          "HingeEmbeddingLoss": (X, SIGN[:, None].expand(4, 6)), "MultiLabelSoftMarginLoss": (X, Y.round()),
          "SoftMarginLoss": (X, SIGN[:, None].expand(4, 6)), "CosineEmbeddingLoss": (X, sample(4, 6), SIGN),
          "TripletMarginLoss": (X, sample(4, 6), Y), "MultiMarginLoss": (X, CLASS),
          "MultiLabelMarginLoss": (X, CLASS[:, None].expand(4, 6).clone())}
LOSSES = {name: (getattr(nn, name)(), args) for name, args in LOSSES.items()}
LAYERS = {"Linear": (nn.Linear(6, 3), (X,)), "Bilinear": (nn.Bilinear(6, 6, 3), (X, sample(4, 6))),
          "Embedding": (nn.Embedding(5, 3), (CLASS,)), "Conv1d": (nn.Conv1d(4, 3, 3), (LINE,)), "Conv2d": (nn.Conv2d(4, 3, 3), (IMAGE,)),
          "Conv3d": (nn.Conv3d(4, 3, 3), (VOLUME,)), "ConvTranspose2d": (nn.ConvTranspose2d(4, 3, 3), (IMAGE,)),
          "MaxPool1d": (nn.MaxPool1d(2), (LINE,)), "MaxPool2d": (nn.MaxPool2d(2), (IMAGE,)), "AvgPool1d": (nn.AvgPool1d(2), (LINE,)),
          "AvgPool2d": (nn.AvgPool2d(2), (IMAGE,)), "AdaptiveAvgPool1d": (nn.AdaptiveAvgPool1d(2), (LINE,)),
          "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d(2), (IMAGE,)), "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d(2), (IMAGE,)),
          "CosineSimilarity": (nn.CosineSimilarity(), (X, sample(4, 6))), "PairwiseDistance": (nn.PairwiseDistance(), (X, sample(4, 6))),
          "PixelShuffle": (nn.PixelShuffle(2), (IMAGE,)), "Upsample": (nn.Upsample(scale_factor=2), (IMAGE,)),
          "Upsample bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGE,)), "Flatten": (nn.Flatten(), (IMAGE,)),
          "MultiheadAttention": (nn.MultiheadAttention(6, 2), (X, X, X)),
          "TransformerEncoderLayer": (nn.TransformerEncoderLayer(6, 2, 5, 0.0), (sample(3, 4, 6),)),
          "ZeroPad2d": (nn.ZeroPad2d(1), (IMAGE,)), "LSTMCell": (nn.LSTMCell(6, 3), (X,)), "GRUCell": (nn.GRUCell(6, 3), (X,)),
          "RNNCell": (nn.RNNCell(6, 3), (X,)), "EmbeddingBag": (nn.EmbeddingBag(5, 3), (CLASS.view(2, 2),))}

LABELS, WIDE = sample(4, 6).detach(), sample(2, 4, 6, 6)
QUERY = sample(2, 3, 5, 4)
POOLED = F.max_pool1d(LINE.detach(), 2, return_indices=True)
POOLED2, POOLED3 = F.max_pool2d(IMAGE.detach(), 2, return_indices=True), F.max_pool3d(VOLUME.detach(), 2, return_indices=True)


def attention_of_functional():
    """multi_head_attention_forward with the weights of a module."""
    m = nn.MultiheadAttention(6, 2)
    return F.multi_head_attention_forward(sample(3, 4, 6), sample(3, 4, 6), sample(3, 4, 6), 6, 2, m.in_proj_weight,
                                          m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias)


def grouped():
    left, right = (torch.rand(*sizes).bfloat16().requires_grad_() for sizes in ((8, 8), (2, 8, 8)))
    return F.grouped_mm(left, right, offs=torch.tensor([3, 8], dtype=torch.int32)) * 1


def all_modes():
    """interpolate, of each number of dimensions."""
    modes = [(LINE, "linear"), (IMAGE, "bilinear"), (IMAGE, "bicubic"), (VOLUME, "trilinear")]
    modes += [(x, mode) for x in (LINE, IMAGE, VOLUME) for mode in ("nearest", "nearest-exact", "area")]
    return torch.cat([F.interpolate(x, scale_factor=2, mode=mode).flatten() for x, mode in modes])


def pools():
    """Poolings of each number of dimensions, of the largest elements with and without their places."""
    for d, x in (("1d", LINE), ("2d", IMAGE), ("3d", VOLUME)):
        for name, args in (("adaptive_avg_pool", (2,)), ("adaptive_max_pool", (2,)), ("avg_pool", (2,)), ("max_pool", (2,)),
                           ("lp_pool", (2.0, 2))):
            yield name + d, (lambda f=getattr(F, name + d), x=x, args=args: f(x, *args))
            if "max" in name:
                f = getattr(F, name + d + "_with_indices")
                yield name + d + "_with_indices", (lambda f=f, x=x, args=args: f(x, *args)[0])
    for d, x in (("2d", IMAGE), ("3d", VOLUME)):
        yield "fractional_max_pool" + d, lambda d=d, x=x: getattr(F, "fractional_max_pool" + d)(x, 2, output_size=2)
        f = getattr(F, f"fractional_max_pool{d}_with_indices")
        yield f"fractional_max_pool{d}_with_indices", lambda f=f, x=x: f(x, 2, output_size=2)[0]
    for d, (x, at) in (("1d", POOLED), ("2d", POOLED2), ("3d", POOLED3)):
        yield "max_unpool" + d, lambda d=d, x=x, at=at: getattr(F, "max_unpool" + d)(x.clone().requires_grad_(), at, 2)


FUNCTIONS = {
    **dict(pools()),
    **{name: (lambda f=getattr(F, name): f(X)) for name in (
        "alpha_dropout", "celu", "dropout", "elu", "feature_alpha_dropout", "gelu", "glu", "hardshrink", "hardsigmoid",
        "hardswish", "hardtanh", "leaky_relu", "logsigmoid", "mish", "normalize", "relu", "relu6", "rrelu", "selu",
        "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink")},
    **{name: (lambda f=getattr(F, name): f(X, -1)) for name in ("gumbel_softmax", "log_softmax", "softmax", "softmin")},
    **{name: (lambda f=getattr(F, name): f(X.clone())) for name in ("celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_",
                                                                    "rrelu_", "selu_")},
    **{name: (lambda f=getattr(F, name), x=x: f(x)) for name, x in (("dropout1d", LINE), ("dropout2d", IMAGE),
                                                                    ("dropout3d", VOLUME))},
    **{name: (lambda f=getattr(F, name): f(X, LABELS)) for name in (
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "kl_div", "l1_loss", "mse_loss",
        "multilabel_soft_margin_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "cosine_similarity",
        "pairwise_distance")},
    **{name: (lambda f=getattr(F, name): f(X, CLASS)) for name in ("cross_entropy", "multi_margin_loss", "nll_loss")},
    **{name: (lambda f=getattr(F, name), x=x, w=w: f(x, w)) for name, x, w in (
        ("conv1d", LINE, sample(3, 4, 3)), ("conv2d", IMAGE, sample(3, 4, 3, 3)), ("conv3d", VOLUME, sample(3, 4, 3, 3, 3)),
        ("conv_transpose1d", LINE, sample(4, 3, 3)), ("conv_transpose2d", IMAGE, sample(4, 3, 3, 3)),
        ("conv_transpose3d", VOLUME, sample(4, 3, 3, 3, 3)))},
    "affine_grid": lambda: F.affine_grid(sample(2, 2, 3), (2, 1, 3, 4)),
    "batch_norm": lambda: F.batch_norm(X, None, None, sample(6), sample(6), training=True),
    "bilinear": lambda: F.bilinear(X, sample(4, 5), sample(3, 6, 5)),
    "channel_shuffle": lambda: F.channel_shuffle(IMAGE, 2),
    "conv_tbc": lambda: F.conv_tbc(sample(5, 2, 4), sample(3, 4, 3), sample(3)),
    "cosine_embedding_loss": lambda: F.cosine_embedding_loss(X, sample(4, 6), SIGN),
    "ctc_loss": lambda: F.ctc_loss(sample(7, 2, 5).log_softmax(-1), torch.tensor([[1, 2, 3], [2, 1, 4]]),
                                   torch.tensor([7, 6]), torch.tensor([3, 2])),
    "embedding": lambda: F.embedding(CLASS, sample(5, 3)),
    "embedding_bag": lambda: F.embedding_bag(CLASS.view(2, 2), sample(5, 3)),
    "fold": lambda: F.fold(sample(1, 8, 9), (4, 4), 2),
    "gaussian_nll_loss": lambda: F.gaussian_nll_loss(X, LABELS, sample(4, 6)),
    "grid_sample": lambda: F.grid_sample(IMAGE, sample(2, 3, 3, 2), align_corners=False),
    "group_norm": lambda: F.group_norm(IMAGE, 2, sample(4), sample(4)),
    "grouped_mm": lambda: grouped(),
    "hinge_embedding_loss": lambda: F.hinge_embedding_loss(X, SIGN[:, None].expand(4, 6)),
    "instance_norm": lambda: F.instance_norm(IMAGE),
    "interpolate": lambda: all_modes(),
    "layer_norm": lambda: F.layer_norm(X, (6,), sample(6), sample(6)),
    "linear": lambda: F.linear(X, sample(3, 6), sample(3)),
    "linear_cross_entropy": lambda: F.linear_cross_entropy(X, sample(5, 6), CLASS),
    "local_response_norm": lambda: F.local_response_norm(IMAGE, 2),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(X[:, 0], X[:, 1], SIGN),
    "multi_head_attention_forward": attention_of_functional,
    "multilabel_margin_loss": lambda: F.multilabel_margin_loss(X, CLASS[:, None].expand(4, 6).clone()),
    "native_channel_shuffle": lambda: F.native_channel_shuffle(IMAGE.detach(), 2).requires_grad_(),
    "pad": lambda: torch.cat([F.pad(IMAGE, (1, 1, 1, 1), mode=mode) for mode in ("constant", "reflect", "replicate",
                                                                                  "circular")]),
    "pdist": lambda: F.pdist(X),
    "pixel_shuffle": lambda: F.pixel_shuffle(IMAGE, 2),
    "pixel_unshuffle": lambda: F.pixel_unshuffle(IMAGE, 2),
    "prelu": lambda: F.prelu(X, sample(6)),
    "rms_norm": lambda: F.rms_norm(X, (6,), sample(6)),
    "scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(QUERY, QUERY, QUERY),
    "threshold": lambda: F.threshold(X, 0.3, 0.1),
    "threshold_": lambda: F.threshold_(X.clone(), 0.3, 0.1),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(X, sample(4, 6), LABELS),
    "triplet_margin_with_distance_loss": lambda: F.triplet_margin_with_distance_loss(X, sample(4, 6), LABELS),
    "unfold": lambda: F.unfold(IMAGE, 2),
    "upsample": lambda: F.upsample(IMAGE, scale_factor=2),
    "upsample_bilinear": lambda: F.upsample_bilinear(IMAGE, scale_factor=2),
    "upsample_nearest": lambda: F.upsample_nearest(IMAGE, scale_factor=2),
}
# What torch.nn.functional has beside: no function of training.
NOT_RUN = {"assert_int_or_pair": "a check", "boolean_dispatch": "a helper", "handle_torch_function": "a helper",
           "has_torch_function": "a helper", "has_torch_function_unary": "a helper", "has_torch_function_variadic": "a helper",
           "one_hot": "integers alone", "scaled_grouped_mm": "runs on accelerators", "scaled_mm": "runs on accelerators"}


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).rpartition(".")[0]
        if name.partition(".")[2] not in VIEWS:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def operators(module, args):
    with Names() as names:
        out = module(*args)
        out = out[0] if isinstance(out, tuple) else out
        out.sum().backward()
    return dict.fromkeys(names.found)


def told(kind, calls, rules):
    """Prints those with operators that have no rule, and the share of the others."""
    missing = 0
    for name, (call, args) in calls.items():
        without = [op for op in operators(call, args) if op not in rules and op.removesuffix("_") not in rules]
        missing += bool(without)
        if without:
            print(f"{name:36} {', '.join(without)}")
    n = len(calls)
    print(f"{n - missing} of {n} {kind} ({100 * (n - missing) / n:.0f} %)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", default="build/tests/bin/plan_real")
    rules = set(subprocess.run([parser.parse_args().real, "--rules"], capture_output=True, text=True, check=True).stdout.split())
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    told("modules", {**ACTIVATIONS, **NORMS, **LOSSES, **LAYERS}, rules)
    names = {name for name in dir(F) if name[0].islower() and callable(getattr(F, name))} - {"importlib", "math"}
    unknown = names ^ set(FUNCTIONS) ^ set(NOT_RUN)
    if unknown:
        raise SystemExit(f"functions that this list does not have, or torch no longer: {', '.join(sorted(unknown))}")
    told("functions", {name: (call, ()) for name, call in sorted(FUNCTIONS.items())}, rules)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
