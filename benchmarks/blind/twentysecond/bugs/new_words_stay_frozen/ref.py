"""Pre-train a tagger of colours, add three words to its vocabulary, and tune only embeddings and adapters for them."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

OLD, NEW, WIDTH, LENGTH = 24, 3, 40, 9


class Bottleneck(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(WIDTH, 8), nn.Linear(8, WIDTH)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class WordModel(nn.Module):
    """Embedding and head are not tied."""

    def __init__(self, vocab):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.adapter = nn.Identity()
        self.lm_head = nn.Linear(WIDTH, vocab, bias=False)
        self.post_init()

    def post_init(self):
        """Draws what has not been drawn yet; modules that are added later are drawn by a second call."""
        for module in self.modules():
            if getattr(module, "_ready", False):
                continue
            if isinstance(module, (nn.Embedding, nn.Linear)):
                nn.init.normal_(module.weight, std=1 / math.sqrt(WIDTH))
            module._ready = True

    def forward(self, ids):
        return self.lm_head(self.adapter(self.rnn(self.embed_tokens(ids))[0]))

    def resize_vocabulary(self, extra):
        """Old rows are kept, new rows begin as the mean of the old ones."""
        old = self.embed_tokens.weight.data
        grown = nn.Embedding(OLD + extra, WIDTH)
        grown.weight.data[:OLD] = old
        grown.weight.data[OLD:] = old.mean(0)
        grown._ready = True
        self.embed_tokens = grown
        head = nn.Linear(WIDTH, OLD + extra, bias=False)
        head.weight.data[:OLD] = self.lm_head.weight.data
        head.weight.data[OLD:] = self.lm_head.weight.data.mean(0)
        head._ready = True
        self.lm_head = head


def sentences(gen, size, vocab, new_share=0.0):
    """Each word is the sum of the two before it, in the ring of old words; a new word stands for 'the same as two before'."""
    words = torch.randint(0, OLD, (size, LENGTH), generator=gen)
    for t in range(2, LENGTH):
        words[:, t] = (words[:, t - 1] + 1 + words[:, t - 2] % 3) % OLD
    if new_share:
        swapped = torch.rand(size, generator=gen) < new_share
        words[swapped, 4] = OLD + words[swapped, 3] % NEW
        words[swapped, 5] = words[swapped, 3] % NEW
    return words


def loss_of(model, words):
    logits = model(words[:, :-1])[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), words[:, 2:].flatten())


def train(model, optimizer, gen, steps, new_share):
    for step in range(steps):
        loss = loss_of(model, sentences(gen, 64, OLD, new_share))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            print(f"step {step + 1} loss {loss.item():.4f}")
    return loss.item()


@torch.no_grad()
def after_new_word(model, gen):
    words = sentences(gen, 300, OLD, 1.0)
    return (model(words[:, :-1])[:, 4].argmax(-1) == words[:, 5]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--steps", type=int, default=180)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen, test = torch.Generator().manual_seed(args.seed), torch.Generator().manual_seed(77)
    model = WordModel(OLD)
    train(model, torch.optim.Adam(model.parameters(), lr=args.lr), gen, args.steps, 0.0)
    before = loss_of(model, sentences(test, 300, OLD)).item()

    model.resize_vocabulary(NEW)
    model.adapter = Bottleneck()
    model.post_init()
    nn.init.zeros_(model.adapter.up.weight)
    nn.init.zeros_(model.adapter.up.bias)
    after = loss_of(model, sentences(test, 300, OLD)).item()
    model.requires_grad_(False)
    for part in (model.adapter, model.embed_tokens, model.lm_head):
        part.requires_grad_(True)
    start = model.embed_tokens.weight[OLD:].clone()
    tuned = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=args.lr / 4)
    final = train(model, tuned, gen, args.steps // 3, 0.5)
    moved = (model.embed_tokens.weight[OLD:] - start).norm().item()
    print(f"EVIDENCE before={before:.4f} after_resize={after:.4f} moved={moved:.3f} "
          f"after_new_word={after_new_word(model, test):.3f} loss={final:.4f}")


if __name__ == "__main__":
    main()
