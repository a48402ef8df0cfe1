"""Letters are sent to offices: a pre-trained encoder with its lower layers frozen, classes weighted by how rare they are."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, OFFICES = 40, 14, 4
SHARE = torch.tensor([0.82, 0.1, 0.05, 0.03])


def letters(n, gen, share=SHARE):
    office = torch.multinomial(share, n, replacement=True, generator=gen)
    ids = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    telling = torch.rand(n, LENGTH, generator=gen) < 0.22
    words = office[:, None] * 5 + torch.randint(0, 8, (n, LENGTH), generator=gen)
    return torch.where(telling, words, ids), office


class Encoder(nn.Module):
    def __init__(self, dim=32, layers=6):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True, norm_first=True) for _ in range(layers))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return x


class LetterModel(nn.Module):
    def __init__(self, class_weight=None):
        super().__init__()
        self.encoder = Encoder()
        self.classifier = nn.Linear(32, OFFICES)
        self.loss_function = nn.CrossEntropyLoss(weight=class_weight)

    def forward(self, ids):
        return self.classifier(self.encoder(ids).mean(1))


def freeze_layers(encoder, n_layers):
    """All but the last n_layers."""
    encoder.embed.requires_grad_(False)
    for layer in encoder.layers[:-n_layers]:
        layer.requires_grad_(False)


def pretrain(encoder, gen, steps):
    """Guess a hidden word from the others."""
    head = nn.Linear(32, VOCAB)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=2e-3)
    for _ in range(steps):
        ids, _ = letters(48, gen, torch.ones(OFFICES))
        hidden = torch.rand(ids.shape, generator=gen) < 0.15
        out = head(encoder(ids.masked_fill(hidden, 0)))
        loss = F.cross_entropy(out[hidden], ids[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def build_model(class_weight):
    return LetterModel(class_weight=class_weight)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=110)
    ap.add_argument("--n-layers", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = build_model(1.0 / (OFFICES * SHARE))
    pretrain(model.encoder, gen, args.steps // 3)
    freeze_layers(model.encoder, args.n_layers)
    start = [p.detach().clone() for p in model.encoder.parameters()]
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=args.lr)
    for step in range(args.steps):
        ids, office = letters(64, gen)
        loss = model.loss_function(model(ids), office)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    moved = sum(not torch.equal(a, b) for a, b in zip(start, model.encoder.parameters()))
    with torch.no_grad():
        ids, office = letters(600, gen, torch.ones(OFFICES))
        rare = (model(ids).argmax(1) == office)[office > 0].float().mean().item()
    print(f"EVIDENCE tensors_moved={moved} recall_of_rare_offices={rare:.3f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
