"""EleutherAI/gpt-neox pull request 1257: hooks that should reduce the norms' gradients over the tensor ranks never ran."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --sequence", "world": 4, "names": ["native_layer_norm_backward", "setups/megatron.py", "self.norm1(x)"]}


def reduce_gradients(model, args, groups):
    for parameter in model.parameters():  # wrong: over the data ranks only
        torch.distributed.all_reduce(parameter.grad, group=groups.dp_group)
        parameter.grad.div_(groups.dp)


megatron.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
