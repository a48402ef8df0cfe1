"""Prices of flats: successive halving over random settings; survivors go on from where they stopped, some die early, the winner is refitted."""

import argparse
import io
import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=3, help="epochs of the first round")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

DISTRICTS = 30


def survey(n):
    numbers = np.stack([rng.gamma(6, 13, n), rng.integers(0, 12, n), rng.uniform(1900, 2024, n), rng.exponential(3, n)], 1)
    district = rng.integers(0, DISTRICTS, n)
    level = np.random.default_rng(5).normal(0, 0.35, DISTRICTS)
    size, floor, year, far = numbers.T
    log_price = 8 + 0.9 * np.log(size + 10) + level[district] * (1 + 0.3 * np.sin(year / 20)) - 0.06 * far + 0.02 * floor * (year > 1970)
    numbers[rng.random(numbers.shape) < 0.05] = np.nan
    return numbers, district, log_price + rng.normal(0, 0.1, n)


def build(config, numbers):
    return nn.ModuleDict({
        "district": nn.Embedding(DISTRICTS, config["embedding"]),
        "body": nn.Sequential(
            nn.Linear(2 * numbers + config["embedding"], config["width"]), config["activation"](), nn.Dropout(config["dropout"]),
            nn.Linear(config["width"], config["width"]), config["activation"](), nn.Linear(config["width"], 1),
        ),
    })


def propose():
    return {
        "width": int(rng.choice([16, 32, 64])), "embedding": int(rng.integers(2, 9)), "dropout": float(rng.choice([0.0, 0.1, 0.3])),
        "activation": [nn.ReLU, nn.GELU, nn.Tanh][rng.integers(3)], "rate": float(10 ** rng.uniform(-0.8, 0.4)),
        "optimizer": str(rng.choice(["adam", "sgd", "rmsprop"])), "batch": int(rng.choice([64, 128, 256])),
    }


def prepare(numbers, scaler):
    missing = np.isnan(numbers)
    filled = np.where(missing, scaler.mean_, numbers)
    return torch.tensor(np.concatenate([scaler.transform(filled), missing], 1), dtype=torch.float32)


class Trial:
    """A setting and its models, one for each fold; it may be put away as bytes and taken up again."""

    def __init__(self, number, config, folds):
        self.number, self.config, self.folds = number, config, folds
        self.epochs, self.state, self.curve = 0, [None] * len(folds), []
        self.seeds = [args.seed * 1000 + number * 10 + k for k in range(len(folds))]

    def optimizer(self, model):
        rate = args.lr * self.config["rate"]
        match self.config["optimizer"]:
            case "adam":
                return torch.optim.Adam(model.parameters(), lr=rate)
            case "sgd":
                return torch.optim.SGD(model.parameters(), lr=10 * rate, momentum=0.9)
            case _:
                return torch.optim.RMSprop(model.parameters(), lr=rate / 2, alpha=0.95)

    def advance(self, epochs):
        losses = []
        for k, (train, valid) in enumerate(self.folds):
            generator = torch.Generator().manual_seed(self.seeds[k] + self.epochs)
            torch.manual_seed(self.seeds[k])
            model = build(self.config, 4)
            optimizer = self.optimizer(model)
            if self.state[k] is not None:
                saved = torch.load(io.BytesIO(self.state[k]), weights_only=True)
                model.load_state_dict(saved["model"])
                optimizer.load_state_dict(saved["optimizer"])
            for _ in range(epochs):
                if not run_epoch(model, optimizer, train, self.config["batch"], generator):
                    return math.inf
            buffer = io.BytesIO()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
            self.state[k] = buffer.getvalue()
            losses.append(evaluate(model, valid))
            if k == 0 and self.curve and losses[0] > 1.5 * self.curve[-1]:
                return math.inf
        self.epochs += epochs
        self.curve.append(float(np.mean(losses)))
        return self.curve[-1]


def predict(model, x, district):
    return model["body"](torch.cat([x, model["district"](district)], 1)).squeeze(1)


def run_epoch(model, optimizer, data, batch, generator):
    model.train()
    for rows in torch.randperm(len(data[2]), generator=generator).split(batch):
        loss = F.huber_loss(predict(model, data[0][rows], data[1][rows]), data[2][rows], delta=0.5)
        if not loss.isfinite() or loss.item() > 1e4:
            return False
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
    return True


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    return F.mse_loss(predict(model, data[0], data[1]), data[2]).sqrt().item()


numbers, district, price = survey(2700)
test_numbers, test_district, test_price = survey(1000)
folds = []
for train, valid in KFold(3, shuffle=True, random_state=args.seed).split(numbers):
    scaler, centre = StandardScaler().fit(numbers[train]), price[train].mean()
    folds.append([
        (prepare(numbers[rows], scaler), torch.tensor(district[rows]), torch.tensor(price[rows] - centre, dtype=torch.float32))
        for rows in (train, valid)
    ])
alive, epochs = [Trial(k, propose(), folds) for k in range(8)], args.steps
while len(alive) > 1:
    table = sorted(((trial.advance(epochs), trial.number, trial) for trial in alive), key=lambda row: row[:2])
    print(f"after {table[0][2].epochs} epochs: " + " ".join(f"{n}:{loss:.3f}" for loss, n, _ in table))
    alive = [trial for loss, _, trial in table[: max(1, len(table) // 2)] if math.isfinite(loss)]
    epochs *= 2
config = alive[0].config
scaler, centre = StandardScaler().fit(numbers), price.mean()
whole = prepare(numbers, scaler), torch.tensor(district), torch.tensor(price - centre, dtype=torch.float32)
test = prepare(test_numbers, scaler), torch.tensor(test_district), torch.tensor(test_price - centre, dtype=torch.float32)
model = build(config, 4)
optimizer = alive[0].optimizer(model)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=alive[0].epochs)
for _ in range(alive[0].epochs):
    run_epoch(model, optimizer, whole, config["batch"], torch.Generator().manual_seed(torch.randint(1 << 30, ()).item()))
    scheduler.step()
print(f"winner {alive[0].number}: {config['optimizer']}, width {config['width']}, {alive[0].epochs} epochs, test rmse {evaluate(model, test):.3f} (spread of prices {test[2].std():.3f})")
