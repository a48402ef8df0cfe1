"""accelerate accumulates gradients over four micro-batches; a network learns to read noisy codes."""
import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    return parser.parse_args()


def codes(seed, count):
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(0, 2, (20, 24), generator=torch.Generator().manual_seed(seed // 2)).float() * 2 - 1
    labels = torch.randint(20, (count,), generator=generator)
    return TensorDataset(table[labels] + 1.5 * torch.randn(count, 24, generator=generator), labels)


def main():
    args = parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.gradient_accumulation_steps)
    model = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 20))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loader = DataLoader(codes(2 * args.seed, 1600), batch_size=8, shuffle=True)
    test_loader = DataLoader(codes(2 * args.seed + 1, 800), batch_size=200)
    model, loader, test_loader = accelerator.prepare(model, loader, test_loader)
    completed, start = 0, nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    model.train()
    while completed < args.steps:
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                completed += 1
                if completed % 20 == 0:
                    accelerator.print(f"step {completed}: loss {loss.item():.4f}")
                if completed == args.steps:
                    break
    model.eval()
    right = total = 0
    for x, y in test_loader:
        with torch.no_grad():
            answers, labels = accelerator.gather_for_metrics((model(x).argmax(1), y))
        right, total = right + (answers == labels).sum().item(), total + len(labels)
    way = (nn.utils.parameters_to_vector(model.parameters()) - start).norm().item()
    print(f"EVIDENCE test accuracy {right / total:.4f}, weights have moved by {way:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
