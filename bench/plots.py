"""The pictures of the report: recall against speed, and memory. SVG with its text as text, the same bytes for the same results."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "nuthatch",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot

from bench import results

Sweeps = dict[tuple[str, str], list[dict]]
OURS = "nuthatch"
LEAST_RECALL = 0.8


def speed(sweeps: Sweeps, title: str, target: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for number, ((engine, config), rows) in enumerate(sweeps.items()):
        points = [point for point in results.frontier(rows) if point[0] >= LEAST_RECALL]
        if points:
            style = (
                {"linewidth": 2.5, "color": "black", "zorder": 3} if engine == OURS else {"color": f"C{number % 10}"}
            )
            line = "-" if number < 10 or engine == OURS else "--"
            axes.plot(*zip(*points, strict=True), marker=".", linestyle=line, label=f"{engine} {config}", **style)
    axes.set(
        xlabel="recall@10", ylabel="queries per second and core", yscale="log", title=title, xlim=(LEAST_RECALL, 1.002)
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    save(figure, target)


def memory(sweeps: Sweeps, title: str, target: Path) -> None:
    bars = []
    for (engine, config), rows in sweeps.items():
        row = min(
            rows, key=lambda row: (row["recall"] < 0.95, row["cpu_ms"] if row["recall"] >= 0.95 else -row["recall"])
        )
        bars.append((row["anon_mb"], row["file_mb"], max(0.0, row["cache_mb"] - row["file_mb"]), f"{engine} {config}"))
    bars.sort(key=lambda bar: bar[0] + bar[1], reverse=True)
    anonymous, mapped, cached, names = zip(*bars, strict=True)
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.3 * len(bars)), layout="constrained")
    axes.barh(names, anonymous, color="#444444", label="anonymous")
    axes.barh(names, mapped, left=anonymous, color="#6699cc", label="mapped files")
    left = [a + m for a, m in zip(anonymous, mapped, strict=True)]
    axes.barh(names, cached, left=left, color="#dddddd", label="page cache besides")
    axes.set(xlabel="MB while serving at recall .95", title=title)
    axes.legend(frameon=False)
    save(figure, target)


def save(figure, target: Path) -> None:
    figure.savefig(target, format="svg", metadata={"Date": None})
    pyplot.close(figure)
