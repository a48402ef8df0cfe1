"""LoRA-style adapters on a frozen digit classifier, adapted to mirrored digits; the best step is reloaded."""
import argparse
import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8, alpha=16, dropout=0.05):
        super().__init__()
        self.base_layer = base
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.dropout = nn.Dropout(dropout)
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base_layer(x) + self.lora_B(self.lora_A(self.dropout(x))) * self.scaling


class Classifier(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.fc_in = nn.Linear(64, hidden)
        self.fc_mid = nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.score(F.relu(self.fc_mid(F.relu(self.fc_in(x)))))


class AdapterModel(nn.Module):
    """Wraps a base model, freezes it and puts adapters into the named linear layers."""

    PREFIX = "base_model."

    def __init__(self, base_model, targets=("fc_in", "fc_mid")):
        super().__init__()
        base_model.requires_grad_(False)
        self.base_model = base_model
        inject_adapters(base_model, targets)

    def forward(self, x):
        return self.base_model(x)

    def adapter_state(self):
        return {k: v for k, v in self.state_dict().items() if "lora_" in k}


def inject_adapters(model, targets=("fc_in", "fc_mid")):
    for name in targets:
        setattr(model, name, LoRALinear(getattr(model, name)))
    return model


def save_adapter(model):
    blob = io.BytesIO()
    torch.save(model.adapter_state(), blob)
    return blob.getvalue()


def load_adapter(base_model, blob):
    """A plain model with adapters in it, for inference: the training wrapper is not needed there."""
    model = inject_adapters(base_model)
    state = torch.load(io.BytesIO(blob), weights_only=True)
    state = {k.removeprefix(AdapterModel.PREFIX): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)
    return model.eval()


def load_data(seed):
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32)
    return [torch.from_numpy(a) for a in train_test_split(x, y, test_size=0.4, random_state=seed, stratify=y)]


def mirror(x):
    return x.view(-1, 8, 8).flip(2).flatten(1)


def pretrain(x, y, gen, steps=150):
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        idx = torch.randint(len(x), (64,), generator=gen)
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return {k: v.clone() for k, v in model.state_dict().items()}


def fresh_base(state):
    model = Classifier()
    model.load_state_dict(state)
    return model


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return model(x).argmax(1).eq(y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    xtr, xte, ytr, yte = load_data(args.seed)
    base_state = pretrain(xtr, ytr, gen)
    new_tr, new_te = mirror(xtr), mirror(xte)
    new_val, y_val, new_test, y_test = new_te[:300], yte[:300], new_te[300:], yte[300:]

    model = AdapterModel(fresh_base(base_state))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, weight_decay=0.0)
    print(f"before: mirrored accuracy {accuracy(model, new_val, y_val):.3f}")
    best, best_blob = -1.0, None
    for step in range(args.steps):
        model.train()
        idx = torch.randint(len(new_tr), (64,), generator=gen)
        loss = F.cross_entropy(model(new_tr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            val = accuracy(model, new_val, y_val)
            print(f"step {step} loss {loss.item():.4f} val {val:.3f}")
            if val > best:
                best, best_blob = val, save_adapter(model)

    served = load_adapter(fresh_base(base_state), best_blob)
    print(f"EVIDENCE best_val={best:.3f} served_test={accuracy(served, new_test, y_test):.3f}")


if __name__ == "__main__":
    main()
