# SPDX-License-Identifier: Apache-2.0
"""Tensors of which all is known, so that the agent finds where torch's C++ keeps it (layout.h, counts.h)."""
import os

import _traincheck_agent as agent


def _told(tensor, storage):
    return (tensor, tensor._cdata, storage._cdata, tensor.data_ptr() - tensor.storage_offset() * tensor.element_size(),
            tensor.storage_offset(), tensor.numel(), tuple(tensor.shape), tensor.stride(), tensor.grad_fn)


def _samples(torch):
    """Numbers that stand nowhere else by chance. Memory that is not torch's own has another owner than itself. Nothing is computed."""
    memory = torch.frombuffer(bytearray(1 << 15), dtype=torch.float32)
    leaf = torch.empty((3, 7), device="cpu", requires_grad=True)
    plain = (((3, 5, 7), (1000, 100, 9), 13), ((3, 5), (900, 11), 17), ((2, 3, 1, 2, 3, 2), (1000, 300, 77, 29, 7, 3), 19))
    few, fewer, many = (memory.as_strided(*how).data for how in plain)
    return tuple(_told(tensor, tensor.untyped_storage()) for tensor in (few, fewer, leaf.unsqueeze(0), leaf.t(), many))


def _unlike(torch):
    """Each of another dtype, device, layout, or view of its memory."""
    dtypes = torch.float32, torch.float64, torch.int32, torch.int64, torch.complex64
    tensors = [torch.empty(2, dtype=dtype, device="cpu") for dtype in dtypes]
    conjugated = tensors[-1].conj()
    return (*tensors, conjugated, conjugated.imag, torch.empty(2, device="meta"), torch.empty(2, layout=torch.sparse_coo, device="cpu"))


def _known_to_autograd(torch):
    """Leaves that want a gradient, and how many; then what has none of its own: a leaf that wants none any more, a view without one, a
    result that keeps its own."""
    leaves = [torch.empty(n, device="cpu", requires_grad=True) for n in (2, 3)]
    was = torch.empty(2, device="cpu", requires_grad=True).requires_grad_(False)
    with torch.no_grad():
        view = leaves[0].view(2)
    kept = leaves[1].view(3)
    kept.retain_grad()
    return (*leaves, was, view, kept), len(leaves)


def find(torch):
    """Where a release has no such tensors torch is asked. TRAINCHECK_TEST_ASK=1 has it asked always, for tests that compare both ways."""
    if os.environ.get("TRAINCHECK_TEST_ASK") == "1":
        return
    try:
        samples, unlike, known = _samples(torch), _unlike(torch), _known_to_autograd(torch)
    except Exception:
        return
    if agent.find_layout(samples, unlike):
        agent.find_counts(unlike[0])
        agent.find_flag(*known)
