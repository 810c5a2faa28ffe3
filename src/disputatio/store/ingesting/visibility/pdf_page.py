"""PDF: which of the texts that a page draws a reader would not see.

The operators of a page and of the forms that it draws are followed as they come: the state of graphics, where
each text stands, which colour lies there, what is painted over it later. A text is hidden that is drawn
without ink (and over no picture: over one it is what OCR laid there), in the colour of what lies behind it,
clear, a point high or less, off the page, clipped away, on a layer that is switched off, or painted over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from disputatio.store.ingesting.visibility.colours import BLACK, CLEAR, WHITE, Colour, is_lost

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top; in points of the page
_Matrix: TypeAlias = tuple[float, float, float, float, float, float]

SHOWING = (b"Tj", b"TJ", b"'", b'"')
_SMALLEST = 1.0  # points
_LEAST_STRETCH = 0.02  # of a letter's width
_EDGE = 1.0  # points by which a text may stand over the edge of what covers it
_MOST_PAINTED = 2_000
_EVERYWHERE: Box = (-math.inf, -math.inf, math.inf, math.inf)
_PATHS = (b"m", b"l", b"c", b"v", b"y", b"h", b"re")
_FILLS, _ENDS = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"), (b"n", b"S", b"s")
_IDENTITY: _Matrix = (1, 0, 0, 1, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The state of graphics that a text is drawn in; None for a colour that is not a plain one."""

    matrix: _Matrix = _IDENTITY
    fill: Colour | None = BLACK
    stroke: Colour | None = BLACK
    fill_parts: int = 1  # of the colour space: how many numbers make a colour, 0 where they make none
    stroke_parts: int = 1
    mode: int = 0
    size: float = 0.0
    stretch: float = 1.0
    clip: Box = _EVERYWHERE
    judged_size: bool = True


@dataclass(slots=True, kw_only=True)
class _Painted:
    """Something that was painted: its place, and its colour where that is known; whether it is a picture."""

    box: Box
    colour: Colour | None
    after: int  # texts that were drawn before it
    picture: bool = False
    whole: bool = True  # whether all of the box is painted


