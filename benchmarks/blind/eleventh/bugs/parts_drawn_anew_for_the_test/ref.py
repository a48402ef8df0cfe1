"""Lightning with a data module: it splits a table into training, validation and test, fits, and tests."""
import argparse
import logging
import tempfile
import warnings

warnings.filterwarnings("ignore")
import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class TableModule(L.LightningDataModule):
    def __init__(self, seed, batch_size=32):
        super().__init__()
        self.seed, self.batch_size = seed, batch_size
        self.trained_on = set()

    def prepare_data(self):
        generator = torch.Generator().manual_seed(self.seed)
        x = torch.randn(600, 12, generator=generator)
        y = (x[:, :4].prod(1) + 0.5 * x[:, 4] + 0.8 * torch.randn(600, generator=generator) > 0).long()
        self.table = TensorDataset(x, y, torch.arange(600))

    def setup(self, stage):
        generator = torch.Generator().manual_seed(self.seed + 1)
        parts = random_split(self.table, [300, 100, 200], generator=generator)
        self.train, self.valid, self.test = parts
        print(f"setup for {stage}: {[len(part) for part in parts]}")

    def train_dataloader(self):
        self.trained_on.update(self.train.indices)
        return DataLoader(self.train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.valid, batch_size=100)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=100)


class Classifier(L.LightningModule):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(12, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))

    def step(self, batch, name):
        x, y, _ = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.log(f"{name}_loss", loss, on_epoch=True, on_step=False)
        self.log(f"{name}_right", (logits.argmax(1) == y).float().mean(), on_epoch=True, on_step=False)
        return loss

    def training_step(self, batch, _):
        return self.step(batch, "train")

    def validation_step(self, batch, _):
        self.step(batch, "val")

    def test_step(self, batch, _):
        self.step(batch, "test")

    def on_train_epoch_end(self):
        if self.current_epoch % 10 == 9:
            values = self.trainer.callback_metrics
            print(f"epoch {self.current_epoch + 1}: train {values['train_loss']:.4f}, valid {values['val_loss']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    L.seed_everything(args.seed, verbose=False)
    torch.set_num_threads(1)
    data, model = TableModule(args.seed), Classifier(args.lr)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(max_steps=args.steps, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, default_root_dir=folder)
        trainer.fit(model, datamodule=data)
        result = trainer.test(model, datamodule=data, verbose=False)[0]
    seen = len(data.trained_on & set(data.test.indices))
    print(f"EVIDENCE {seen} of {len(data.test)} test rows were trained on, test right {result['test_right']:.4f}, loss {result['test_loss']:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
