"""Lightning: a trunk with two heads on the wine data, a task drawn for every batch, early stopping on the joint loss."""
import argparse
import logging
import random
import tempfile
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", ".*does not have many workers.*")
logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


class WineData(L.LightningDataModule):
    """Class of the wine from all measurements but the colour, and the colour itself, which is the column 9."""

    def __init__(self, seed, batch_size=16):
        super().__init__()
        x, y = load_wine(return_X_y=True)
        colour = x[:, 9].copy()
        x = x[:, [i for i in range(x.shape[1]) if i != 9]]
        tr, va = train_test_split(range(len(y)), test_size=0.35, stratify=y, random_state=seed)
        x, colour = (x - x[tr].mean(0)) / x[tr].std(0), (colour - colour[tr].mean()) / colour[tr].std()
        part = lambda i: TensorDataset(torch.tensor(x[i], dtype=torch.float32), torch.tensor(y[i]),
                                       torch.tensor(colour[i], dtype=torch.float32))
        self.train_set, self.val_set, self.batch_size = part(tr), part(va), batch_size

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True, drop_last=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, 64)


class MultiTask(L.LightningModule):
    def __init__(self, lr, task_weights=(0.6, 0.4)):
        super().__init__()
        self.save_hyperparameters()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.ModuleDict({"kind": nn.Linear(32, 3), "colour": nn.Linear(32, 1)})

    def task_loss(self, task, x, y, colour):
        out = self.heads[task](self.trunk(x))
        if task == "kind":
            return nn.functional.cross_entropy(out, y), out
        return nn.functional.mse_loss(out.squeeze(1), colour), out

    def training_step(self, batch, batch_idx):
        task = random.choices(["kind", "colour"], self.hparams.task_weights)[0]
        loss, _ = self.task_loss(task, *batch)
        self.log(f"train_{task}", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        kind_loss, logits = self.task_loss("kind", *batch)
        colour_loss, _ = self.task_loss("colour", *batch)
        accuracy = (logits.argmax(1) == batch[1]).float().mean()
        self.log_dict({"val_loss": kind_loss + colour_loss, "val_acc": accuracy, "val_colour": colour_loss},
                      batch_size=len(batch[0]))

    def on_validation_epoch_end(self):
        if not self.trainer.sanity_checking and self.current_epoch % 3 == 0:
            m = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch}: val loss {m['val_loss']:.4f}, accuracy {m['val_acc']:.3f}, "
                  f"colour {m['val_colour']:.3f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.lr, weight_decay=1e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--steps", type=int, default=16, help="max. epochs")
    args = parser.parse_args()
    L.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(folder, monitor="val_loss", save_weights_only=True)
        trainer = L.Trainer(max_epochs=args.steps, accelerator="cpu", logger=False, enable_progress_bar=False,
                            enable_model_summary=False, gradient_clip_val=1.0, log_every_n_steps=1, default_root_dir=folder,
                            callbacks=[best, EarlyStopping("val_loss", patience=3)])
        data = WineData(args.seed)
        trainer.fit(MultiTask(args.lr), datamodule=data)
        model = MultiTask.load_from_checkpoint(best.best_model_path)
        result, = trainer.validate(model, datamodule=data, verbose=False)
        summary = ", ".join(f"{k} {v:.4f}" for k, v in sorted(result.items()))
        print(f"stopped after {trainer.current_epoch} epochs; best: {summary}")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
