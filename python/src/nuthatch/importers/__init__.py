"""Imports the folders of other engines: their own packages read them, Nuthatch stores the records.

Each function opens the folder with the other engine's package (an extra: ``pip install "nuthatch[chroma]"``), makes a collection of
the same name and metric for each of theirs, and stores ids, vectors, texts and payloads in batches. Nothing is embedded: vectors
are taken as they are. Their packages may write to the folder while they have it open: give them a copy if it matters.
"""

from ._chroma import chroma
from ._lancedb import lancedb
from ._qdrant import qdrant
from ._records import Imported

__all__ = ["Imported", "chroma", "lancedb", "qdrant"]
