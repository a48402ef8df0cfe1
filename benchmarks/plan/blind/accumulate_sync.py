"""karpathy/build-nanogpt #30: whether DDP reduces in this backward is said before the backward, but DDP reads it in the
forward. The gradient of the last micro-batch stays on its rank."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from parts import arguments

VOCABULARY, WIDTH, BATCH, LENGTH, ACCUMULATE = 23, 8, 12, 5, 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.fc = nn.Linear(WIDTH, 14)
        self.proj = nn.Linear(14, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        x = x + self.proj(F.gelu(self.fc(x)))  # place
        logits = self.head(x)  # place
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = Model()
    job = DistributedDataParallel(model) if args.dp > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(5):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        text = text.view(ACCUMULATE, args.dp, -1, LENGTH + 1)[:, args.index["dp"]]
        optimizer.zero_grad()
        for micro in range(ACCUMULATE):
            if args.dp > 1 and not args.bug:
                job.require_backward_grad_sync = micro == ACCUMULATE - 1
            loss = job(text[micro, :, :-1], text[micro, :, 1:]) / ACCUMULATE
            if args.dp > 1 and args.bug:
                job.require_backward_grad_sync = micro == ACCUMULATE - 1
            loss.backward()  # place
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
