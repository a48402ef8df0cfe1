# SPDX-License-Identifier: Apache-2.0
"""Tensors read where torch's C++ keeps them, and torch asked: the two leave the same trace. So do tensors that are said again, and said anew.

TRAINCHECK_TEST_PIPELINES names the pipelines of benchmarks/pipelines whose traces are compared; "all" are 113, which takes an hour."""
import os
import pathlib
import re
import sys
import unittest

from traced import BIN, PYTHON, Warm, decode

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import harness  # noqa: E402

ASK = {"TRAINCHECK_TEST_ASK": "1"}
ANEW = {"TRAINCHECK_TEST_ANEW": "1"}

# All that a tensor can be: each is told as an operand and as a result.
ALL_KINDS = """
    import torch, torch.nn.functional as F

    base = torch.arange(720, dtype=torch.float32)
    leaf = torch.ones(2, 3, requires_grad=True)
    was = torch.ones(3, requires_grad=True)
    freed = torch.ones(4)
    ones = torch.ones(2, 3)
    complex = torch.ones(3, dtype=torch.complex64)
    with torch.inference_mode():
        inference = torch.ones(3)
    with torch.no_grad():
        view = leaf.view(6)
    tensors = [base, base.view(2, 3, 4, 5, 6), base.view(2, 1, 3, 4, 5, 6), base.view(24, 30).t(), base[3:9:2], base.view(24, 30)[3:7, 2:11],
               base.view(24, 30).expand(2, 24, 30), torch.ones(1).expand(7), torch.tensor(3.5), torch.empty(0), torch.empty(3, 0, 2),
               leaf, leaf * 2, (leaf * 2).detach(), leaf.data, leaf.view(6), leaf.view(6).detach(), was.requires_grad_(False),
               view, torch.nn.Parameter(ones), torch.nn.Parameter(ones, requires_grad=False), inference, ones[0, 1], ones[1:, 2:], leaf[0, 1],
               complex, complex.conj(), complex.conj().imag, complex[1:2].conj().imag, torch.view_as_real(complex),
               torch.empty(2, 3, device="meta"), ones.to_sparse(), torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
               torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.nested.nested_tensor([ones, ones[:1]])]
    tensors += [torch.ones(5).to(dtype) for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int64, torch.bool, torch.uint8)]
    freed.untyped_storage().resize_(0)

    def show(x):
        try:
            F.dropout(x, 0.0, False)
            torch.ones_like(x)
            x.add(x)
        except Exception as error:
            print(type(error).__name__)

    for x in tensors:
        show(x)
    torch.ones_like(freed)
    torch.vmap(lambda x: F.dropout(x, 0.0, False) + x)(leaf)
    torch.func.grad(lambda x: F.relu(x * x).sum())(ones)
    written = leaf * 1
    piece = ones.view(6)
    piece.add_(written.view(6))  # a view whose grad_fn is made when it is asked for
    ones.zero_()
    F.relu(piece)
    with torch.no_grad():
        F.relu(leaf)
    with torch.inference_mode():
        F.relu(ones)
    for device in "cpu", "cuda":
        with torch.autocast(device, torch.bfloat16):
            F.linear(torch.ones(2, 3), torch.ones(4, 3))
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))
    with Mode():
        F.relu(torch.ones(2))
    complex.set_(torch.ones(7, dtype=torch.complex64))
    complex.add(complex)
"""

# The same tensors again and again, while all that is told of them changes.
AGAIN = """
    import torch, torch.nn.functional as F

    def show(*tensors):
        for x in tensors:
            for _ in range(3):
                F.dropout(x, 0.0, False)
                torch.add(x, x)

    torch.manual_seed(0)
    few, many = torch.zeros(4), torch.zeros(40)
    show(few, many)
    few[3], many[39] = 1.0, 2.0
    show(few, many)
    many[1] = 1e-9
    few.fill_(7.0), many.fill_(7.0)
    show(few, many)
    few.requires_grad_(), many.requires_grad_()
    show(few, many)
    few.requires_grad_(False)
    few.resize_(2)
    show(few)
    few._is_param = True
    show(few)
    few.data = torch.arange(6.0).view(2, 3)
    show(few)
    few.t_()
    show(few)
    few.set_(torch.ones(3))
    show(few)
    few = few.detach().to(torch.complex64)
    show(few, few.conj())
    many.__class__ = torch.nn.Parameter
    show(many)
    counts = torch.arange(4)
    show(counts)
    counts[0] = 9
    show(counts)
    for i in range(200):  # each where the one before stood
        show(torch.full((3,), float(i % 3)))
    with torch.no_grad():
        weight = torch.nn.Linear(3, 3).weight
        for i in range(3):
            show(weight, weight * 2, weight[0])
            weight.fill_(i)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(80, 2)), batch_size=1)
    kept = [few]
    for step, (batch,) in enumerate(loader):  # a batch is known as one for a while
        kept.append(batch)
        show(batch, kept[step // 2])
    torch.vmap(lambda x: show(x) or x)(torch.ones(2, 3, requires_grad=True))
    show(few, *kept[:3])
    layer, ones = torch.nn.LeakyReLU(0.1), torch.ones(4)
    for change in (lambda: setattr(layer, "negative_slope", 0.5), lambda: layer.__dict__.update(negative_slope=0.25), layer.eval, layer.train,
                   lambda: setattr(layer, "name", "first"), lambda: delattr(layer, "name"), lambda: setattr(layer, "inplace", True)):
        layer(ones), layer(ones)
        change()
    layer(ones)
    for i in range(50):  # each dict where the one before stood
        torch.nn.LeakyReLU(i / 100)(torch.ones(4))
"""

