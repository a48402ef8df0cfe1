# SPDX-License-Identifier: Apache-2.0
"""A step that the script makes by hand: what it keeps of parameters, and from one step to the next.

An optimizer's state is known by its names. What a script keeps has none: a copy of parameters that was made before the
first step is known by its contents, and what an earlier step has written cannot be known."""
from .plan_record import local


class Kept:
    """Tells for what a step by hand reads or writes whether it is a copy of parameters."""

    def __init__(self, names, derived, earlier, give_up):
        """names: of parameters. derived: keys of storages that were computed from parameters before the first step.
        earlier: keys of those that the step before has written. give_up: called with what has no place, does not return."""
        self.names, self.derived, self.earlier, self.give_up = names, derived, earlier, give_up
        self.flat, self.starts, n = [], [], 0
        for name, parameter in names.items():
            if local(parameter).is_contiguous():
                self.flat.append(local(parameter).detach().reshape(-1).float().clone())
                self.starts.append((n, name))
                n += self.flat[-1].numel()
        self.bytes = b"".join(part.numpy().tobytes() for part in self.flat)

    def pieces(self, tensor, key):
        """[(parameter, offset, elements)] whose numbers those of the tensor are; None if it is no copy. Zeros behind
        them are no parameter's: None in its place. key: of the storage."""
        if key in self.earlier:
            self.give_up("a tensor that an earlier step has written")
        if key not in self.derived or not tensor.is_floating_point() or not tensor.count_nonzero():
            return None  # zeros are made for the size of a parameter
        flat = tensor.detach().reshape(-1).float()
        n_zeros, found = 0, self._stretch(flat)
        while found is None and n_zeros < flat.numel() and flat[-1 - n_zeros] == 0:
            n_zeros += 1
            found = self._stretch(flat[:-n_zeros])
        if found is None:
            self.give_up("a tensor that was computed from parameters before the first step, and is no copy of them")
        return [*self._parts(*found), *([(None, 0, n_zeros)] if n_zeros else [])]

    def _stretch(self, flat):
        """(first, last) element of all parameters in a row; None if there is none, or several have these numbers."""
        raw = flat.numpy().tobytes()
        at = self._aligned(raw, 0)
        if at is None or self._aligned(raw, at + 1) is not None:
            return None
        return at // 4, at // 4 + flat.numel()

    def _aligned(self, raw, start):
        at = self.bytes.find(raw, start)
        while at >= 0 and at % 4:
            at = self.bytes.find(raw, at + 1)
        return at if at >= 0 else None

    def _parts(self, first, last):
        for (start, name), part in zip(self.starts, self.flat):
            low, high = max(first, start), min(last, start + part.numel())
            if low < high:
                yield self.names[name], low - start, high - low

