"""prime-rl #1957, #2358, SkyRL #1296: each data rank takes the mean over its own tokens that count, and DDP the mean of
these means. Ranks with few tokens weigh too much."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from parts import arguments

VOCABULARY, WIDTH, BATCH, LENGTH = 23, 8, 6, 7


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.mix = nn.GRUCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        state, states = torch.zeros(tokens.shape[0], WIDTH), []
        for t in range(tokens.shape[1]):
            state = self.mix(x[:, t], state)
            states.append(state)
        return self.head(torch.stack(states, 1))


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = Model()
    job = DistributedDataParallel(model) if args.dp > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        lengths = torch.tensor([7, 5, 6, 2, 3, 1])
        mask = (torch.arange(LENGTH) < lengths[:, None]).float()
        count = mask.sum()
        text, mask = (t.chunk(args.dp)[args.index["dp"]] for t in (text, mask))
        optimizer.zero_grad()
        losses = F.cross_entropy(job(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten(), reduction="none")
        total = (losses * mask.flatten()).sum()
        if args.bug:
            loss = total / mask.sum()  # place
        else:
            loss = total * args.dp / count
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
