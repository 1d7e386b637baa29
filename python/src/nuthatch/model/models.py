"""The models that can be installed, by the names that commands and collections use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import recipe, static_recipe


@dataclass(frozen=True)
class Model:
    """The required contents of a model's folder, and its manifest."""

    #: As in ``install static``.
    key: str
    #: The folder's name.
    name: str
    #: The manifest's entries for files.
    parts: tuple[str, ...]
    #: Required hashes of files, by part. The others differ by platform.
    sha256: dict[str, str]
    #: The manifest's other values.
    values: dict[str, Any]
    #: Requirements that the files came from. Verified: a folder of another version is installed again.
    source: dict[str, str]
    #: Said before the download.
    size: str

    @property
    def command(self) -> str:
        """Installs it."""
        return "python -m nuthatch.model install" + ("" if self is DEFAULT else f" {self.key}")


DEFAULT = Model(
    key="default",
    name=recipe.NAME,
    parts=("model", "weights", "tokenizer", "runtime"),
    sha256=recipe.RESULT_SHA256,
    values={
        "dim": recipe.DIM,
        "max_tokens": recipe.MAX_TOKENS,
        "pooling": "mean",
        "start_token": recipe.START_TOKEN,
        "end_token": recipe.END_TOKEN,
        "query_prefix": "",
        "passage_prefix": "",
    },
    source={"weights": recipe.WEIGHTS_REQUIREMENT, "runtime": f"onnxruntime=={recipe.runtime_pin()[0]}"},
    size="about 120 MB",
)

STATIC = Model(
    key="static",
    name=static_recipe.NAME,
    parts=("table", "tokenizer"),
    sha256=static_recipe.RESULT_SHA256,
    values={
        "kind": "static",
        "dim": static_recipe.DIM,
        "rows": static_recipe.ROWS,
        "max_tokens": static_recipe.MAX_TOKENS,
        "empty_token": static_recipe.EMPTY_TOKEN,
    },
    source={"table": static_recipe.REQUIREMENT},
    size="about 19 MB",
)

MODELS = {model.key: model for model in (DEFAULT, STATIC)}
