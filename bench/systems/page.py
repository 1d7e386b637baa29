"""The report as one page: Markdown for the repository and HTML with its pictures, from the same rows."""

from __future__ import annotations

import html
import io
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "nuthatch", "font.size": 9})

from matplotlib import pyplot

from bench.systems import rows as rows_module
from bench.systems.rows import Row

TITLE = "Nuthatch beside five systems: published, the peer here, ours here"
COLUMNS = ("", "published", "peer here", "ours here", "ours : peer", "ours : published")
NOTES = (
    "A ratio above 1 says that ours is better, below 1 that it is worse. Published figures come from other machines and other sizes, so their"
    " ratios are no comparison of engines; those of peers are, as far as configuration and durability are alike.",
    f"Figures are medians of {rows_module.ROUNDS} rounds taken in turns, with the lowest and the highest. Noisy: the rounds differ by more than"
    f" {rows_module.NOISY:.0%} of the median; take such a row for its order of magnitude.",
)
STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd;vertical-align:top}
td.number{text-align:right;white-space:nowrap}.better{color:#176b2c;font-weight:600}.worse{color:#a11;font-weight:600}small{color:#555}
figure{margin:1rem 0}svg{max-width:100%;height:auto}"""


def write(rows: list[Row], about: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "peers.svg": _picture(rows, "of_peer", "Ours beside the peer on this machine"),
        "published.svg": _picture(
            rows, "of_published", "Ours here beside what is published (other machines, other sizes)"
        ),
    }
    for name, picture in pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")
    (folder / "report.md").write_text(_markdown(rows, about, list(pictures)), encoding="utf-8")
    (folder / "report.html").write_text(_html(rows, about, list(pictures.values())), encoding="utf-8")


def _markdown(rows: list[Row], about: list[str], pictures: list[str]) -> str:
    lines = [f"# {TITLE}", "", *(f"- {one}" for one in about), "", *NOTES, "", _summary(rows), ""]
    lines += [f"![{name}]({name})" for name in pictures]
    for system in _systems(rows):
        lines += ["", f"## {system}", "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        for row in rows:
            if row.system == system:
                lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(row)) + " |")
        lines += ["", *(f"- **{row.workload}**: {_details(row)}" for row in rows if row.system == system)]
    return "\n".join(lines) + "\n"


def _html(rows: list[Row], about: list[str], pictures: list[str]) -> str:
    def escaped(text: str) -> str:
        return html.escape(text)

    parts = [f"<h1>{escaped(TITLE)}</h1><ul>", *(f"<li>{escaped(one)}</li>" for one in about), "</ul>"]
    parts += [*(f"<p>{escaped(note)}</p>" for note in NOTES), f"<p><strong>{escaped(_summary(rows))}</strong></p>"]
    parts += [f"<figure>{picture[picture.index('<svg') :]}</figure>" for picture in pictures]
    for system in _systems(rows):
        parts.append(
            f"<h2>{escaped(system)}</h2><table><tr>" + "".join(f"<th>{name}</th>" for name in COLUMNS) + "</tr>"
        )
        for row in rows:
            if row.system != system:
                continue
            name, *figures = _cells(row)
            cells = [f"<td>{escaped(name)}<br><small>{escaped(_details(row))}</small></td>"]
            for figure, ratio in zip(figures, (None, None, None, row.of_peer, None), strict=True):
                kind = "" if ratio is None else " better" if ratio >= 1 else " worse"
                cells.append(f'<td class="number{kind}">{escaped(figure)}</td>')
            parts.append("<tr>" + "".join(cells) + "</tr>")
        parts.append("</table>")
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escaped(TITLE)}</title><style>{STYLE}</style>'
    return head + "\n".join(parts) + "</html>\n"


def _systems(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.system for row in rows))


def _cells(row: Row) -> list[str]:
    def ratio(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    published = "-" if row.published is None else f"{_number(row.published)} {row.unit}"
    noisy = " (noisy)" if row.is_noisy else ""
    return [
        f"{row.workload}{noisy}",
        published,
        _rounds(row.peer, row.unit),
        _rounds(row.ours, row.unit),
        ratio(row.of_peer),
        ratio(row.of_published),
    ]


def _rounds(taken: list[float], unit: str) -> str:
    if not taken:
        return "-"
    middle = f"{_number(statistics.median(taken))} {unit}"
    return middle if len(taken) == 1 else f"{middle} ({_number(min(taken))} to {_number(max(taken))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _details(row: Row) -> str:
    parts = [row.configuration]
    parts += [f"published: {row.published_on}"] if row.published_on else []
    parts += [f"peer: {row.peer_is}"] if row.peer_is else []
    parts += [f"durability: {row.durability}"] if row.durability else []
    parts += [f"recall: {row.recall}"] if row.recall else []
    return "; ".join([*(part for part in parts if part), f"load {row.load}"])


def _summary(rows: list[Row]) -> str:
    beside = [row.of_peer for row in rows if row.of_peer is not None]
    better = sum(ratio >= 1 for ratio in beside)
    without = sum(not row.peer for row in rows)
    return (
        f"Of {len(rows)} rows, {len(beside)} have a peer here: ours is better in {better} and worse in {len(beside) - better}."
        f" {without} have none, each with the reason."
    )


def _picture(rows: list[Row], what: str, title: str, worse: str | None = "#b03030") -> str:
    """Bars of ratios; without a colour for the worse, all are grey: what was measured elsewhere is no verdict."""
    shown = [row for row in rows if getattr(row, what) is not None]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.28 * max(1, len(shown))), layout="constrained")
    ratios = [getattr(row, what) for row in shown]
    names = [f"{row.system}: {row.workload}{' (noisy)' if row.is_noisy else ''}" for row in shown]
    colours = ["#888888" if worse is None else "#2a7f3f" if ratio >= 1 else worse for ratio in ratios]
    # From 1 to both sides, so that what is worse is as long as what is better.
    axes.barh(
        names,
        [ratio - 1 for ratio in ratios],
        left=1,
        color=colours,
    )
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="times better (right) or worse (left)", title=title)
    axes.invert_yaxis()
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return target.getvalue()
