"""verl #5798 (after #5366): the loss divides by the batch of all ranks times the data ranks, as if FSDP2 summed gradients.
It averages them: the step is dp * dp times too small."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from parts import arguments

VOCABULARY, WIDTH, BATCH, LENGTH = 19, 8, 6, 5


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.body = nn.Sequential(nn.Linear(WIDTH, 12), nn.SiLU(), nn.Linear(12, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(self.norm(x + self.body(x)))


def aggregate(losses, mask, global_batch, dp, bug):
    """The mean over sequences of each sequence's mean over its tokens."""
    sequences = (losses * mask).sum(-1) / mask.sum(-1)
    if bug:
        return sequences.sum() / (global_batch * dp)  # place
    return sequences.sum() / global_batch * dp


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = Policy()
    if args.dp > 1:
        mesh = init_device_mesh("cpu", (args.dp,), mesh_dim_names=("dp",))
        fully_shard(model.body, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        lengths = torch.tensor([5, 3, 4, 2, 5, 1])
        mask = (torch.arange(LENGTH) < lengths[:, None]).float()
        advantages = torch.tensor([0.5, -1.0, 0.25, 1.0, -0.5, 0.75])
        text, mask, advantages = (t.chunk(args.dp)[args.index["dp"]] for t in (text, mask, advantages))
        optimizer.zero_grad()
        chances = F.log_softmax(model(text[:, :-1]), -1).gather(-1, text[:, 1:, None]).squeeze(-1)
        loss = aggregate(-chances * advantages[:, None], mask, BATCH, args.dp, args.bug)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