@dataclass(slots=True)
class Follower:
    """Called with each operator before it is carried out (`visitor_operand_before` of pypdf)."""

    page: Box
    resources: Any
    switched_off: frozenset[int] = frozenset()
    number: int = 0
    hidden: set[int] = field(default_factory=set)
    _state: _State = field(default_factory=_State)
    _stack: list[_State] = field(default_factory=list)
    _text: _Matrix = _IDENTITY
    _line: _Matrix = _IDENTITY
    _leading: float = 0.0
    _path: list[tuple[float, float]] = field(default_factory=list)
    _rectangles: bool = True
    _clipping: bool = False
    _marks: list[bool] = field(default_factory=list)
    _painted: list[_Painted] = field(default_factory=list)
    _texts: list[tuple[int, Box]] = field(default_factory=list)
    _without_ink: list[tuple[int, Box]] = field(default_factory=list)
    _forms: list[tuple[Any, _State]] = field(default_factory=list)

    def finish(self) -> set[int]:
        """Return the numbers of the texts that are hidden, counted as they are drawn."""
        covers = [
            item for item in self._painted if item.whole and not item.picture and _is_opaque(item.colour)
        ]
        for number, box in self._texts:
            if any(item.after > number and _within(box, item.box) for item in covers):
                self.hidden.add(number)
        pictures = [item.box for item in self._painted if item.picture]
        for number, box in self._without_ink:
            if not any(_within(box, _grown(picture)) for picture in pictures):
                self.hidden.add(number)
        return self.hidden

    def see(self, operator: bytes, operands: list[Any]) -> None:
        """Follow one operator; wrong operands are passed over, as viewers do."""
        if operator == b"Do":
            self._forms.append((self._resources(), self._state))
        try:
            self._follow(operator, operands)
        except (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError):
            return

    def leave(self, operator: bytes) -> None:
        """Hear that an operator was carried out: a form that it drew has ended."""
        if operator == b"Do" and self._forms:
            self._state = self._forms.pop()[1]

    def _follow(self, operator: bytes, operands: list[Any]) -> None:
        state = self._state
        match operator:
            case b"q":
                self._stack.append(state)
            case b"Q":
                self._state = self._stack.pop() if self._stack else state
            case b"cm":
                self._state = replace(state, matrix=_times(_matrix(operands), state.matrix))
            case b"gs":
                self._apply_settings(self._resource("/ExtGState", operands[0]))
            case b"BDC" | b"BMC":
                self._marks.append(self._is_off(operands))
            case b"EMC":
                del self._marks[-1:]
            case b"Do":
                self._draw(self._resource("/XObject", operands[0]))
            case b"INLINE IMAGE" | b"BI" | b"EI":
                self._paint(_box_of(state.matrix, (0, 0, 1, 1)), None, picture=True)
            case b"sh":
                self._paint(state.clip, None)
            case _ if operator[:1] == b"T" and operator not in SHOWING:
                self._follow_text(operator, operands)
            case _:
                self._follow_others(operator, operands)

    def _follow_text(self, operator: bytes, operands: list[Any]) -> None:
        state = self._state
        match operator:
            case b"Tr":
                self._state = replace(state, mode=int(operands[0]))
            case b"Tz":
                self._state = replace(state, stretch=float(operands[0]) / 100)
            case b"TL":
                self._leading = float(operands[0])
            case b"Tf":
                font = self._resource("/Font", operands[0])
                plain = font is None or font.get("/Subtype") != "/Type3"
                self._state = replace(state, size=float(operands[1]), judged_size=plain)
            case b"Tm":
                self._text = self._line = _matrix(operands)
            case b"Td" | b"TD":
                if operator == b"TD":
                    self._leading = -float(operands[1])
                self._move(float(operands[0]), float(operands[1]))
            case b"T*":
                self._move(0.0, -self._leading)

    def _follow_others(self, operator: bytes, operands: list[Any]) -> None:
        if operator == b"BT":
            self._text = self._line = _IDENTITY
        elif operator in SHOWING:
            self._show(operator, operands)
        elif operator in _PATHS:
            self._add_path(operator, [float(number) for number in operands])
        elif operator in (b"W", b"W*"):
            self._clipping = True
        elif operator in _FILLS or operator in _ENDS:
            self._end_path(fill=operator in _FILLS)
        elif operator.lower() in (b"g", b"rg", b"k", b"sc", b"scn", b"cs"):
            self._colour(operator, operands)

    # --- state ---------------------------------------------------------------------------------------------
    def _resources(self) -> Any:
        return self._forms[-1][0] if self._forms else self.resources

    def _resource(self, kind: str, name: Any) -> Any:
        resources = self._resources()
        found = resources.get(kind) if resources is not None else None
        item = found.get_object().get(name) if found is not None else None
        return item.get_object() if item is not None else None

    def _apply_settings(self, settings: Any) -> None:
        if settings is None:
            return
        changes: dict[str, Any] = {}
        for key, name in (("/ca", "fill"), ("/CA", "stroke")):
            colour: Colour | None = getattr(self._state, name)
            if key in settings and colour is not None:
                changes[name] = (*colour[:3], float(settings[key]))
            elif key in settings and float(settings[key]) <= CLEAR:
                changes[name] = (0.0, 0.0, 0.0, 0.0)
        if "/Font" in settings:
            changes["size"] = float(settings["/Font"][1])
        self._state = replace(self._state, **changes)

    def _colour(self, operator: bytes, operands: list[Any]) -> None:
        name = "stroke" if operator.isupper() else "fill"
        alpha = (getattr(self._state, name) or BLACK)[3]
        kind = operator.lower()
        if kind == b"cs":
            parts = self._parts(str(operands[0]))
            black: Colour | None = (0.0, 0.0, 0.0, alpha) if parts else None
            self._state = replace(self._state, **{f"{name}_parts": parts, name: black})  # type: ignore[arg-type]
            return
        expected = {b"g": 1, b"rg": 3, b"k": 4}.get(kind, getattr(self._state, f"{name}_parts"))
        colour = None
        if expected and len(operands) == expected:
            colour = (*_rgb([min(1.0, max(0.0, float(part))) for part in operands]), alpha)
        changes: dict[str, Any] = {name: colour}
        if kind in (b"g", b"rg", b"k"):
            changes[f"{name}_parts"] = expected
        self._state = replace(self._state, **changes)

    def _parts(self, space: str) -> int:
        """Return how many numbers make a colour of a space; 0 for a space of inks or patterns."""
        plain = {"/DeviceGray": 1, "/CalGray": 1, "/DeviceRGB": 3, "/CalRGB": 3, "/DeviceCMYK": 4}
        if space in plain:
            return plain[space]
        defined = self._resource("/ColorSpace", space)
        if isinstance(defined, str):
            return plain.get(defined, 0)
        if isinstance(defined, list) and defined:
            if defined[0] == "/ICCBased":
                return int(defined[1].get_object().get("/N", 0))
            return plain.get(str(defined[0]), 0)
        return 0

    def _is_off(self, operands: list[Any]) -> bool:
        if len(operands) < 2 or operands[0] != "/OC" or not self.switched_off:
            return False
        resources = self._resources()
        layers = resources.get("/Properties").get_object()
        reference = layers.raw_get(operands[1])
        return getattr(reference, "idnum", -1) in self.switched_off

    # --- paths, pictures and forms -------------------------------------------------------------------------
    def _add_path(self, operator: bytes, numbers: Sequence[float]) -> None:
        if operator == b"re":
            x, y, width, height = numbers
            self._path += [(x, y), (x + width, y + height)]
            return
        if operator != b"h":
            self._rectangles = False
        self._path += list(zip(numbers[::2], numbers[1::2], strict=False))

    def _end_path(self, *, fill: bool) -> None:
        if self._path:
            box = _around([_at(self._state.matrix, point) for point in self._path])
            if fill:
                self._paint(_overlap(box, self._state.clip), self._state.fill, whole=self._rectangles)
            if self._clipping:
                self._state = replace(self._state, clip=_overlap(box, self._state.clip))
        self._path, self._rectangles, self._clipping = [], True, False

    def _paint(self, box: Box, colour: Colour | None, *, picture: bool = False, whole: bool = True) -> None:
        if len(self._painted) < _MOST_PAINTED and not any(self._marks):
            self._painted.append(
                _Painted(box=box, colour=colour, after=self.number, picture=picture, whole=whole)
            )

    def _draw(self, item: Any) -> None:
        state = self._state
        if item is None:
            return
        if item.get("/Subtype") == "/Image":
            self._paint(_overlap(_box_of(state.matrix, (0, 0, 1, 1)), state.clip), None, picture=True)
            return
        resources = item.get("/Resources")
        if resources is not None:
            self._forms[-1] = (resources.get_object(), self._forms[-1][1])
        matrix = _times(_matrix(list(item.get("/Matrix", _IDENTITY))), state.matrix)
        box = item.get("/BBox")
        inside = _box_of(matrix, _box([float(side) for side in box])) if box is not None else _EVERYWHERE
        self._state = replace(state, matrix=matrix, clip=_overlap(inside, state.clip))

    # --- texts ---------------------------------------------------------------------------------------------
    def _move(self, x: float, y: float) -> None:
        self._text = self._line = _times((1, 0, 0, 1, x, y), self._line)

    def _show(self, operator: bytes, operands: list[Any]) -> None:
        if operator in (b"'", b'"'):
            self._move(0.0, -self._leading)
        state, number = self._state, self.number
        self.number += 1
        length = _length_of(operands)
        drawn = _times(self._text, state.matrix)
        high = math.hypot(drawn[2], drawn[3]) * abs(state.size)
        wide = length * abs(state.size * state.stretch)
        box = _around([_at(drawn, point) for point in ((0, -0.2 * state.size), (wide / 2, 0.7 * state.size))])
        start = _at(drawn, (0, 0))
        advance = 0.5 * length * state.size * state.stretch  # about; the widths of letters are not asked
        self._text = _times((1, 0, 0, 1, advance, 0), self._text)
        if any(self._marks) or not length:
            self.hidden.update([number] if length else [])
        elif state.mode in (3, 7):
            self._without_ink.append((number, (*start, *start)))
        elif self._is_unseen(state, box, high, start):
            self.hidden.add(number)
        else:
            self._texts.append((number, box))

    def _is_unseen(self, state: _State, box: Box, high: float, start: tuple[float, float]) -> bool:
        if state.judged_size and (high <= _SMALLEST or abs(state.stretch) < _LEAST_STRETCH):
            return True
        if _is_apart(box, self.page) or _is_apart(box, state.clip) or _is_flat(state.clip):
            return True
        inks = {
            1: (state.stroke,),
            5: (state.stroke,),
            2: (state.fill, state.stroke),
            6: (state.fill, state.stroke),
        }
        ground = self._ground((start[0], (box[1] + box[3]) / 2))
        return all(ink is not None and is_lost(ink, ground) for ink in inks.get(state.mode, (state.fill,)))

    def _ground(self, point: tuple[float, float]) -> Colour | None:
        """Return the colour at a place, by what was painted there last; white where nothing was."""
        for item in reversed(self._painted):
            left, bottom, right, top = item.box
            if left <= point[0] <= right and bottom <= point[1] <= top:
                return item.colour if item.whole and _is_opaque(item.colour) else None
        return WHITE


