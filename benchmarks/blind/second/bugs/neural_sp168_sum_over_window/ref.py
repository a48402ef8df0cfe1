"""Lightning with optimisation by hand: four micro-batches for a step, then a clip."""

import argparse
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.2)
parser.add_argument("--steps", type=int, default=15)
args = parser.parse_args()
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)
WINDOW = 4


class Acoustic(L.LightningModule):
    def __init__(self, width=32):
        super().__init__()
        self.automatic_optimization = False
        self.rnn = nn.GRU(8, width, batch_first=True)
        self.out = nn.Linear(width, 5)
        self.norms, self.losses = [], []

    def forward(self, x):
        return self.out(self.rnn(x)[0])

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x).flatten(0, 1), y.flatten())
        self.manual_backward(loss / WINDOW)
        self.losses.append(loss.item())
        if (index + 1) % WINDOW == 0:
            optimizer = self.optimizers()
            norm = torch.stack([p.grad.norm() for p in self.parameters()]).norm()
            self.norms.append(norm.item())
            self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            optimizer.step()
            optimizer.zero_grad()
            self.lr_schedulers().step()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
        return [optimizer], [scheduler]


def utterances(n):
    label = torch.randint(0, 5, (n, 10)).repeat_interleave(2, 1)
    centre = torch.randn(5, 8)
    return centre[label] + 0.5 * torch.randn(n, 20, 8), label


loader = DataLoader(TensorDataset(*utterances(args.steps * WINDOW * 8)), batch_size=8, shuffle=True)
model = Acoustic()
trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, loader)
print(f"EVIDENCE norm of the first gradient {model.norms[0]:.4f}, loss {model.losses[0]:.3f} to {model.losses[-1]:.3f}")

# Idea from hirofumi0810/neural_sp#168, karpathy/nanoGPT#206
# SPDX-License-Identifier: Apache-2.0
