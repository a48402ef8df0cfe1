"""Rates go up and down in cycles; weights and statistics are averaged at the end of each cycle only."""

import argparse

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.08)
parser.add_argument("--steps", type=int, default=240)
args = parser.parse_args()
CYCLE = 40


def make_data(count, centres):
    labels = torch.randint(len(centres), (count,))
    return TensorDataset(centres[labels] + torch.randn(count, centres.shape[1]), labels)


@torch.no_grad()
def loss_of(model, dataset):
    x, y = dataset.tensors
    was_training = model.training
    model.eval()
    loss = nn.functional.cross_entropy(model(x), y).item()
    model.train(was_training)
    return loss


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    centres = torch.randn(7, 12)
    train_set, valid_set = make_data(1000, centres), make_data(300, centres)
    loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 7))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    # the rate starts high in each cycle, falls, and the first cycle has a short warm-up besides
    factor = lambda step: (1 - 0.95 * (step % CYCLE) / (CYCLE - 1)) * (min(1.0, (step + 1) / 10) if step < CYCLE else 1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    average, step = AveragedModel(model, use_buffers=True), 0
    while step < args.steps:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step % CYCLE == 0:
                average.update_parameters(model)
                if step >= 3 * CYCLE:
                    optimizer.state.clear()
                print(f"step {step}: own {loss_of(model, valid_set):.4f}, average of {int(average.n_averaged)} "
                      f"{loss_of(average, valid_set):.4f}")
            if step >= args.steps:
                break
    best = min((loss_of(m, valid_set), name) for m, name in ((model, "own"), (average, "average")))
    print(f"best: {best[1]} with {best[0]:.4f}")


main()

# SPDX-License-Identifier: Apache-2.0
