# SPDX-License-Identifier: Apache-2.0
"""A picture of a plan: rows that travel, and when each phase ran."""

_COLOURS = {"pack": "#ccbb44", "exchange": "#ee6677", "local": "#4477aa", "halo": "#228833"}
_WIDTH, _LINE, _LEFT = 760, 22, 70


class Picture:
    """An SVG picture: a notebook shows it, `str()` is its text, `save` writes it."""

    def __init__(self, svg):
        self._svg = svg

    def __str__(self):
        return self._svg

    def __repr__(self):
        return f"<spmm_dist picture, {len(self._svg)} characters of SVG>"

    def _repr_svg_(self):
        return self._svg

    def save(self, path):
        """Write it to a file."""
        with open(path, "w", encoding="utf-8") as out:
            out.write(self._svg)


def _text(x, y, words, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def _box(x, y, width, height, colour, title):
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
            f'fill="{colour}"><title>{title}</title></rect>')


def _timelines(spans, top):
    """A row for each rank, with a track for the exchange and one for the work."""
    end = max([to for rank in spans for _, _, to in rank], default=0.0)
    if not end:
        return [_text(_LEFT, top + 14, "no time line: plan with profile=True, and execute")]
    parts, scale = [], (_WIDTH - _LEFT - 10) / end
    for rank, mine in enumerate(spans):
        y = top + rank * _LINE
        parts.append(_text(_LEFT - 8, y + 14, f"rank {rank}", "end"))
        for phase, start, to in mine:
            track = 0 if phase in ("pack", "exchange") else 1
            parts.append(_box(_LEFT + start * scale, y + 2 + 9 * track, (to - start) * scale, 8,
                              _COLOURS[phase], f"{phase}: {(to - start) * 1e6:.1f} us"))
    y = top + len(spans) * _LINE + 14
    for k, (phase, colour) in enumerate(_COLOURS.items()):
        parts += [_box(_LEFT + 90 * k, y - 9, 10, 10, colour, phase),
                  _text(_LEFT + 90 * k + 14, y, phase)]
    return parts + [_text(_WIDTH - 10, y, f"{end * 1e6:.1f} us", "end")]


def _traffic(rows, top):
    """Halo rows: the receiver down, the sender across."""
    size, most = len(rows), max(map(max, rows)) or 1
    cell = min(46, (_WIDTH - _LEFT - 10) / size)
    parts = []
    for to, line in enumerate(rows):
        parts.append(_text(_LEFT - 8, top + (to + 0.6) * cell, f"rank {to}", "end"))
        for sender, count in enumerate(line):
            x, y = _LEFT + sender * cell, top + to * cell
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" height='
                         f'"{cell - 1:.1f}" fill="#4477aa" fill-opacity="{count / most:.2f}" '
                         f'stroke="#c3c2b7"><title>from rank {sender}: {count}</title></rect>')
            if cell >= 30 and count:
                parts.append(_text(x + cell / 2, y + cell * 0.6, count, "middle"))
    return parts, cell * size


def draw(ranks):
    """The picture of [(spans, rows received from each rank)] of all ranks."""
    table, height = _traffic([rows for _, rows in ranks], 30)
    top = height + 70
    parts = [_text(_LEFT, 20, "halo rows that a rank (down) receives from each (across)"), *table,
             _text(_LEFT, top - 12, "last product"), *_timelines([s for s, _ in ranks], top)]
    whole = top + len(ranks) * _LINE + 30
    body = "\n".join(parts)
    return Picture(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {whole:.0f}" '
                   f'width="{_WIDTH}" font-family="sans-serif" font-size="12">\n'
                   f'<rect width="100%" height="100%" fill="#fcfcfb"/>\n{body}\n</svg>\n')
