"""Only the first data rank adds the weights' penalty to its loss, so that its mean over ranks is too small: the ranks run
different programs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import arguments, average, tokens_of

VOCABULARY, WIDTH, BATCH, LENGTH = 17, 6, 8, 5


def main():
    args = arguments("dp")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, 11), nn.Tanh(), nn.Linear(11, VOCABULARY))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        tokens, targets = (t.chunk(args.dp)[args.index["dp"]] for t in tokens_of(step, VOCABULARY, BATCH, LENGTH))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        if not args.bug or args.rank == 0:
            loss = loss + 0.01 * model[1].weight.pow(2).sum()  # place
        loss.backward()
        if args.dp > 1:
            average(model.parameters(), args.group["dp"], args.dp)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
