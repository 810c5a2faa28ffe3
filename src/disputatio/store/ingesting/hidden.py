"""Text that a person would not see, removed and counted: characters without ink, hidden HTML.

Hidden text is how a document says one thing to its reader and another to a program. What HTML hides
by scripts or by style sheets of other files is not known here.
"""

from __future__ import annotations

import re
from typing import Any

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# A selector says which of two forms is drawn; more than one on a character draws nothing.
_SELECTORS = re.compile("(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]+")
_JOINER = re.compile("[\u200c\u200d]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Text without invisible characters (zero width, direction overrides, controls), lines ended by \n.

    Joiners are kept where scripts and emoji need them. Cleaning twice is cleaning once.

    >>> clean("pass\u200bword\u202e\r\nnext")
    'password\nnext'
    >>> clean("\U0001f469\u200d\U0001f52c") == "\U0001f469\u200d\U0001f52c"
    True
    """
    return cleaned(text)[0]


def cleaned(text: str) -> tuple[str, int]:
    r"""The clean text, and how many characters without ink were removed.

    Soft hyphens, a byte order mark at the start and controls are removed too, but hide nothing and
    are not counted.

    >>> cleaned("a\u200bb\u00adc\U000e0041")
    ('abc', 2)
    """
    text = text.removeprefix("\ufeff")
    if text.isascii():
        return _CONTROL.sub("", _lines(text)), 0
    text = _CONTROL.sub("", _lines(text))
    soft, before = text.count("\u00ad"), len(text)
    text = _SELECTORS.sub("", _INVISIBLE.sub("", text))
    text = _JOINER.sub(lambda run: run[0][0] if _joins(text, *run.span()) else "", text)
    return _SURROGATE.sub("\ufffd", text), before - len(text) - soft


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n")


def _joins(text: str, start: int, end: int) -> bool:
    """Whether joiners stand between characters of scripts that use one (none below Armenian)."""
    return start > 0 and end < len(text) and text[start - 1] > "\u052f" and text[end] > "\u052f"


_NEVER_SHOWN = frozenset({"template", "noscript"})
# Pages hide their whole body until a script has run; scripts and styles are no text.
_NOT_JUDGED = frozenset({"html", "head", "body", "script", "style"})
_RULE = re.compile(r"(?<![^{}])([^{}]++)\{([^{}]*+)\}")
_SELECTOR = re.compile(r"(?:[a-z][a-z0-9]*)?([.#][\w-]+)", re.IGNORECASE)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBER = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?|\.\d++))\s*+([a-z%]*+)")
_COLOURS = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "blue": "#0000ff", "green": "#008000"}
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})(?:[\s,/]+([\d.]+%?))?\s*\)")
_FAR = 900.0  # pixels to the left of, or above, the page
_MOST_CSS = 1_000_000


def remove_hidden(tree: Any) -> int:
    """Take out of an lxml HTML tree what a person would not see; the characters of text that went.

    That is: comments, `template` and `noscript`, the attribute `hidden`, and what its own style or a
    plain rule of the page's style element hides (display, visibility, opacity, size, clipping, a place
    off the screen, writing in the colour of the ground). `aria-hidden` hides from screen readers what
    eyes see, so it stays. Scripts and styles are no text: the extraction of text leaves them out.
    """
    from lxml import etree

    removed = 0
    for comment in list(tree.iter(etree.Comment)):
        removed += len(" ".join((comment.text or "").split()))
        _drop(comment)
    hiding, grounded = _hiding_selectors(tree)
    doomed: list[Any] = []
    within: Any = None  # the hidden element that the walk is in
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if event == "end":
            within = None if element is within else within
        elif within is None and _is_hidden(element, hiding, grounded=grounded):
            removed += len(" ".join("".join(element.itertext()).split()))
            doomed.append(element)
            within = element
    for element in doomed:
        _drop(element)
    return removed


def _drop(element: Any) -> None:
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


def _is_hidden(element: Any, hiding: frozenset[str], *, grounded: bool) -> bool:
    get = element.get
    if not isinstance(element.tag, str) or element.tag in _NOT_JUDGED:
        return False
    if element.tag in _NEVER_SHOWN or get("hidden") is not None:
        return True
    names = [f".{name}" for name in (get("class") or "").split()] if hiding else []
    if hiding and (f"#{get('id')}" in hiding or not hiding.isdisjoint(names)):
        return True
    style = get("style")
    colour = get("color") if element.tag == "font" else None
    if not style and not colour:
        return False
    declarations = _declarations(style or "")
    if hides(declarations):
        return True
    ink = _colour(declarations.get("color", colour or ""))
    return bool(ink) and ink == _ground(element, declarations, grounded=grounded)


def hides(declarations: dict[str, str]) -> bool:
    """Whether the declarations of a style hide what they are for.

    >>> hides({"display": "none"}), hides({"font-size": "0.5px"}), hides({"left": "-5px"})
    (True, True, False)
    """
    get = declarations.get
    away = get("position", "") in ("absolute", "fixed", "relative")
    no_room = any(_is_nil(get(name, "")) for name in ("height", "width", "max-height", "max-width"))
    return (
        get("display") == "none"
        or get("visibility") in ("hidden", "collapse")
        or get("content-visibility") == "hidden"
        or _is_nil(get("opacity", ""), least=0.05)
        or _is_nil(get("font-size", ""), least=1.0, percent=0.16)
        or (no_room and get("overflow", "") in ("hidden", "clip"))
        or (away and any(_pixels(get(side, "")) <= -_FAR for side in ("left", "top", "right", "bottom")))
        or any(_pixels(get(name, "")) <= -_FAR for name in ("text-indent", "margin-left", "margin-top"))
        or re.fullmatch(r"rect\(\s*(?:[01](?:px)?[\s,]*){4}\)", get("clip", "")) is not None
        or re.match(r"inset\(\s*(?:[5-9]\d|100)%", get("clip-path", "")) is not None
        or re.search(r"scale\(\s*+0?+\.?+0*+\s*+[,)]", get("transform", "")) is not None
        or _colour(get("color", "")) == "clear"
    )


def _declarations(style: str) -> dict[str, str]:
    declarations = {}
    for part in _CSS_COMMENT.sub("", style[:10_000]).lower().split(";"):
        name, colon, value = part.partition(":")
        if colon:
            declarations[name.strip()] = value.replace("!important", "").strip()
    return declarations


def _is_nil(value: str, least: float = 0.0, percent: float = 0.01) -> bool:
    """Whether a size or share is at most `least`; `percent` is what one per cent comes to."""
    number = _NUMBER.fullmatch(value)
    if number is None:
        return False
    return float(number[1]) * {"em": 16.0, "rem": 16.0, "%": percent}.get(number[2], 1.0) <= least


def _pixels(value: str) -> float:
    number = _NUMBER.fullmatch(value)
    if number is None:
        return 0.0
    return float(number[1]) * {"em": 16.0, "rem": 16.0, "vw": 12.0, "vh": 8.0, "%": 10.0}.get(number[2], 1.0)


def _colour(value: str) -> str:
    """A colour as #rrggbb, `clear` when it cannot be seen, empty when it is not plain."""
    value = value.strip().lower()
    if value == "transparent":
        return "clear"
    if re.fullmatch("#[0-9a-f]{3}", value):
        return "#" + "".join(2 * digit for digit in value[1:])
    if re.fullmatch("#[0-9a-f]{6}", value):
        return value
    mixed = _RGB.fullmatch(value)
    if mixed:
        if mixed[4] is not None and _is_nil(mixed[4], least=0.05):
            return "clear"
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in mixed.group(1, 2, 3))
    return _COLOURS.get(value, "")


