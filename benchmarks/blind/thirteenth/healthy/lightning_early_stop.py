"""Lightning: a GRU forecaster of sales with EarlyStopping, ModelCheckpoint and the best weights for the test."""

import argparse
import logging
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=14, help="at most so many epochs")
args = parser.parse_args()
torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
L.seed_everything(args.seed, verbose=False)

WINDOW, HORIZON = 28, 7


class SalesData(L.LightningDataModule):
    def __init__(self, shops=16, days=400, batch_size=64):
        super().__init__()
        self.shops, self.days, self.batch_size = shops, days, batch_size

    def setup(self, stage=None):
        if hasattr(self, "train"):
            return
        generator = torch.Generator().manual_seed(args.seed)
        day = torch.arange(self.days)
        week = torch.randn(self.shops, 7, generator=generator)[:, day % 7]
        season = torch.sin(2 * torch.pi * day / 90 + 6 * torch.rand(self.shops, 1, generator=generator))
        noise = 0.3 * torch.randn(self.shops, self.days, generator=generator)
        sales = week + 0.8 * season + noise
        cut1, cut2 = int(self.days * 0.7), int(self.days * 0.85)
        mean, std = sales[:, :cut1].mean(1, keepdim=True), sales[:, :cut1].std(1, keepdim=True)
        sales = (sales - mean) / std
        self.train = self.windows(sales[:, :cut1], 3)
        self.valid = self.windows(sales[:, cut1 - WINDOW : cut2], 2)
        self.test = self.windows(sales[:, cut2 - WINDOW :], 2)

    def windows(self, sales, stride):
        parts = sales.unfold(1, WINDOW + HORIZON, stride).reshape(-1, WINDOW + HORIZON)
        return TensorDataset(parts[:, :WINDOW].contiguous(), parts[:, WINDOW:].contiguous())

    def train_dataloader(self):
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=256)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=256)


class Forecaster(L.LightningModule):
    def __init__(self, hidden=32, lr=5e-3):
        super().__init__()
        self.save_hyperparameters()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(hidden, HORIZON)

    def forward(self, past):
        _, h = self.gru(past.unsqueeze(-1))
        return self.head(self.drop(h[-1]))

    def training_step(self, batch, _):
        past, future = batch
        loss = nn.functional.huber_loss(self(past), future)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        past, future = batch
        self.log("val_mae", nn.functional.l1_loss(self(past), future), prog_bar=True)

    def test_step(self, batch, _):
        past, future = batch
        self.log("test_mae", nn.functional.l1_loss(self(past), future))
        self.log("weekly_mae", nn.functional.l1_loss(past[:, -7:], future))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_mae"}}


with tempfile.TemporaryDirectory() as folder:
    stopper = EarlyStopping("val_mae", patience=2, min_delta=2e-3)
    keeper = ModelCheckpoint(folder, monitor="val_mae", save_top_k=1)
    trainer = L.Trainer(
        max_epochs=args.steps, accelerator="cpu", devices=1, callbacks=[stopper, keeper], logger=False,
        gradient_clip_val=1.0, enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
        default_root_dir=folder,
    )
    data = SalesData()
    trainer.fit(Forecaster(lr=args.lr), data)
    epochs = trainer.current_epoch
    best = Forecaster.load_from_checkpoint(keeper.best_model_path)
    result = trainer.test(best, data, verbose=False)[0]
print(f"epochs {epochs}, test MAE {result['test_mae']:.3f} against {result['weekly_mae']:.3f} for last week's sales")
