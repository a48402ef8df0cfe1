"""Lightning: the window of accumulation grows by a schedule, training stops early, random noise in the training step only."""
import argparse
import logging
import tempfile
import warnings

warnings.filterwarnings("ignore")
import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, GradientAccumulationScheduler, ModelCheckpoint
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Digits(L.LightningModule):
    def __init__(self, lr, width=96):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(64, width), nn.BatchNorm1d(width), nn.GELU(), nn.Dropout(0.2), nn.Linear(width, 10))
        self.history = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        if torch.rand(1) < 0.5:
            x = x + 0.2 * torch.randn_like(x)
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        logits = self(x)
        self.log("val_loss", nn.functional.cross_entropy(logits, y))
        self.log("val_right", (logits.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        values = self.trainer.callback_metrics
        self.history.append(values["val_loss"].item())
        print(f"epoch {self.current_epoch}, step {self.global_step}: valid {self.history[-1]:.4f}, right {values['val_right']:.4f}, "
              f"window {self.trainer.accumulate_grad_batches}")

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    L.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order] / 16, torch.tensor(y)[order]
    train = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=24, shuffle=True)
    valid = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=200)
    with tempfile.TemporaryDirectory() as folder:
        keep = ModelCheckpoint(folder, monitor="val_loss", save_top_k=1)
        trainer = L.Trainer(max_steps=args.steps, max_epochs=12, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
                            enable_model_summary=False, num_sanity_val_steps=0, gradient_clip_val=1.0, default_root_dir=folder,
                            callbacks=[GradientAccumulationScheduler({2: 2, 5: 4}), EarlyStopping("val_loss", patience=3), keep])
        trainer.fit(Digits(args.lr), train, valid)
        best = Digits.load_from_checkpoint(keep.best_model_path).eval()
        with torch.no_grad():
            print(f"best checkpoint: right {(best(x[1200:]).argmax(1) == y[1200:]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
