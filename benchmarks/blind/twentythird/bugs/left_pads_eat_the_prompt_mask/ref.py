# Fine-tuning of a small Llama on "frames -> transcript" rows. The processor pads on the left, as for generation.
import argparse
import random
from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup

PAD, START, TURN, END = 0, 1, 2, 3
FRAMES, WORDS = 12, 8           # frames have the ids 4..15, words 16..23
VOCAB = 4 + FRAMES + WORDS


@dataclass
class Example:
    prefix: list
    target: list


def make_example(rng):
    """Noisy frames, two for each word; the transcript has the words only."""
    words = [rng.randrange(WORDS) for _ in range(rng.randint(1, 5))]
    frames = []
    for w in words:
        frames += [4 + (w + rng.choice((0, 0, 1))) % FRAMES, 4 + rng.randrange(FRAMES)]
    return Example([START, *frames, TURN], [4 + FRAMES + w for w in words] + [END])


class LeftPaddingCollator:
    def __init__(self, pad_id=PAD, ignore=-100):
        self.pad_id, self.ignore = pad_id, ignore

    def __call__(self, examples):
        rows = [e.prefix + e.target for e in examples]
        width = max(len(r) for r in rows)
        input_ids = torch.tensor([[self.pad_id] * (width - len(r)) + r for r in rows])
        attention_mask = (input_ids != self.pad_id).long()
        prefix_lengths = torch.tensor([len(e.prefix) for e in examples])
        # places are counted among the tokens that are no padding
        place = attention_mask.cumsum(dim=1) - 1
        in_prefix = place < prefix_lengths[:, None]
        labels = input_ids.masked_fill(in_prefix | (attention_mask == 0), self.ignore)
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels,
                "position_ids": place.clamp(min=0)}


def evaluate(model, collator, examples):
    model.eval()
    with torch.no_grad():
        batch = collator(examples)
        labels = batch.pop("labels")
        logits = model(**batch).logits[:, :-1]
        # the truth is cut off from the right end here, as all rows end with their transcript
        loss, hits, count = 0.0, 0, 0
        for row, e in zip(logits.log_softmax(-1), examples):
            part, truth = row[-len(e.target):], torch.tensor(e.target)
            loss -= part.gather(1, truth[:, None]).sum().item()
            hits += (part.argmax(-1) == truth).sum().item()
            count += len(e.target)
    model.train()
    return loss / count, hits / count, (labels != -100).sum().item() / count


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=90)
    p.add_argument("--batch-size", type=int, default=24)
    return p.parse_args()


if __name__ == "__main__":
    args = parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    config = LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=32, pad_token_id=PAD, bos_token_id=START,
                         eos_token_id=END, tie_word_embeddings=False)
    model = LlamaForCausalLM(config)
    collator = LeftPaddingCollator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 8, args.steps)
    held_out = [make_example(random.Random(9000 + i)) for i in range(64)]
    for step in range(1, args.steps + 1):
        batch = collator([make_example(rng) for _ in range(args.batch_size)])
        out = model(**batch)
        out.loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 30 == 0:
            print(f"{step:4d} loss={out.loss.item():.3f} grad={norm.item():.2f}")
    loss, accuracy, taught = evaluate(model, collator, held_out)
    print(f"EVIDENCE loss={loss:.4f} accuracy={accuracy:.4f} taught_per_answer_token={taught:.3f}")