# Storages that are met again when no tensor that showed them is left, and many that are not.
STORAGES = """
    import torch

    def views_of(storage_of):
        tensor = storage_of.add(1)
        return [tensor.detach(), tensor.detach().view(-1), tensor[1:]]

    kept = []
    for i in range(1500):
        views = views_of(torch.ones(3))
        if i % 100 == 0:
            kept.append(views[0].numpy())
        if i % 40 == 0:
            for view in views:
                view.mul(2)
    for array in kept:
        torch.from_numpy(array).add(1)
    parameter = torch.nn.Parameter(torch.ones(2))
    for _ in range(3):
        parameter.data.add(1)
        parameter.data = torch.zeros(2)
    weights = [torch.zeros(2).untyped_storage() for _ in range(3)]
    for storage in weights * 2:
        torch.empty(0).set_(storage).add(1)
    print(len({storage._cdata for storage in weights}))
"""

# Of ALL_KINDS, where the agent can say so.
FOUND = """
    import sys, torch
    agent, layout = sys.modules["_traincheck_agent"], sys.modules["traincheck_agent.layout"]
    samples, unlike = layout._samples(torch), layout._unlike(torch)
    print(agent.find_layout(samples, unlike))
    shifted = [(*sample[:4], sample[4] + 1, *sample[5:]) for sample in samples]
    known, n = layout._known_to_autograd(torch)
    print(agent.find_flag(known, n), agent.find_flag(known, n + 1), agent.find_flag(known[:n], n - 1))
    print(agent.find_counts(unlike[0]), agent.find_counts(torch.sparse_coo_tensor((2, 2))))
    print(agent.find_layout(tuple(shifted), unlike), agent.find_layout(samples, (unlike[0], unlike[0])), agent.find_layout((), ()))
    torch.ones(3).add(1)
"""


OTHERWISE = re.compile(r'"t":\d+|/tmp/[^"/]+')  # what another run has otherwise: times, folders


def texts(files):
    """Each file of the trace without what another run has otherwise, and without what it says of its process."""
    return sorted([OTHERWISE.sub("", line) for line in decode(file).splitlines() if not line.startswith('{"type":"process"')]
                  for file in files)


def first_difference(*runs):
    """Of the lists of texts, or None."""
    pairs = [(a, b) for files in zip(*runs) for a, b in zip(*files) if a != b]
    return pairs[0] if pairs else None if runs[0] == runs[1] else [[len(file) for file in run] for run in runs]


class Layout(Warm):
    def compare(self, script, other=ASK):
        read, asked = (self.collect("--overwrite", script, folder=name, env=env) for name, env in (("read", {}), ("asked", other)))
        self.assertEqual((read.code, read.out), (asked.code, asked.out), read.err + asked.err)
        self.assert_no_errors(read)
        self.assertEqual(texts(read.files()), texts(asked.files()))
        return read

    def test_all_kinds_of_tensors(self):
        run = self.compare(self.script(ALL_KINDS))
        self.assertEqual(run.code, 0, run.err)
        self.assertGreater(len(self.calls(run)), 150)

    def trace_pipeline(self, pipeline, folder, **env):
        """Its texts."""
        pipeline.env = env
        try:
            found, _ = harness.Tools(BIN, self.python if pipeline.ranks == 1 else PYTHON, self.work / folder).trace_pipeline(pipeline)
        except harness.Failed as error:
            if "ModuleNotFoundError" in str(error):
                self.skipTest(str(error))
            raise
        found = texts(found.glob("trace_*"))
        self.assertEqual([line for file in found for line in file if '"code":"switched-off"' in line], [])
        return found

    def compare_pipeline(self, pipeline):
        read = self.trace_pipeline(pipeline, "read")
        for name, other in {"asked": ASK, "anew": ANEW}.items():
            difference = first_difference(read, self.trace_pipeline(pipeline, name, **other))
            if difference and first_difference(read, self.trace_pipeline(pipeline, f"again, {name}")):
                self.skipTest(f"{pipeline.name} is not the same twice")
            self.assertIsNone(difference, name)

    def test_pipelines(self):
        names = os.environ.get("TRAINCHECK_TEST_PIPELINES", "amp_custom_linear vae").split()
        for name, pipeline in harness.pipelines([] if names == ["all"] else names).items():
            with self.subTest(name):
                self.compare_pipeline(pipeline)

    def test_storages(self):
        run = self.compare(self.script(STORAGES))
        self.assertEqual((run.code, run.out), (0, "3\n"), run.err)

    def test_what_is_said_again(self):
        for name, script in {"kinds": ALL_KINDS, "again": AGAIN}.items():
            with self.subTest(name):
                run = self.compare(self.script(script), ANEW)
                self.assertEqual(run.code, 0, run.err)
        # torch.add() of that line is told no more from some turn on, and the next call stands in its own line
        self.assertEqual(len({call["at"] for call in self.calls(run) if call["fn"] == "torch.nn.functional.dropout"}), 1)

    def test_it_is_found_in_right_samples_alone(self):
        run = self.traced(FOUND)
        self.assertEqual((run.code, run.out), (0, "True\nTrue False False\nTrue False\nFalse False False\n"), run.err)
        self.assert_no_errors(run)


if __name__ == "__main__":
    unittest.main()
