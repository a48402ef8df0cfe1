"""Training is cut within an epoch; the second run skips what was seen of that epoch and goes on."""
import argparse
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--checkpointing_steps", type=int, default=50)
    return parser.parse_args()


def make_data(seed):
    generator = torch.Generator().manual_seed(1000 + seed)
    centers = 1.5 * torch.randn(24, 10, generator=generator)
    labels = torch.arange(24).repeat_interleave(40)
    inputs = centers[labels] + torch.randn(len(labels), 10, generator=generator)
    test = centers.repeat(20, 1) + torch.randn(480, 10, generator=generator)
    return TensorDataset(inputs, labels), test, torch.arange(24).repeat(20)


class FixedOrder(torch.utils.data.Sampler):
    """The data are mixed once and come in this order in each epoch."""

    def __init__(self, size):
        self.order = torch.randperm(size, generator=torch.Generator().manual_seed(7)).tolist()

    def __iter__(self):
        return iter(self.order)

    def __len__(self):
        return len(self.order)


def build(args):
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 24))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    return model, optimizer


def train(args, path, stop_at, resume=False):
    torch.manual_seed(args.seed)
    dataset, _, _ = make_data(args.seed)
    loader = DataLoader(dataset, batch_size=12, sampler=FixedOrder(len(dataset)))
    model, optimizer = build(args)
    completed_steps, starting_epoch, resume_step, trained = 0, 0, None, 0
    if resume:
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        completed_steps = checkpoint["completed_steps"]
        starting_epoch, resume_step = divmod(completed_steps, len(loader))
    epoch = starting_epoch
    while completed_steps < stop_at:
        for step, (inputs, labels) in enumerate(loader):
            if resume_step is not None and step < resume_step:
                continue
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            completed_steps += 1
            trained += 1
            if completed_steps % 40 == 0:
                print(f"epoch {epoch}, step {completed_steps}: loss {loss.item():.4f}")
            if completed_steps >= stop_at:
                break
        epoch += 1
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "completed_steps": completed_steps}, path)
    return model, epoch


def main():
    args = get_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.pt")
        train(args, path, args.checkpointing_steps)
        model, epochs = train(args, path, 2 * args.steps, resume=True)
    _, test, labels = make_data(args.seed)
    model.eval()
    with torch.no_grad():
        right = (model(test).argmax(1) == labels).float().mean().item()
    print(f"EVIDENCE {epochs} epochs were begun, test accuracy {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
