# SPDX-License-Identifier: Apache-2.0
"""A release of torch that is not there yet: some of its files are read with other lines, as the next release has them.

In PYTHONPATH. Modules call what they called by another name, and an optimizer has one option more.
"""

import importlib.abc
import importlib.machinery
import sys

LINES = {
    "torch.version": [("__version__ = '2.", "__version__ = '3.")],
    "torch.nn.modules.normalization": [("return F.layer_norm(\n", "return torch.layer_norm(\n")],
    "torch.optim.sgd": [("        fused: bool | None = None,\n    ) -> None:\n",
                         "        fused: bool | None = None,\n        decoupled_weight_decay: bool = False,\n    ) -> None:\n"),
                        ('            "fused": fused,\n        }\n',
                         '            "fused": fused,\n            "decoupled_weight_decay": decoupled_weight_decay,\n        }\n')],
}


class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_source(fullname)
        for before, after in LINES[fullname]:
            assert before in source, f"{fullname} of this torch has no line {before!r}"
            source = source.replace(before, after)
        return compile(source, self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in LINES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        spec.loader = Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, Finder())
