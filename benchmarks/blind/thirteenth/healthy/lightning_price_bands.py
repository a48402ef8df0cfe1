"""Lightning: house price bands from mixed columns, with checkpoints, early stopping and the best weights tested."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=8, help="epochs")
args = parser.parse_args()
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(args.seed, verbose=False)
torch.set_num_threads(1)


class Houses(L.LightningDataModule):
    def __init__(self, n=4000, batch_size=128):
        super().__init__()
        self.n, self.batch_size = n, batch_size

    def setup(self, stage=None):
        if hasattr(self, "train_set"):
            return
        town, kind = torch.randint(0, 30, (self.n,)), torch.randint(0, 5, (self.n,))
        area = 60 + 40 * torch.rand(self.n) * (1 + kind)
        age = 80 * torch.rand(self.n) ** 2
        distance = torch.distributions.Gamma(2.0, 0.4).sample((self.n,))
        value = area * (2 + torch.randn(30)[town] * 0.5) - age * 0.8 - 6 * distance + 12 * torch.randn(self.n)
        band = torch.bucketize(value, torch.quantile(value, torch.tensor([0.2, 0.5, 0.8])))
        numbers = torch.stack([area, age, distance], 1)
        whole = TensorDataset(torch.stack([town, kind], 1), numbers, band)
        generator = torch.Generator().manual_seed(args.seed)
        self.train_set, self.valid_set, self.test_set = random_split(whole, [0.7, 0.15, 0.15], generator)
        seen = numbers[self.train_set.indices]
        self.mean, self.std = seen.mean(0), seen.std(0)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.valid_set, batch_size=300)

    def test_dataloader(self):
        return DataLoader(self.test_set, batch_size=300)


class PriceBands(L.LightningModule):
    def __init__(self, mean, std, lr=1e-3, hidden=64, dropout=0.1):
        super().__init__()
        self.save_hyperparameters("lr", "hidden", "dropout")
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.town, self.kind = nn.Embedding(30, 8), nn.Embedding(5, 3)
        self.net = nn.Sequential(
            nn.Linear(14, hidden), nn.LayerNorm(hidden), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, 4),
        )
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.02)

    def forward(self, codes, numbers):
        scaled = (numbers - self.mean) / self.std
        return self.net(torch.cat([self.town(codes[:, 0]), self.kind(codes[:, 1]), scaled], 1))

    def _shared(self, batch, stage):
        codes, numbers, band = batch
        logits = self(codes, numbers)
        loss = self.criterion(logits, band)
        accuracy = (logits.argmax(1) == band).float().mean()
        on_step = False if stage != "train" else None
        self.log_dict({f"{stage}_loss": loss, f"{stage}_acc": accuracy}, on_step=on_step, on_epoch=True, batch_size=len(band))
        return loss

    def training_step(self, batch, batch_idx):
        return self._shared(batch, "train")

    def validation_step(self, batch, batch_idx):
        self._shared(batch, "val")

    def test_step(self, batch, batch_idx):
        self._shared(batch, "test")

    def configure_optimizers(self):
        decay = [p for p in self.parameters() if p.ndim > 1]
        plain = [p for p in self.parameters() if p.ndim <= 1]
        optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=self.hparams.lr
        )
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


with tempfile.TemporaryDirectory() as folder:
    data = Houses()
    data.setup()
    model = PriceBands(data.mean, data.std, lr=args.lr)
    best = ModelCheckpoint(folder, monitor="val_loss", mode="min", save_top_k=1)
    trainer = L.Trainer(
        max_epochs=args.steps, accelerator="cpu", devices=1, logger=CSVLogger(folder), log_every_n_steps=5,
        callbacks=[best, EarlyStopping("val_loss", patience=3), LearningRateMonitor("epoch")],
        gradient_clip_val=1.0, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=1,
    )
    trainer.fit(model, datamodule=data)
    result = trainer.test(model, datamodule=data, ckpt_path=best.best_model_path, verbose=False)[0]
print(f"stopped after {trainer.current_epoch} epochs, test loss {result['test_loss']:.4f}, accuracy {result['test_acc']:.3f}")
