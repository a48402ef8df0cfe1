"""A row-parallel layer is declared to leave its output as it is."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import native  # noqa: E402

RUN = {"options": "--mode tp --tp 2", "world": 2, "names": ["mm", "setups/native.py", "self.down("]}


def tensor_parallel(model, mesh, sequence):
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    for layer in model.layers:
        parallelize_module(layer, mesh, {"mlp.up": ColwiseParallel(), "mlp.down": Row()})


def Row():
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import RowwiseParallel

    class Unreduced(RowwiseParallel):
        @staticmethod
        def _prepare_output_fn(output_layouts, use_local_output, mod, outputs, device_mesh):
            return outputs.to_local()  # wrong: Partial
    return Unreduced()


native.tensor_parallel = tensor_parallel


if __name__ == "__main__":
    native.main()

# SPDX-License-Identifier: Apache-2.0