def _rgb(parts: Sequence[float]) -> tuple[float, float, float]:
    if len(parts) == 1:
        return parts[0], parts[0], parts[0]
    if len(parts) == 4:
        cyan, magenta, yellow, black = parts
        return (1 - cyan) * (1 - black), (1 - magenta) * (1 - black), (1 - yellow) * (1 - black)
    red, green, blue = parts
    return red, green, blue


def _length_of(operands: list[Any]) -> int:
    shown = operands[-1] if operands else ""
    parts = shown if isinstance(shown, list) else [shown]
    return sum(len(part) for part in parts if isinstance(part, str | bytes))


def _is_opaque(colour: Colour | None) -> bool:
    return colour is not None and colour[3] > 1 - CLEAR


def _box(sides: Sequence[float]) -> Box:
    left, bottom, right, top = sides
    return left, bottom, right, top


def _matrix(operands: list[Any]) -> _Matrix:
    a, b, c, d, e, f = (float(part) for part in operands[:6])
    return a, b, c, d, e, f


def _times(first: _Matrix, then: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    g, h, i, j, k, m = then
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _at(matrix: _Matrix, point: tuple[float, float]) -> tuple[float, float]:
    x, y = point
    return matrix[0] * x + matrix[2] * y + matrix[4], matrix[1] * x + matrix[3] * y + matrix[5]


def _box_of(matrix: _Matrix, box: Box) -> Box:
    left, bottom, right, top = box
    return _around(
        [_at(matrix, point) for point in ((left, bottom), (right, bottom), (left, top), (right, top))]
    )


def _around(points: Sequence[tuple[float, float]]) -> Box:
    across, down = zip(*points, strict=True)
    return min(across), min(down), max(across), max(down)


def _overlap(box: Box, other: Box) -> Box:
    return max(box[0], other[0]), max(box[1], other[1]), min(box[2], other[2]), min(box[3], other[3])


def _grown(box: Box) -> Box:
    return box[0] - _EDGE, box[1] - _EDGE, box[2] + _EDGE, box[3] + _EDGE


def _within(box: Box, other: Box) -> bool:
    left, bottom, right, top = _grown(other)
    return left <= box[0] and bottom <= box[1] and box[2] <= right and box[3] <= top


def _is_apart(box: Box, other: Box) -> bool:
    return box[2] < other[0] or box[0] > other[2] or box[3] < other[1] or box[1] > other[3]


def _is_flat(box: Box) -> bool:
    return box[2] - box[0] < _SMALLEST or box[3] - box[1] < _SMALLEST
