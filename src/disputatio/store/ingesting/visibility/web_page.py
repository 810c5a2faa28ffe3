"""HTML: what a person would not see of a page is taken out, by the cascade of its own styles.

A walk down the tree keeps for each element what it inherits: the size and colour of its text, the ground
behind it, how opaque it is. Text is judged where it stands, so that what is visible in something hidden
stays. Layout is not made: what depends on the sizes that text takes is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from disputatio.store.ingesting.hidden import PARTED
from disputatio.store.ingesting.visibility.boxes import hides, is_away, scale_of
from disputatio.store.ingesting.visibility.cascade import Cascade, compute_values
from disputatio.store.ingesting.visibility.colours import (
    BLACK,
    CLEAR,
    WHITE,
    Colour,
    blend,
    colour_of,
    colours_in,
    is_lost,
)
from disputatio.store.ingesting.visibility.measures import as_share, pixels

_NEVER_SHOWN = frozenset(
    {
        *("template", "noscript", "noembed", "noframes", "canvas", "video", "audio", "iframe"),
        *("datalist", "progress", "meter"),
    }
)
# Pages hide their whole body until a script has run; scripts and styles are no text.
_BODIES, _NO_TEXT = frozenset({"html", "body"}), frozenset({"script", "style"})
_PICTURES = ("img", "picture", "video", "canvas", "svg", "object", "embed", "iframe")
_LEAST_FONT = 2.0  # pixels; smaller writing is not read
_MOST_COVERS = 100
_SIZES = {
    "xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0, "x-large": 24.0,
    "xx-large": 32.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """The state that the text of an element inherits."""

    font: float = 16.0
    scale: float = 1.0
    ink: Colour = BLACK
    ground: Colour | None = WHITE
    opacity: float = 1.0
    visible: bool = True
    outlined: bool = False  # by a shadow or stroke, or filled by a picture: its colour says nothing
    spacing: float = 0.0  # in its own size
    names: dict[str, str] = field(default_factory=dict)
    covering: bool = False  # an opaque ground lies over what is below the nearest stack
    holder: Any = None  # the element that places what is placed absolutely
    values: dict[str, str] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        lost = not self.outlined and is_lost(self.ink, self.ground, self.opacity)
        return (
            self.visible
            and not lost
            and self.font * self.scale >= _LEAST_FONT
            and self.spacing > -0.5
            and self.opacity > CLEAR
        )


def remove_hidden(tree: Any) -> str:
    """Take out of an lxml HTML tree what a person would not see, and return its text; raises `TooMuch`."""
    from lxml import etree

    comments: list[str] = []
    for comment in list(tree.iter(etree.Comment)):
        comments.append(comment.text or "")
        drop(comment)
    return PARTED.join([*comments, "".join(_Walk(tree).take_out())])


class _Walk:
    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._cascade = Cascade(tree)
        start = _Style(ground=None if self._cascade.linked else WHITE)
        self._styles: list[tuple[Any, _Style]] = [(None, start)]
        self._covers: list[tuple[Any, Any]] = []
        self._placed: set[Any] = set()
        self._doomed: list[Any] = []
        self._removed: list[str] = []

    def take_out(self) -> list[str]:
        """Walk, and take out; the texts that went."""
        from lxml import etree

        within: Any = None  # what is gone or holds no text that the walk is in
        for event, element in etree.iterwalk(self._tree, events=("start", "end")):
            if event == "end":
                if element is within:
                    within = None
                elif within is None and self._styles[-1][0] is element:
                    self._styles.pop()
                continue
            if within is not None:
                continue
            if self._styles[-1][0] is not None and not self._styles[-1][1].is_read:
                element.tail = self._without(element.tail)
            if not self._enter(element):
                within = element
        for holder, cover in self._covers[:_MOST_COVERS]:
            self._cover(holder, cover)
        for element in self._doomed:
            drop(element)
        return self._removed

    def _enter(self, element: Any) -> bool:
        """Judge an element as the walk comes to it; whether the walk goes on into it."""
        if not isinstance(element.tag, str) or element.tag in _NO_TEXT:
            return False
        if element.tag in _NEVER_SHOWN:
            self._doom(element)
            return False
        if element.tag == "head" or (self._styles[-1][0] is not None and self._styles[-1][0].tag == "head"):
            self._styles.append((element, _Style()))
            return True
        above = self._styles[-1][1]
        style = self._style(element, above)
        if style is None or (element.tag != "summary" and self._is_shut(element, above)):
            self._doom(element)
            return False
        if not style.is_read:
            element.text = self._without(element.text)
        self._styles.append((element, style))
        return True

    def _doom(self, element: Any) -> None:
        self._removed.append("".join(element.itertext()))
        self._doomed.append(element)

    def _without(self, text: str | None) -> str:
        self._removed.append(text or "")
        return " " if text and text != text.strip() else ""

    def _is_shut(self, element: Any, above: _Style) -> bool:
        """Return whether an element is in a closed `details` whose summary is hidden."""
        parent = element.getparent()
        if parent is None or parent.tag != "details" or parent.get("open") is not None:
            return False
        summary = parent.find("summary")
        return summary is not None and self._style(summary, above) is None

    def _style(self, element: Any, above: _Style) -> _Style | None:
        declarations = self._cascade.find_declarations(element)
        names = above.names
        own_names = {name: value for name, value in declarations if name.startswith("--")}
        if own_names:
            names = {**names, **own_names}
        values = compute_values(declarations, names)
        values |= self._last_frame(values)
        style = self._with_text(_of_body(values) if element.tag in _BODIES else values, above)
        if element.tag in _BODIES:
            return replace(style, names=names, values={})
        style = replace(style, names=names, values=values)
        if hides(values, style.font) or (
            values.get("z-index", "").startswith("-") and above.covering and _is_placed(values)
        ):
            return None
        if any(
            child.tag == "template" and child.get("shadowrootmode") and not any(child.iter("slot"))
            for child in element
        ):
            return None
        return self._apply_place(element, style, above)

    def _with_text(self, values: dict[str, str], above: _Style) -> _Style:
        font = _font(values.get("font-size", ""), above.font) * (_share(values.get("zoom", ""), 1.0) or 1.0)
        ink = _ink(values.get("color", ""), above.ink)
        fill = values.get("text-fill-color", "")
        opacity = above.opacity * min(1.0, _share(values.get("opacity", ""), 1.0))
        outlined = above.outlined
        for name in ("text-shadow", "text-stroke", "text-stroke-color"):
            if name in values:
                seen = (colour_of(colour) for colour in colours_in(values[name]))
                outlined = any(colour and not is_lost(colour, above.ground) for colour in seen)
        filtering = values.get("filter", "none") not in ("none", "") and "opacity" not in values["filter"]
        mixed = values.get("mix-blend-mode", "normal") != "normal" or values.get("background-clip") == "text"
        spacing = pixels(values["letter-spacing"], font) if "letter-spacing" in values else None
        return replace(
            above,
            font=font,
            scale=above.scale * scale_of(values),
            ink=_ink(fill, ink) if fill else ink,
            opacity=opacity,
            visible=_visible(values.get("visibility", ""), inherited=above.visible),
            outlined=outlined or filtering or mixed,
            spacing=above.spacing if spacing is None else spacing / max(font, 0.01),
            ground=_ground(values, above.ground),
        )

    def _apply_place(self, element: Any, style: _Style, above: _Style) -> _Style | None:
        """Return the style with what the element's own place and ground do to what is in it and around it."""
        values = style.values
        own = colour_of(values.get("background-color", ""))
        opaque = own is not None and own[3] > 1 - CLEAR
        ground, covering = style.ground, above.covering or opaque
        placed = _is_placed(values)
        if _is_stack(values, placed=placed):
            covering = False
        if placed and values["position"] in ("absolute", "fixed"):
            if (
                opaque
                and _is_whole(values)
                and above.holder is not None
                and not values.get("z-index", "").startswith("-")
            ):
                self._covers.append((above.holder, element))
            if not opaque and self._has_picture_near(element):
                ground = None
        elif (
            not opaque
            and above.values.get("display", "").endswith("grid")
            and self._has_picture_near(element)
        ):
            ground = None
        if placed:
            self._placed.add(element)
        return replace(style, ground=ground, covering=covering, holder=element if placed else above.holder)

    def _last_frame(self, values: dict[str, str]) -> dict[str, str]:
        """Return what an animation leaves behind that ends as its last frame or goes on for ever."""
        stated = f"{values.get('animation', '')} {values.get('animation-name', '')}"
        lasts = (values.get(f"animation-{name}", "") for name in ("fill-mode", "iteration-count"))
        if not {"forwards", "both", "infinite"} & {*stated.split(), *lasts}:
            return {}
        return {
            name: value
            for word in stated.split()
            for name, value in compute_values(self._cascade.frames.get(word, []), {}).items()
        }

    def _has_picture_near(self, element: Any) -> bool:
        """Return whether a picture or an own ground lies beside an element or its parents."""
        parent = element.getparent()
        for _ in range(3):
            if parent is None or parent.tag in _BODIES:
                return False
            for other in parent.iter():
                if other is not element and isinstance(other.tag, str) and self._paints(other):
                    return True
            parent = parent.getparent()
        return False

    def _paints(self, element: Any) -> bool:
        if element.tag in _PICTURES:
            return True
        return any(name.startswith("background") for name, _ in self._cascade.find_declarations(element))

    def _cover(self, holder: Any, cover: Any) -> None:
        """Take out the text of `holder` that its cover lies over: all that is not placed on its own."""
        waiting = [holder]
        while waiting:
            element = waiting.pop()
            element.text = self._without(element.text)
            for child in element:
                if isinstance(child.tag, str):
                    child.tail = self._without(child.tail)
                    if child is not cover and child not in self._placed and child.tag not in _NO_TEXT:
                        waiting.append(child)


