"""Lightning: a callback keeps the backbone frozen for an epoch, then gives its parameters to the optimizer as a group."""

import argparse
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import BaseFinetuning, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=48)
args = parser.parse_args()
warnings.filterwarnings("ignore")


class Thaw(BaseFinetuning):
    def freeze_before_training(self, module):
        self.freeze(module.backbone, train_bn=False)

    def finetune_function(self, module, epoch, optimizer):
        if epoch == 1:
            self.unfreeze_and_add_param_group(module.backbone[3:], optimizer, lr=args.lr / 10, train_bn=False)
        if epoch == 2:
            self.unfreeze_and_add_param_group(module.backbone[:3], optimizer, lr=args.lr / 100, train_bn=False)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.backbone(x))

    def training_step(self, batch, index):
        loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def configure_optimizers(self):
        trained = [p for p in self.parameters() if p.requires_grad]
        return torch.optim.AdamW(trained, lr=args.lr)


L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)
x = torch.randn(384, 12)
y = (x @ torch.randn(12, 3)).argmax(1)
train = DataLoader(TensorDataset(x[:256], y[:256]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[256:], y[256:]), batch_size=64)
model = Classifier()
with tempfile.TemporaryDirectory() as folder:
    best = ModelCheckpoint(monitor="val_loss")
    trainer = L.Trainer(max_steps=args.steps, callbacks=[Thaw(), best], accelerator="cpu", logger=False,
                        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
    trainer.fit(model, train, val)
print(f"loss {trainer.callback_metrics['val_loss']:.3f}, {len(trainer.optimizers[0].param_groups)} groups at the end")

# SPDX-License-Identifier: Apache-2.0
