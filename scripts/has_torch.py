"""Exit with 0 if this interpreter can run the examples: torch >= 1.13 and scikit-learn."""

import sys

import sklearn  # noqa: F401
import torch

version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
sys.exit(version < (1, 13))
