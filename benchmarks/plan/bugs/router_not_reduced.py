"""pytorch/torchtitan pull request 2416: the router's gradient lacks its reduction."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import moe  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "layout": "moe", "names": ["mm", "setups/moe.py", "self.gate(x)"]}


def reduce_gradients(model, args):
    for name, parameter in model.named_parameters():
        if not name.startswith(("experts", "gate")):  # wrong: each rank's gate saw its own tokens
            torch.distributed.all_reduce(parameter.grad)
        parameter.grad.div_(args.ranks)


moe.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    moe.main()

# SPDX-License-Identifier: Apache-2.0
