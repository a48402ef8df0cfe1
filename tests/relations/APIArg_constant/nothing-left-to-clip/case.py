# SPDX-License-Identifier: Apache-2.0
"""Four scripts clip the gradients of parameters that they give as a list or as a generator. In the broken run the generator was used up
before. The list that torch makes of a generator tells that."""
from trace_writer import Trace

CLIP, INNER = "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grads_with_norm_"
PIPELINES = 4


def train(folder, is_generator=False, n=2):
    t = Trace(folder)
    weights = [t.tensor(4, 4) | {"tensor": "Parameter"} for _ in range(n)]
    for _ in range(3):
        given = {"object": "generator", "id": 500} if is_generator else weights
        t.enter(CLIP, role="clip", at="train.py:9", args={"parameters": given, "max_norm": 1.0})
        t.op(INNER, role="function", args={"parameters": weights, "max_norm": 1.0})
        t.leave(value=t.tensor())
    t.end()


def healthy(folder, i):
    train(folder, is_generator=i % 2 == 0)


def fine_generator(folder):
    train(folder, is_generator=True)


def broken(folder):
    train(folder, is_generator=True, n=0)
