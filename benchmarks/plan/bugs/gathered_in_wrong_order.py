"""The shards of the sequence are put together back to front."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import torch.distributed  # noqa: E402
import megatron  # noqa: E402

RUN = {"options": "--tp 2 --dp 2 --sequence", "world": 4, "names": ["cat", "", "# wrong"]}


def gather_sequence(x, groups):
    out = x.new_empty((groups.tp, *x.shape))
    torch.distributed.all_gather_into_tensor(out.view(-1), x.contiguous().view(-1), group=groups.tp_group)
    return torch.cat(list(out.unbind(0))[::-1], 1)  # wrong


megatron.gather_sequence = gather_sequence


if __name__ == "__main__":
    megatron.main()

# SPDX-License-Identifier: Apache-2.0
