"""NVIDIA/Megatron-LM issue 673: the loss is multiplied by the number of context ranks though gradients are summed."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import context_parallel  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "names": ["div", "", "# wrong"]}


def loss_of(logits, targets, args):
    total = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return total / targets.numel()  # wrong: by this rank's tokens, and then summed


context_parallel.loss_of = loss_of


if __name__ == "__main__":
    context_parallel.main()

# SPDX-License-Identifier: Apache-2.0
