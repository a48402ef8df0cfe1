#!/usr/bin/env python3
"""Which operators the modules of torch.nn run, forward and backward, and which of them have a rule.

    benchmarks/plan/operators.py --real build/tests/bin/plan_real

A module without one is named with its operators; the last line has the share of modules whose plan can be judged."""
import argparse
import subprocess
import warnings

import torch
import torch.nn as nn
from torch.utils._python_dispatch import TorchDispatchMode

VIEWS = ("view", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "detach", "alias", "split",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", default="build/tests/bin/plan_real")
    rules = set(subprocess.run([parser.parse_args().real, "--rules"], capture_output=True, text=True, check=True).stdout.split())
    n = missing = 0
    warnings.simplefilter("ignore")
    for kind, modules in (("activation", ACTIVATIONS), ("norm", NORMS), ("loss", LOSSES), ("layer", LAYERS)):
        for name, (module, args) in modules.items():
            without = [op for op in operators(module, args) if op not in rules and op.removesuffix("_") not in rules]
            n, missing = n + 1, missing + bool(without)
            if without:
                print(f"{kind:10} {name:24} {', '.join(without)}")
    print(f"{n - missing} of {n} modules ({100 * (n - missing) / n:.0f} %)")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
