"""NVIDIA/Megatron-LM issue 1446: with sequence parallelism the gradient of the final norm stays each rank's own."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --sequence", "world": 4, "names": ["native_layer_norm_backward", "setups/megatron.py", "return self.norm(x)"]}


def reduce_gradients(model, args, groups):
    for name, parameter in model.named_parameters():
        if not megatron.is_split(name) and not name.startswith("norm."):  # wrong: the final norm is one of them
            torch.distributed.all_reduce(parameter.grad, group=groups.tp_group)
        torch.distributed.all_reduce(parameter.grad, group=groups.dp_group)
        parameter.grad.div_(groups.dp)


megatron.reduce_gradients = reduce_gradients


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
