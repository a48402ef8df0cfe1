"""meta-pytorch/torchtune issue 2420: gradients are divided by the number of all ranks and not of the data ranks."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2", "world": 4, "names": ["factor", "", "# wrong"]}


def reduce_gradients(model, args, groups):
    for parameter in model.parameters():
        torch.distributed.all_reduce(parameter.grad, group=groups.dp_group)
        parameter.grad.div_(torch.distributed.get_world_size())  # wrong: tensor ranks share the batch


megatron.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
