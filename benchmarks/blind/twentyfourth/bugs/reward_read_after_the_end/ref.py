"""Reward model on pairs of answers: the score is read at the end-of-text token of each padded row."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, EOS, FIRST = 0, 1, 2
WORDS = 16
VOCAB = FIRST + WORDS


def make_pairs(count, gen):
    """Of two answers to a prompt the better one has more words near to the word of the prompt."""
    pairs = []
    for _ in range(count):
        topic = int(torch.randint(0, WORDS, (1,), generator=gen))
        rows = []
        for near in (0.7, 0.25):
            n = int(torch.randint(4, 11, (1,), generator=gen))
            words = [(topic + int(torch.randint(-1, 2, (1,), generator=gen))) % WORDS
                     if float(torch.rand(1, generator=gen)) < near else int(torch.randint(0, WORDS, (1,), generator=gen))
                     for _ in range(n)]
            rows.append([FIRST + topic] + [FIRST + w for w in words] + [EOS])
        pairs.append(rows)
    return pairs


class RewardModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, dim), nn.Embedding(16, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.trunk = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.value = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, ids):
        """One value for each position."""
        n = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.embed(ids) + self.place(torch.arange(n))
        return self.value(self.norm(self.trunk(x, mask=causal, is_causal=True))).squeeze(-1)


def collate(rows, pad_to=14):
    ids = torch.full((len(rows), pad_to), PAD)
    for i, row in enumerate(rows):
        ids[i, :len(row)] = torch.tensor(row)
    return ids, torch.tensor([len(row) for row in rows])


def rewards_of(model, rows):
    ids, lengths = collate(rows)
    values = model(ids)
    end_index = lengths - 1
    return values.gather(1, end_index[:, None]).squeeze(1)


@torch.no_grad()
def serve(model, row):
    """As the reward server does it: a single answer without padding, scored at its end."""
    return model(torch.tensor([row]))[0, -1].item()


def train(args):
    gen = torch.Generator().manual_seed(args.seed)
    model = RewardModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for step in range(args.steps):
        pairs = make_pairs(24, gen)
        rewards = rewards_of(model, [better for better, _ in pairs] + [worse for _, worse in pairs])
        chosen, rejected = rewards.chunk(2)
        loss = -F.logsigmoid(chosen - rejected).mean() + 1e-3 * rewards.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} accuracy {(chosen > rejected).float().mean().item():.2f}")
    return model, loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model, loss = train(args)
    test = make_pairs(150, torch.Generator().manual_seed(4040))
    margins = torch.tensor([serve(model, better) - serve(model, worse) for better, worse in test])
    print(f"EVIDENCE served_accuracy={(margins > 0).float().mean().item():.4f} served_margin={margins.mean().item():.4f} train_loss={loss:.4f}")
