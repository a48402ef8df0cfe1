"""DeepSpeed under torchrun, ZeRO 1: two micro-batches a step, a client's AdamW and schedule, clipping by the engine."""

import logging

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options

BATCH, MICRO_BATCHES = 32, 2


class Classifier(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, width), nn.LayerNorm(width), nn.GELU(), nn.Dropout(0.1))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.body(x))


def accuracy(engine, loader):
    engine.eval()
    counts = torch.zeros(2)
    with torch.no_grad():
        for x, y in loader:
            counts += torch.tensor([(engine(x).argmax(1) == y).sum(), len(y)])
    dist.all_reduce(counts)
    engine.train()
    return (counts[0] / counts[1]).item()


def main():
    args = options(lr=4e-3, width=48, steps=40)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(args.seed)
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target))
    train_set, test_set = torch.utils.data.random_split(data, [1500, 297], torch.Generator().manual_seed(1))
    sampler = DistributedSampler(train_set, seed=args.seed)
    loader = DataLoader(train_set, batch_size=BATCH, sampler=sampler, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=64, sampler=DistributedSampler(test_set, shuffle=False))

    model = Classifier(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 8))
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        lr_scheduler=schedule,
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "gradient_accumulation_steps": MICRO_BATCHES,
            "gradient_clipping": 1.0,
            "zero_optimization": {"stage": 1},
        },
    )
    epochs = max(2, round(args.steps * MICRO_BATCHES / len(loader)))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = F.cross_entropy(engine(x), y)
            engine.backward(loss)
            engine.step()
        correct = accuracy(engine, test_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {correct:.3f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
