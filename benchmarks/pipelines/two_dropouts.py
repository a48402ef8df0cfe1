"""One batch twice through the model; the two answers are pulled together."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from options import options


def main():
    args = options(lr=2e-3, width=64, steps=60)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    model = nn.Sequential(nn.Linear(64, args.width), nn.GELU(), nn.Dropout(0.3), nn.Linear(args.width, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        model.train()
        rows = torch.randint(0, 1400, (48,))
        one, two = (F.log_softmax(model(x[rows]), dim=-1) for _ in range(2))
        apart = F.kl_div(one, two.exp(), reduction="batchmean") + F.kl_div(two, one.exp(), reduction="batchmean")
        loss = F.nll_loss(one, y[rows]) + F.nll_loss(two, y[rows]) + 0.5 * apart
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            model.eval()
            with torch.no_grad():
                right = (model(x[1400:]).argmax(-1) == y[1400:]).float().mean()
            print(f"step {step + 1}: accuracy {right:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
