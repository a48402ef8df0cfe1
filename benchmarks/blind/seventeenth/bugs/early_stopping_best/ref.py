"""Digit classifier on a small noisy training set, with early stopping on validation loss."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_step = -1
        self.best_state = None
        self.bad_rounds = 0

    def update(self, loss, model, step):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best_step = step
            self.best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
            self.bad_rounds = 0
        else:
            self.bad_rounds += 1
        return self.bad_rounds >= self.patience


class ConvNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(width * 16, 128),
            nn.ReLU(),
            nn.Linear(128, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def corrupt_labels(y, fraction, generator):
    y = y.clone()
    mask = torch.rand(len(y), generator=generator) < fraction
    y[mask] = torch.randint(0, 10, (int(mask.sum()),), generator=generator)
    return y


def prepare(seed, noise):
    digits = load_digits()
    gen = torch.Generator().manual_seed(seed)
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x), generator=gen)
    x, y = x[perm], y[perm]
    train = TensorDataset(x[:200], corrupt_labels(y[:200], noise, gen))
    val = (x[200:800], y[200:800])
    test = (x[800:], y[800:])
    return train, val, test


@torch.no_grad()
def evaluate(model, data):
    model.eval()
    x, y = data
    logits = model(x)
    loss = F.cross_entropy(logits, y).item()
    acc = (logits.argmax(1) == y).float().mean().item()
    model.train()
    return loss, acc


def train_model(model, train, val, args):
    loader = DataLoader(train, batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    stopper = EarlyStopping(args.patience)
    step = 0
    stop = False
    while step < args.steps and not stop:
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % args.eval_every == 0:
                val_loss, val_acc = evaluate(model, val)
                print(f"step {step:4d}  train {loss.item():.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")
                if stopper.update(val_loss, model, step):
                    stop = True
                    break
            if step >= args.steps:
                break
    print(f"best step {stopper.best_step} with val loss {stopper.best_loss:.4f}")
    model.load_state_dict(stopper.best_state)
    return model, stopper.best_loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--eval-every", type=int, default=5)
    parser.add_argument("--patience", type=int, default=12)
    parser.add_argument("--label-noise", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train, val, test = prepare(args.seed, args.label_noise)
    model, best_loss = train_model(ConvNet(), train, val, args)
    val_loss, _ = evaluate(model, val)
    test_loss, test_acc = evaluate(model, test)
    print(f"restored model: val loss {val_loss:.4f}, test loss {test_loss:.4f}")
    print(f"EVIDENCE test_accuracy={test_acc:.4f} val_loss={val_loss:.4f} best_val_loss={best_loss:.4f}")


if __name__ == "__main__":
    main()
