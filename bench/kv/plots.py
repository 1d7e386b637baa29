"""Calls a second of one durability and cache: a group of bars for each workload and number of clients."""

from pathlib import Path

from matplotlib import pyplot

from bench import plots
from bench.kv import engines, report

COLOURS = {"nuthatch": "black", "pebble": "#6699cc", "rocksdb": "#cc8844", "truth": "#999999"}


def throughput(cells: report.Cells, folder: Path) -> list[str]:
    """Paths of the pictures, as the report names them."""
    made = []
    for durability, cache_mb in sorted({(key[1], key[3]) for key in cells}):
        chosen = {key: cell for key, cell in sorted(cells.items()) if (key[1], key[3]) == (durability, cache_mb)}
        shown = report.names(chosen)
        figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
        width = 0.8 / len(shown)
        for number, name in enumerate(shown):
            places = [place + (number - (len(shown) - 1) / 2) * width for place in range(len(chosen))]
            heights = [report.median(cell.get(name, []), "ops_s") or 0 for cell in chosen.values()]
            axes.bar(places, heights, width, label=engines.TITLES[name], color=COLOURS[name])
        axes.set_xticks(range(len(chosen)), [f"{key[0].upper()} {key[2]}" for key in chosen])
        axes.set(
            xlabel="workload and clients",
            ylabel="calls a second",
            yscale="log",
            title=f"durability {durability}, cache of {cache_mb} MB",
        )
        axes.grid(alpha=0.3, axis="y")
        axes.legend(frameon=False)
        file = folder / f"{durability}-{cache_mb}.svg"
        plots.save(figure, file)
        made.append(f"{folder.name}/{file.name}")
    return made
