"""LoRA with accelerate: adapters and a new head learn, the rest is frozen; the adapter is saved and loaded for inference."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from peft import LoraConfig, PeftModel, TaskType, get_peft_model
from sklearn.datasets import load_breast_cancer
from torch.utils.data import DataLoader
from transformers import RobertaConfig, RobertaForSequenceClassification
from transformers.utils import logging

from options import options

logging.set_verbosity_error()


def rows():
    """A measurement is a word: which of eight parts of its range it is in."""
    raw = load_breast_cancer()
    x = torch.tensor(raw.data).argsort(0).argsort(0) * 8 // len(raw.data) + 3
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    return [{"input_ids": x[i], "labels": torch.tensor(raw.target[i])} for i in order]


def make_base(width):
    config = RobertaConfig(
        vocab_size=11, hidden_size=width, num_hidden_layers=2, num_attention_heads=4, intermediate_size=2 * width,
        max_position_embeddings=40, num_labels=2, pad_token_id=1, initializer_range=0.1,
    )  # fmt: skip
    return RobertaForSequenceClassification(config)


def accuracy(accelerator, model, loader):
    model.eval()
    hits = []
    for batch in loader:
        with torch.no_grad():
            guess = model(input_ids=batch["input_ids"]).logits.argmax(-1)
        hits.append(accelerator.gather_for_metrics((guess == batch["labels"]).float()))
    return torch.cat(hits).mean().item()


def main():
    args = options(lr=1e-2, width=32, steps=45)
    set_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    data = rows()
    base = make_base(args.width)
    weights = {name: tensor.clone() for name, tensor in base.state_dict().items()}
    lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=4, lora_alpha=16, lora_dropout=0.1, target_modules=["query", "value"])
    model = get_peft_model(base, lora)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=args.lr)
    train_loader = DataLoader(data[:480], batch_size=32, shuffle=True)
    test_loader = DataLoader(data[480:], batch_size=30)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)
    for epoch in range(max(2, args.steps // len(train_loader))):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {accuracy(accelerator, model, test_loader):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        accelerator.unwrap_model(model).save_pretrained(folder)
        fresh = make_base(args.width)
        fresh.load_state_dict(weights)
        loaded = PeftModel.from_pretrained(fresh, folder)
    print(f"loaded: {accuracy(accelerator, loaded, test_loader):.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
