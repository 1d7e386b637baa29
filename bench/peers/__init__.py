"""The engines to compare with: each in an environment of its own, behind one small protocol.

A peer is a folder with `requirements.txt` (pinned) and a module of the same name that has:

- `CONFIGS`: a dict from the name of a configuration to its parameters;
- `efforts(config)`: the parameters of search to sweep, each a dict, cheapest first;
- `build(base, metric, folder, **config)`: index the float32 rows and leave files in `folder`;
- `Searcher(folder, metric, dim, **config)` with `set(**effort)` and `search(vector, k)`, which returns row numbers;
- `VERSION_OF`: the Python package whose version is told, a function that tells it, or None.

A peer that is a separate server also has `programs.txt` (the arguments of `cargo install`, pinned). Its `Searcher` names the server's
process as `pid`, and its `build` returns the figures of that process, so that the client's CPU and memory are in none.

All threads but one are refused where the engine lets us (environment variables are set before it is imported).
"""

from pathlib import Path

NAMES = sorted(folder.name for folder in Path(__file__).parent.iterdir() if (folder / "requirements.txt").exists())
