"""A folder of documents, found by meaning with the built-in model: add, ask, add again.

Needs the model (``python -m nuthatch.model install``, once): ``python examples/folder_of_documents.py [FOLDER]``
"""

import sys
import tempfile
from pathlib import Path

import nuthatch

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus"

with tempfile.TemporaryDirectory() as memory, nuthatch.connect(memory) as db:
    report = db.add(
        folder, on_progress=lambda p: print(f"{p.files_done} of {p.files_total} files, {p.passages} passages")
    )
    print(f"{report.files_added} files in {report.elapsed_seconds:.1f} s")

    documents = db.collection("documents")
    for question in ("I forgot my password", "how does a bird find its way", "undo a wrong booking of travel costs"):
        best = documents.search(question, limit=1)[0]
        where = f"{best.payload['name']}:{best.payload['start_line']}"
        print(f"\n{question}\n  {where}  {best.payload.get('heading', '')}\n  {best.text[:100]!r}")

    again = db.add(folder)
    print(f"\nadded again: {again.files_unchanged} files unchanged, {again.bytes_read} bytes read")
