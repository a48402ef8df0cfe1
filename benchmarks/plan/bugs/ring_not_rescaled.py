"""Online softmax: what is summed so far is not rescaled to the new maximum."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import ring  # noqa: E402

RUN = {"options": "--ranks 3 --merge online", "world": 3, "names": ["", "", "# wrong"]}


def online(q, k, v, rank, ranks):
    keys, values = ring.Gather.apply(k, ranks), ring.Gather.apply(v, ranks)
    highest = total = out = None
    for block in range(rank, -1, -1):
        scores = q @ keys[block].transpose(2, 3) / q.shape[-1] ** 0.5
        if block == rank:
            scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool).triu(1), float("-inf"))
        local = scores.amax(-1, keepdim=True).detach()
        new = local if highest is None else torch.maximum(highest, local)
        weights = torch.exp(scores - new)
        if highest is None:
            total, out = weights.sum(-1, keepdim=True), weights @ values[block]
        else:
            total = total * torch.exp(highest - new) + weights.sum(-1, keepdim=True)
            out = out + weights @ values[block]  # wrong: out * exp(highest - new)
        highest = new
    return out / total


ring.online = online


if __name__ == "__main__":
    ring.main()

# SPDX-License-Identifier: Apache-2.0
