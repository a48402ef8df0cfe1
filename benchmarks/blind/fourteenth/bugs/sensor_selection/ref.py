"""Which sensors to keep: a concrete selector picks eight of 28 columns and a network predicts the wear from them (Lightning)."""

import argparse
import logging
import tempfile
import warnings

import lightning.pytorch as pl
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=1e-2)
parser.add_argument("--steps", type=int, default=14, help="epochs")
args = parser.parse_args()

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)
pl.seed_everything(args.seed, verbose=False)

COLUMNS, KEPT = 28, 8
USEFUL = [3, 8, 11, 15, 21, 26]


def read_sensors(n):
    x = torch.randn(n, COLUMNS)
    a, b, c, d, e, f = x[:, USEFUL].unbind(1)
    wear = 1.2 * a + b * c.sign() + 0.8 * torch.tanh(2 * d) + 0.7 * e + 0.6 * f.abs() + 0.6 * c
    return x, (wear + 0.2 * torch.randn(n) - 0.5).unsqueeze(1)


class SensorData(pl.LightningDataModule):
    def setup(self, stage):
        if not hasattr(self, "parts"):
            self.parts = {"train": TensorDataset(*read_sensors(3000)), "test": TensorDataset(*read_sensors(1000))}

    def train_dataloader(self):
        return DataLoader(self.parts["train"], batch_size=80, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.parts["test"], batch_size=500)


class Selector(nn.Module):
    """Each output is a relaxed draw of one column in training, and the most likely column else."""

    def __init__(self, columns, kept):
        super().__init__()
        self.logits = nn.Parameter(0.01 * torch.randn(kept, columns))
        self.temperature = 4.0

    def chosen(self):
        return self.logits.argmax(1)

    def forward(self, x):
        if not self.training:
            return x[:, self.chosen()]
        noise = -torch.log(-torch.log(torch.rand(len(x), *self.logits.shape).clamp(1e-9, 1 - 1e-7)))
        weight = torch.softmax((self.logits + noise) / self.temperature, dim=2)
        return torch.einsum("bkc,bc->bk", weight, x)


class WearModel(pl.LightningModule):
    def __init__(self, lr, width=48):
        super().__init__()
        self.lr = lr
        self.select = Selector(COLUMNS, KEPT)
        self.predict = nn.Sequential(
            nn.Linear(KEPT, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.predict(self.select(x))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.mse_loss(self(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("valid_r2", 1 - F.mse_loss(self(x), y) / y.var(), on_epoch=True)

    def configure_optimizers(self):
        return torch.optim.Adam(
            [{"params": self.select.parameters(), "lr": 5 * self.lr}, {"params": self.predict.parameters()}], lr=self.lr / 3
        )


class Cooling(Callback):
    """The temperature of the draws falls geometrically from the first epoch to the last."""

    def __init__(self, start=4.0, end=0.1):
        self.start, self.end = start, end

    def on_train_epoch_start(self, trainer, pl_module):
        share = trainer.current_epoch / max(1, trainer.max_epochs - 1)
        pl_module.select.temperature = self.start * (self.end / self.start) ** share


class Journal(Callback):
    def on_validation_epoch_end(self, trainer, pl_module):
        if trainer.sanity_checking or trainer.current_epoch % 5:
            return
        r2 = trainer.callback_metrics["valid_r2"].item()
        print(f"epoch {trainer.current_epoch + 1}: r2 {r2:.3f}, columns {sorted(set(pl_module.select.chosen().tolist()))}")


with tempfile.TemporaryDirectory() as folder:
    model = WearModel(args.lr)
    trainer = pl.Trainer(
        max_epochs=args.steps, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        callbacks=[Cooling(), Journal()], num_sanity_val_steps=0,
    )
    data = SensorData()
    trainer.fit(model, datamodule=data)
    r2 = trainer.validate(model, datamodule=data, verbose=False)[0]["valid_r2"]
found = sorted(set(model.select.chosen().tolist()) & set(USEFUL))
print(f"EVIDENCE last temperature {model.select.temperature:.2f}, useful columns found {len(found)} of {len(USEFUL)}, r2 {r2:.3f}")
