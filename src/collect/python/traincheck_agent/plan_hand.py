# SPDX-License-Identifier: Apache-2.0
"""A step that the script makes by hand: what it keeps of parameters, and from one step to the next.

An optimizer's state is known by its names. What a script keeps has none: a copy of parameters that was made before the
first step is known by its contents, and what an earlier step has written cannot be known."""
from . import plan_copies


class Kept:
    """Tells for what a step by hand reads or writes whether it is a copy of parameters."""

    def __init__(self, names, derived, earlier, give_up):
        """names: of parameters. derived: keys of storages that were computed from parameters before the first step.
        earlier: keys of those that the step before has written. give_up: called with what has no place, does not return."""
        self.derived, self.earlier, self.give_up = derived, earlier, give_up
        self.numbers = plan_copies.Numbers(names)

    def pieces(self, tensor, key):
        """As plan_copies has them; None if it is no copy. key: of the storage."""
        if key in self.earlier:
            self.give_up("a tensor that an earlier step has written")
        if key not in self.derived or not tensor.is_floating_point() or not tensor.count_nonzero():
            return None  # zeros are made for the size of a parameter
        found = self.numbers.pieces(tensor)
        if found is None:
            self.give_up("a tensor that was computed from parameters before the first step, and is no copy of them")
        return found
