# SPDX-License-Identifier: Apache-2.0
"""The figure of bench/dist/scaling.py: efficiency over ranks, one line for each matrix."""
from plot.plot import COLOURS, marks, text

WIDTH, HEIGHT, LEFT, TOP, LEGEND = 360, 240, 62, 40, 260


def lines_of(rows):
    """label -> [(ranks, efficiency)], ascending."""
    found = {}
    for row in rows:
        if row["efficiency"]:
            strong = not row["set"].startswith("weak")
            label = f"{row['matrix']}, strong" if strong else f"{row['set'][5:]}, weak"
            if len({(r["compute"], r["columns"]) for r in rows}) > 1:
                label += f", {row['compute']}, N = {row['columns']}"
            found.setdefault(label, {})[row["ranks"]] = row["efficiency"]
    return {label: sorted(points.items()) for label, points in found.items() if len(points) > 1}


def draw(rows):
    """The text of the figure; the same rows give the same bytes."""
    series = lines_of(rows)
    ranks = sorted({p for points in series.values() for p, _ in points})
    top = max([1.0] + [e for points in series.values() for _, e in points]) * 1.05
    height = max(TOP + HEIGHT + 50, TOP + 16 * len(series) + 20)

    def x(p):
        return LEFT + WIDTH * (ranks.index(p) + 0.5) / len(ranks)

    def y(efficiency):
        return TOP + HEIGHT * (1 - efficiency / top)

    total = LEFT + WIDTH + LEGEND
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
           f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
           text(LEFT, 22, "Parallel efficiency against the best time on one GPU", "start",
                ' font-size="13"')]
    for k in range(int(top * 5) + 1):
        out.append(f'<path d="M{LEFT} {y(k / 5):.1f}h{WIDTH}" '
                   f'stroke="{"#444444" if k == 5 else "#d8d8d8"}"/>')
        out.append(text(LEFT - 6, y(k / 5) + 4, f"{k / 5:g}", "end"))
    for p in ranks:
        out.append(text(x(p), TOP + HEIGHT + 18, str(p)))
    out.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, "GPUs"))
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
               'stroke="#444444"/>')
    for k, (label, points) in enumerate(series.items()):
        colour = COLOURS[k % len(COLOURS)]
        path = " ".join(f"{x(p):.1f},{y(e):.1f}" for p, e in points)
        dash = ' stroke-dasharray="4 3"' if label.endswith(", weak") else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}"{dash}/>')
        ends = [(x(p), y(e)) for p, e in points] + [(LEFT + WIDTH + 16, TOP + 16 * k + 4)]
        out.append(marks(k, ends, colour))
        out.append(text(LEFT + WIDTH + 28, TOP + 16 * k + 8, label, "start"))
    return "\n".join(out + ["</svg>"]) + "\n"
