# SPDX-License-Identifier: GPL-2.0-only
"""Plots as SVG, without a library, so that the same data always gives the same text.

Text and axes follow the reader's light or dark scheme; the background is transparent.
"""

import math
from xml.sax.saxutils import escape

# Told apart on white and on black, and by people who see colours differently.
COLOURS = {"ext4": "#8b949e", "fastcommit": "#c98a00", "xfs": "#a371d6", "btrfs": "#b07d4f", "zext4": "#0a9396",
           "zext4:lanes=1": "#4c8dd6"}
STYLE = """text { fill: #24292f; font: 13px system-ui, sans-serif }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px }
.grid { stroke: #8b949e; stroke-opacity: 0.3 }
.axis { stroke: #57606a }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .axis { stroke: #adb5bd } }"""


def at(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Drawing:
    """The elements of a picture, in the order in which they are drawn"""

    def __init__(self, width, height, title, about):
        self.width, self.height, self.about = width, height, about
        self.parts = []
        self.text(12, 22, title, kind="title")

    def text(self, x, y, said, kind="", anchor="start"):
        extra = f' class="{kind}"' if kind else ""
        extra += f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{at(x)}" y="{at(y)}"{extra}>{escape(said)}</text>')

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.parts.append(f'<line x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}" class="{kind}"/>')

    def bar(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{at(x)}" y="{at(y)}" width="{at(width)}" height="{at(height)}" fill="{colour}"/>')

    def path(self, points, colour, dashed=False, dots=True):
        drawn = " ".join(f"{at(x)},{at(y)}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2.2"{dash}/>')
        if dots:
            self.parts += [f'<circle cx="{at(x)}" cy="{at(y)}" r="3.2" fill="{colour}"/>' for x, y in points]

    def legend(self, left, y, entries):
        """entries: [(colour, dashed, text)]; one beside the other"""
        for colour, dashed, said in entries:
            dash = ' stroke-dasharray="6 4"' if dashed else ""
            self.parts.append(f'<line x1="{at(left)}" y1="{at(y - 4)}" x2="{at(left + 22)}" y2="{at(y - 4)}" '
                              f'stroke="{colour}" stroke-width="5"{dash}/>')
            self.text(left + 28, y, said, "small")
            left += 52 + 6.6 * len(said)

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img">',
            f"<title>{escape(self.about)}</title>", f"<style>{STYLE}</style>", *self.parts, "</svg>", ""])


def bars(title, about, groups, names, unit):
    """
    groups: [(label, second label, {series: (length, what stands beside it)})]; names: {series: name}.
    """
    left, thick, right = 190, 15, 60
    tall = len(names) * thick + 18
    drawing = Drawing(720, 78 + len(groups) * tall + 24, title, about)
    drawing.legend(left, 48, [(COLOURS[s], False, name) for s, name in names.items()])
    longest = max(value for *_, found in groups for value, _ in found.values())
    scale = (drawing.width - left - right) / longest
    bottom = 62 + len(groups) * tall
    for tick in range(int(longest) + 1):
        x = left + tick * scale
        drawing.line(x, 62, x, bottom, "axis" if not tick else "grid")
        drawing.text(x, bottom + 16, str(tick), "small", "middle")
    drawing.text(left, bottom + 32, unit, "small")
    for i, (label, second, found) in enumerate(groups):
        top = 70 + i * tall
        drawing.text(left - 10, top + tall / 2 - 10, label, anchor="end")
        drawing.text(left - 10, top + tall / 2 + 5, second, "small", "end")
        for j, series in enumerate(names):
            value, said = found[series]
            drawing.bar(left, top + j * thick, value * scale, thick - 3, COLOURS[series])
            drawing.text(left + value * scale + 5, top + j * thick + 10, said, "small")
    return drawing.svg()


class Axes:
    """Two axes in a drawing; a logarithmic one has its ticks given"""

    def __init__(self, drawing, x, y, log_x=True, log_y=True):
        self.drawing, self.log_x, self.log_y = drawing, log_x, log_y
        self.x, self.y = x, y
        self.left, self.top, self.right, self.bottom = 70, 80, drawing.width - 36, drawing.height - 46

    def place(self, x, y):
        def share(value, ends, log):
            low, high = (math.log(end) for end in ends) if log else ends
            return ((math.log(value) if log else value) - low) / (high - low)
        return (self.left + share(x, self.x, self.log_x) * (self.right - self.left),
                self.bottom - share(y, self.y, self.log_y) * (self.bottom - self.top))

    def frame(self, ticks_x, ticks_y, label_x, label_y):
        """ticks: {value: text}"""
        drawing = self.drawing
        for value, said in ticks_x.items():
            x, _ = self.place(value, self.y[0])
            drawing.line(x, self.top, x, self.bottom)
            drawing.text(x, self.bottom + 16, said, "small", "middle")
        for value, said in ticks_y.items():
            _, y = self.place(self.x[0], value)
            drawing.line(self.left, y, self.right, y)
            drawing.text(self.left - 8, y + 4, said, "small", "end")
        drawing.line(self.left, self.bottom, self.right, self.bottom, "axis")
        drawing.line(self.left, self.top, self.left, self.bottom, "axis")
        drawing.text((self.left + self.right) / 2, drawing.height - 10, label_x, "small", "middle")
        drawing.text(12, self.top - 12, label_y, "small")

    def draw(self, points, colour, dashed=False, dots=True):
        self.drawing.path([self.place(x, y) for x, y in points], colour, dashed, dots)