def drop(element: Any) -> None:
    """Take an element out and leave the text that follows it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
    parent.remove(element)


def _of_body(values: dict[str, str]) -> dict[str, str]:
    """Return what a body says of its text; that it is hidden itself is not believed."""
    return {name: value for name, value in values.items() if name not in ("opacity", "visibility", "filter")}


def _font(value: str, inherited: float) -> float:
    if value in _SIZES:
        return _SIZES[value]
    if value in ("smaller", "larger"):
        return inherited * (0.83 if value == "smaller" else 1.2)
    size = pixels(value, inherited, inherited) if value else None
    return inherited if size is None else max(size, 0.0)


def _share(value: str, otherwise: float) -> float:
    number = as_share(value) if value else None
    return otherwise if number is None else max(number, 0.0)


def _ink(value: str, inherited: Colour) -> Colour:
    if value in ("initial", "canvastext"):
        return BLACK
    return colour_of(value) or inherited


def _visible(value: str, *, inherited: bool) -> bool:
    return value == "visible" if value in ("visible", "hidden", "collapse") else inherited


def _ground(values: dict[str, str], behind: Colour | None) -> Colour | None:
    """Return the colour behind an element's text; None for a picture or an unknown one."""
    if values.get("background-image", "none") not in ("none", "", "initial"):
        return None
    stated = values.get("background-color", "")
    own = colour_of(stated) if stated else None
    if own is None:
        plain = stated in ("", "inherit", "initial", "unset", "none")
        return behind if plain else None
    if own[3] >= 1 - CLEAR:
        return (*own[:3], 1.0)
    return blend(own, behind) if behind is not None else None


def _is_placed(values: dict[str, str]) -> bool:
    return values.get("position", "") in ("absolute", "fixed", "relative", "sticky")


def _is_stack(values: dict[str, str], *, placed: bool) -> bool:
    """Return whether an element is a stack of its own: what is below zero in it stays above its ground."""
    get = values.get
    return (
        (placed and get("z-index", "auto") != "auto")
        or get("position", "") in ("fixed", "sticky")
        or get("opacity", "1") != "1"
        or any(
            get(name, "none") != "none"
            for name in ("transform", "filter", "perspective", "clip-path", "mask")
        )
        or get("isolation", "") == "isolate"
    )


def _is_whole(values: dict[str, str]) -> bool:
    """Return whether an absolutely placed element covers all of what holds it."""

    def nil(side: str) -> bool:
        size = pixels(values.get(side, ""))
        return size is not None and size <= 0

    across = nil("left") and (nil("right") or values.get("width") == "100%")
    down = nil("top") and (nil("bottom") or values.get("height") == "100%")
    return across and down and not is_away(values, 16.0)
