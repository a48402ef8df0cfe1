"""A pointer network plans short tours; the baseline is an older copy, replaced when a test says so."""

import argparse
import copy

import torch
from scipy.stats import ttest_rel
from torch import nn


class Planner(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Linear(2, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.query, self.key = nn.Linear(2 * width, width), nn.Linear(width, width)

    def forward(self, towns, greedy=False):
        nodes = self.encoder(self.embed(towns))
        keys, rows = self.key(nodes), torch.arange(len(towns))
        visited = torch.zeros(towns.shape[:2], dtype=torch.bool)
        visited[:, 0] = True
        here, order, log_p = nodes[:, 0], [torch.zeros(len(towns), dtype=torch.long)], 0.0
        for _ in range(towns.size(1) - 1):
            query = self.query(torch.cat([nodes.mean(1), here], 1))
            scores = 8 * torch.tanh((keys @ query[..., None]).squeeze(-1) / keys.size(-1) ** 0.5)
            log_probs = scores.masked_fill(visited, -1e9).log_softmax(1)
            chosen = log_probs.argmax(1) if greedy else torch.multinomial(log_probs.exp(), 1).squeeze(1)
            visited = visited.scatter(1, chosen[:, None], True)
            here = nodes[rows, chosen]
            log_p = log_p + log_probs[rows, chosen]
            order.append(chosen)
        path = towns.gather(1, torch.stack(order, 1)[..., None].expand(-1, -1, 2))
        return (path - path.roll(-1, 1)).norm(dim=2).sum(1), log_p


@torch.no_grad()
def lengths(model, towns):
    model.eval()
    return model(towns, greedy=True)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = Planner()
    baseline, moving, replaced = copy.deepcopy(model), None, 0
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    test = torch.rand(200, 8, 2)
    for step in range(1, args.steps + 1):
        model.train()
        towns = torch.rand(48, torch.randint(6, 10, ()).item(), 2)
        length, log_p = model(towns)
        if step <= 30:  # a moving mean at first
            moving = length.mean().item() if moving is None else 0.8 * moving + 0.2 * length.mean().item()
            advantage = length.detach() - moving
        else:
            advantage = length.detach() - lengths(baseline, towns)
        loss = (advantage * log_p).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 15 == 0:
            new, old = lengths(model, test), lengths(baseline, test)
            if new.mean() < old.mean() and ttest_rel(new, old, alternative="less").pvalue < 0.05:
                baseline.load_state_dict(model.state_dict())
                test, replaced = torch.rand(200, 8, 2), replaced + 1  # others, as these were looked at
            if step % 30 == 0:
                print(f"step {step}: loss {loss.item():+.3f}, tours of {new.mean().item():.3f}, {replaced} baselines")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