def _ground(element: Any, declarations: dict[str, str], *, grounded: bool) -> str:
    """The colour behind an element, as far as inline styles tell; white where nothing says otherwise."""
    styles = [declarations]
    styles += [_declarations(above.get("style") or "") for above in _above(element)]
    plain = [element.get("bgcolor"), *(above.get("bgcolor") for above in _above(element))]
    for style, attribute in zip(styles, plain, strict=True):
        ground = style.get("background-color") or style.get("background") or attribute
        if ground:
            return _colour(ground)
    return "" if grounded else "#ffffff"


def _above(element: Any) -> list[Any]:
    above = []
    for parent in element.iterancestors():
        above.append(parent)
        if len(above) == 50:
            break
    return above


def _hiding_selectors(tree: Any) -> tuple[frozenset[str], bool]:
    """The classes and ids that the page's own rules hide; whether a style sheet may set a ground.

    Only rules outside of `@media` and the like, whose selector is one class or id (with or without
    an element's name before it): what hides more cleverly is not found.
    """
    css = _CSS_COMMENT.sub("", "\n".join(style.text or "" for style in tree.iter("style"))[:_MOST_CSS])
    linked = any("stylesheet" in (link.get("rel") or "").lower() for link in tree.iter("link"))
    hiding = set()
    for rule in _RULE.finditer(_outermost(css)):
        if hides(_declarations(rule[2])):
            for selector in rule[1].split(","):
                simple = _SELECTOR.fullmatch(selector.strip())
                if simple:
                    hiding.add(simple[1])
    return frozenset(hiding), linked or "background" in css


def _outermost(css: str) -> str:
    """A style sheet without the blocks of at-rules."""
    visible, depth, at_rule, start = [], 0, False, 0
    for mark in re.finditer(r"[@{}]", css):
        if mark[0] == "@" and depth == 0 and not at_rule:
            visible.append(css[start : mark.start()])
            at_rule = True
        elif mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth = max(0, depth - 1)
            if at_rule and depth == 0:
                at_rule, start = False, mark.end()
    return "".join(visible) + ("" if at_rule else css[start:])
