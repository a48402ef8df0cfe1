"""accelerate saves its state within an epoch and goes on in a new one, leaving out the batches that were seen."""

import argparse
import tempfile

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
BATCH, SAMPLES, WINDOW = 16, 400, 2


class Counter:
    """How far the run is; accelerate saves and loads it with the rest."""

    def __init__(self):
        self.step = self.epoch = self.batch = 0

    def state_dict(self):
        return dict(vars(self))

    def load_state_dict(self, state):
        vars(self).update(state)


def start(data):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=WINDOW, step_scheduler_with_optimizer=False)
    model = nn.Sequential(nn.Linear(8, 48), nn.GELU(), nn.Linear(48, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=args.steps // WINDOW)
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    parts = accelerator.prepare(model, optimizer, loader, scheduler)
    counter = Counter()
    accelerator.register_for_checkpointing(counter)
    return accelerator, *parts, counter


def run(accelerator, model, optimizer, loader, scheduler, counter, until):
    while counter.step < until:
        torch.manual_seed(args.seed + 100 + counter.epoch)
        batches = accelerator.skip_first_batches(loader, counter.batch) if counter.batch else loader
        for x, y in batches:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                if accelerator.sync_gradients:
                    scheduler.step()
                optimizer.zero_grad()
            counter.step, counter.batch = counter.step + 1, counter.batch + 1
            if counter.step % 20 == 0:
                print(f"step {counter.step}, epoch {counter.epoch}: loss {loss.item():.4f}")
            if counter.step == until:
                return
        counter.epoch, counter.batch = counter.epoch + 1, 0


torch.manual_seed(args.seed)
torch.set_num_threads(1)
x = torch.randn(SAMPLES, 8)
data = TensorDataset(x, (x[:, :4] + x[:, 4:]).argmax(1))
with tempfile.TemporaryDirectory() as folder:
    parts = start(data)
    run(*parts, until=args.steps * 3 // 8 // WINDOW * WINDOW)
    parts[0].save_state(folder)
    parts = start(data)
    parts[0].load_state(folder)
    run(*parts, until=args.steps)

# SPDX-License-Identifier: Apache-2.0
