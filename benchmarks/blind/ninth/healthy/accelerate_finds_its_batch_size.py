"""accelerate tries batches that are too large and begins anew with smaller ones; state is saved and a tracker keeps a table."""

import argparse
import os
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration, find_executable_batch_size, set_seed
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    return parser.parse_args()


def load(seed):
    x, y = load_breast_cancer(return_X_y=True)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = torch.tensor(x, dtype=torch.float32)[order], torch.tensor(y, dtype=torch.float32)[order]
    x = (x - x[:400].mean(0)) / x[:400].std(0)
    return TensorDataset(x[:400], y[:400]), TensorDataset(x[400:], y[400:])


class Memory:
    """Stands for a device: so many numbers are there, others use some of them."""

    def __init__(self, seed):
        self.free = 3000 + 400 * int(torch.randint(4, (), generator=torch.Generator().manual_seed(seed)))

    def need(self, tensor):
        if tensor.numel() > self.free:
            raise RuntimeError("CUDA out of memory. Tried to allocate more than there is")


def evaluate(accelerator, model, loader):
    model.eval()
    scores, truth = [], []
    for x, y in loader:
        with torch.no_grad():
            s, t = accelerator.gather_for_metrics((model(x).squeeze(1), y))
        scores.append(s)
        truth.append(t)
    model.train()
    return roc_auc_score(torch.cat(truth).cpu(), torch.cat(scores).cpu())


def main():
    args = parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        project = ProjectConfiguration(folder, automatic_checkpoint_naming=True, total_limit=2)
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, project_config=project)
        memory, train, valid = Memory(args.seed), *load(args.seed)

        @find_executable_batch_size(starting_batch_size=192)
        def run(batch_size):
            accelerator.free_memory()
            accelerator.print(f"batches of {batch_size}")
            set_seed(args.seed)  # an attempt begins like the one before
            model = nn.Sequential(nn.Linear(30, 32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 1))
            optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
            loader, test = DataLoader(train, batch_size, shuffle=True), DataLoader(valid, 64)
            schedule = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=args.steps)
            model, optimizer, loader, test, schedule = accelerator.prepare(model, optimizer, loader, test, schedule)
            step, best = 0, 0.0
            while step < args.steps:
                for x, y in loader:
                    memory.need(x)
                    with accelerator.accumulate(model):
                        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
                        accelerator.backward(loss)
                        if accelerator.sync_gradients:
                            accelerator.clip_grad_norm_(model.parameters(), 1.0)
                        optimizer.step()
                        schedule.step()
                        optimizer.zero_grad()
                    step += accelerator.sync_gradients
                    if step == args.steps:
                        break
                if step >= args.steps or torch.rand(()).item() < 0.1:
                    area = evaluate(accelerator, model, test)
                    accelerator.print(f"step {step}: loss {loss.item():.4f}, area {area:.4f}")
                    if area > best:
                        best = area
                        accelerator.save_state()
            return best

        print(f"best area {run():.4f}, {len(os.listdir(os.path.join(folder, 'checkpoints')))} checkpoints")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
