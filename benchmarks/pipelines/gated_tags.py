"""Topics and tags of word lists: gated linear units, `nll_loss` for the topic and `binary_cross_entropy_with_logits` for the tags."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from options import options

WORDS, LENGTH, TOPICS, TAGS = 60, 12, 4, 6


def make_lists(n, generator):
    """Half of the words of a list are of its topic; a tag is there if one of its ten words is."""
    topic = torch.randint(TOPICS, (n,), generator=generator)
    anywhere = torch.randint(WORDS, (n, LENGTH), generator=generator)
    inside = topic[:, None] * (WORDS // TOPICS) + torch.randint(WORDS // TOPICS, (n, LENGTH), generator=generator)
    words = torch.where(torch.rand(n, LENGTH, generator=generator) < 0.5, inside, anywhere)
    tags = F.one_hot(words // 10, TAGS).amax(1).float()
    return words, topic, tags


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.value, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        self.topic, self.tags = nn.Linear(width, TOPICS), nn.Linear(width, TAGS)

    def forward(self, words):
        x = self.embed(words)
        x = (self.value(x) * self.gate(x).sigmoid()).sum(1)
        return F.log_softmax(self.topic(x), dim=-1), self.tags(x)


def main():
    args = options(lr=1e-2, width=24, steps=80)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed + 1)
    words, topic, tags = make_lists(640, generator)
    held_out = make_lists(200, generator)
    model = Gated(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        model.train()
        for rows in torch.randperm(len(words), generator=generator).split(32):
            log_p, scores = model(words[rows])
            loss = F.nll_loss(log_p, topic[rows]) + F.binary_cross_entropy_with_logits(scores, tags[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        model.eval()
        with torch.no_grad():
            log_p, scores = model(held_out[0])
        right, tagged = (log_p.argmax(-1) == held_out[1]).float().mean(), ((scores > 0) == held_out[2].bool()).float().mean()
        print(f"step {step}: loss {loss.item():.3f}, topics {right:.3f}, tags {tagged:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
