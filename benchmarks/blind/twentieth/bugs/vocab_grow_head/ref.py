"""A pretrained road-sign caption model gets new sign tokens: grow both tables, then tune shortly."""
import argparse

import torch
from torch import nn
import torch.nn.functional as F

OLD_VOCAB = 40
NEW_TOKENS = 4


class CaptionLM(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.body = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        return self.lm_head(self.body(self.wte(ids))[0])

    def post_init(self):
        """Initialises what has not been initialised or loaded so far."""
        for module in self.modules():
            if getattr(module, "is_ready", False):
                continue
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            module.is_ready = True

    def resize_vocab(self, vocab):
        wte = nn.Embedding(vocab, self.wte.embedding_dim)
        head = nn.Linear(self.lm_head.in_features, vocab, bias=False)
        for new, old in ((wte, self.wte), (head, self.lm_head)):
            with torch.no_grad():
                new.weight[: old.weight.size(0)] = old.weight
                new.weight[old.weight.size(0):] = old.weight.mean(0)
            new.is_ready = True
        self.wte, self.lm_head = wte, head


def captions(n, gen, with_new=False, length=14):
    ids = torch.randint(OLD_VOCAB, (n, 1), generator=gen)
    for i in range(1, length):
        nxt = (ids[:, -1:] * 5 + 3 * (i % 3) + 1) % OLD_VOCAB
        ids = torch.cat([ids, nxt], 1)
    if with_new:
        ids[:, 5] = OLD_VOCAB + ids[:, 4] % NEW_TOKENS
    return ids


def nll(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def fit(model, data, steps, lr, gen, clip=1.0):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(steps):
        loss = nll(model, data(gen))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
        if step % max(1, steps // 4) == 0:
            print(f"  step {step} nll {loss.item():.4f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    model = CaptionLM(OLD_VOCAB)
    model.post_init()
    print("pretraining")
    fit(model, lambda g: captions(64, g), 300, 5e-3, gen)

    held_out = captions(256, gen)
    with torch.no_grad():
        pretrained = nll(model, held_out).item()
    model.resize_vocab(OLD_VOCAB + NEW_TOKENS)
    model.post_init()
    with torch.no_grad():
        resized = nll(model, held_out).item()
    print("tuning with new sign tokens")
    fit(model, lambda g: captions(32, g, with_new=True), args.steps, args.lr, gen)
    with torch.no_grad():
        tuned = nll(model, captions(256, gen, with_new=True)).item()
    print(f"EVIDENCE pretrained_nll={pretrained:.3f} after_resize_nll={resized:.3f} tuned_nll={tuned:.3f}")


if __name__ == "__main__":
    main()
