"""Files that hide text from a reader, and files that look suspicious but hide nothing, for `test_visibility.py`.

Each trick is a small file with SEEN words and words that no reader would see. It is found when the words are not in what is
read and the document says how much was removed. A look is a file whose words are all seen, and must all be read.
"""

# ruff: noqa: E501
from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

UNSEEN = "Xylophones bake quietly"
SEEN = "The ferry first crossed the strait in the year 1887, and it has crossed it on every day since then."
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
# Tricks that are known not to be found, each with the reason; docs/decisions/016 has the same list.
LIMITS = {
    "html: details that are closed": "anyone can open them, so their text is read",
    "html: a style sheet of another file": "no other file is fetched",
    "html: a script that hides": "no script is run",
    "html: cut by the box after some lines": "the size that text takes is not known without layout",
    "html: a font whose letters look like others": "glyphs are not looked at",
    "html: black through a blend mode": "blending is not computed",
    "pdf: letters that stand for others": "glyphs are not looked at",
    "pdf: under a picture": "it is what OCR makes of a scan, and the picture shows it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file to be read; `hides` says whether its UNSEEN words are to be left out."""

    name: str
    suffix: str
    data: bytes
    hides: bool


# --- HTML ---------------------------------------------------------------------------------------------
def _page(body: str, css: str = "", head: str = "") -> bytes:
    style = f"<style>{css}</style>" if css else ""
    return f'<!doctype html><meta charset="utf-8"><title>T</title>{head}{style}<p>{SEEN}</p>{body}<p>{SEEN}</p>'.encode()


_P = f"<p>{UNSEEN}</p>"
_X = f'<p class="x">{UNSEEN}</p>'
_HTML = {
    "an attribute": _page(f"<p hidden>{UNSEEN}</p>"),
    "a comment": _page(f"<!-- {UNSEEN} -->"),
    "display in a compound selector": _page(f'<div class="a b">{_P}</div>', "div.a.b > p {display: none}"),
    "display by an attribute": _page(f'<p data-n="12x">{UNSEEN}</p>', '[data-n^="12"] {display: none}'),
    "display by a place": _page(f"<div><i></i>{_P}</div>", "div > :nth-child(2) {display:none}"),
    "display through not and is": _page(_X, "p:not(.a):is(.x, .y) {display:none}"),
    "display through has": _page(f'<div><b class="k"></b>{_P}</div>', "div:has(> .k) p {display:none}"),
    "display by a rule in a rule": _page(f'<div class="a">{_P}</div>', ".a { color: red; & p {display:none} }"),
    "display for screens": _page(_X, "@media screen and (min-width: 300px) { .x {display:none} }"),
    "display in a layer that is supported": _page(_X, "@supports (display: grid) { @layer a { .x {display:none} } }"),
    "display through a variable": _page(_X, ":root {--a: var(--b, none)} .x {display: var(--a)}"),
    "display in a sheet in a data address": _page(
        _X, head='<link rel="stylesheet" href="data:text/css,.x%7Bdisplay%3Anone%7D">'
    ),
    "visibility, with a visible word inside": _page(
        f'<p style="visibility:hidden">{UNSEEN} <b style="visibility:visible">shown</b></p>'
    ),
    "opacity of what holds it": _page(f'<div class="x">{_P}</div>', ".x {opacity: 1%}"),
    "opacity that adds up": _page('<div style="opacity:.2">' * 3 + _P + "</div>" * 3),
    "a filter": _page(_X, ".x {filter: opacity(0)}"),
    "a blur": _page(_X, ".x {filter: blur(30px)}"),
    "a mask": _page(_X, ".x {mask-image: linear-gradient(transparent, transparent)}"),
    "a clip path with no area": _page(_X, ".x {clip-path: polygon(0 0, 0 0, 0 0)}"),
    "moved by a translation": _page(_X, ".x {transform: translateX(-9999px)}"),
    "moved by the property translate": _page(_X, ".x {translate: -200vw 0}"),
    "moved by a sum": _page(_X, ".x {position: absolute; left: calc(-100vw - 4 * 300px)}"),
    "moved by a margin": _page(_X, ".x {margin: 0 0 0 -3000px}"),
    "shrunk": _page(_X, ".x {transform: scale(0.01)}"),
    "turned edge-on": _page(_X, ".x {transform: rotateY(90deg)}"),
    "a box of one pixel": _page(_X, ".x {position: absolute; width: 1px; height: 1px; overflow: hidden}"),
    "font-size inherited": _page(f'<div style="font-size: 1px">{_P}</div>'),
    "near-white on white": _page(_X, ".x {color: #fbfbfb}"),
    "the ground of what holds it": _page(f'<div style="background: #202020">{_X}</div>', ".x {color: hsl(0 0% 13%)}"),
    "a fill that is clear": _page(_X, ".x {-webkit-text-fill-color: transparent}"),
    "below an opaque ground": _page(
        f'<div style="background: #fff">{_X}</div>', ".x {position: relative; z-index: -1}"
    ),
    "under a cover": _page(
        f'<div style="position: relative">{_P}<b style="position:absolute;inset:0;background:#fff"></b></div>'
    ),
    "details whose summary is hidden": _page(
        f'<details><summary style="display:none">More</summary>{_P}</details>'
    ),
    "details that are closed": _page(f"<details><summary>More</summary>{_P}</details>"),
    "a style sheet of another file": _page(_X, head='<link rel="stylesheet" href="hide.css">'),
    "a script that hides": _page(_X + "<script>document.querySelector('.x').remove()</script>"),
    "cut by the box after some lines": _page(
        f'<div style="height: 1.2em; overflow: hidden">{SEEN}<br>{SEEN}<br>{UNSEEN}</div>'
    ),
    "a font whose letters look like others": _page(
        _X, "@font-face {font-family: f; src: url(f.woff)} .x {font-family: f}"
    ),
    "black through a blend mode": _page(_X, ".x {mix-blend-mode: screen}"),
}  # fmt: skip
_HTML_LOOKS = {
    "white on a dark ground": _page(f'<div style="background:#024">{_X}</div>', ".x {color: white}"),
    "white on a picture": _page(f'<div style="background: url(a.png)">{_X}</div>', ".x {color: white}"),
    "white over a picture": _page(
        f'<div style="position:relative"><img src="a.png">{_X}</div>',
        ".x {position:absolute; color:#fff}",
    ),
    "grey": _page(_X, ".x {color: #999}"),
    "hidden on paper": _page(_X, "@media print { .x {display:none} }"),
    "hidden on a phone": _page(_X, "@media (max-width: 600px) { .x {display:none} }"),
    "hidden while it is pointed at": _page(_X, ".x:hover {display:none}"),
    "a rule that a later one undoes": _page(_X, "p.x {display:none} .a p.x, p.x {display:block}"),
    "faded in": _page(
        _X, "@keyframes in { to {opacity: 1} } .x {opacity: 0; animation: in 1s forwards}"
    ),
    "the letters of a gradient": _page(
        _X, ".x {color: transparent; background: linear-gradient(red, blue); background-clip: text}"
    ),
    "scrolled": _page(_X, ".x {height: 100px; overflow: auto}"),
    "a small heading": _page(_X, ".x {font-size: 9px; letter-spacing: -0.5px}"),
}  # fmt: skip


# --- PDF ----------------------------------------------------------------------------------------------
def pdf(
    stream: bytes, *, fonts: str = "", more: str = "", catalogue: str = "", objects: tuple[bytes, ...] = ()
) -> bytes:
    """Return a PDF of one page; `more` goes into its resources, `objects` get the numbers from 6 on."""
    about = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 5 0 R/Resources<</Font<</F1 3 0 R{fonts}>>{more}>>>>"
    parts = [
        f"<</Type/Catalog/Pages 2 0 R{catalogue}>>".encode(),
        b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        about.encode(),
        _stream(stream),
        *objects,
    ]
    out, places = b"%PDF-1.6\n", []
    for number, part in enumerate(parts, start=1):
        places.append(len(out))
        out += b"%d 0 obj" % number + part + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(parts) + 1
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def _stream(data: bytes, about: str = "") -> bytes:
    packed = zlib.compress(data)
    return f"<</Length {len(packed)}/Filter/FlateDecode{about}>>stream\n".encode() + packed + b"\nendstream"


def _drawn(before: str = "", place: str = "20 100", after: str = "", *, font: str = "/F1 12 Tf") -> bytes:
    """Return a page with the SEEN words, and below them the others, drawn after `before`."""
    words = " ".join(SEEN.split()[:6])
    return (
        f"BT /F1 12 Tf 20 200 Td ({words}) Tj ET q {before} BT {font} {place} Td ({UNSEEN}) Tj ET {after} Q"
    ).encode()


_FORM = "/Type/XObject/Subtype/Form/BBox[0 0 300 300]/Resources<</Font<</F1 3 0 R>>>>"
_PICTURE = _stream(
    b"\x80\x80\x80", "/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceRGB"
)
_LAYERS = "/OCProperties<</OCGs[6 0 R]/D<</OFF[6 0 R]>>>>"
_LETTERS = (
    b"/CIDInit/ProcSet findresource begin begincmap\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n26 beginbfchar\n"
    + b"".join(b"<%02X> <%04X>\n" % (ord("a") + at, ord("a") + (at + 13) % 26) for at in range(26))
    + b"endbfchar\nendcmap end"
)
_PDF = {
    "without ink": pdf(_drawn("3 Tr")),
    "as a clip only": pdf(_drawn("7 Tr")),
    "white": pdf(_drawn("1 1 1 rg")),
    "near-white in other inks": pdf(_drawn("0.02 0 0.01 0.01 k")),
    "black on black": pdf(_drawn("0 g 10 90 280 40 re f")),
    "half a point": pdf(_drawn(font="/F1 0.5 Tf")),
    "shrunk by the matrix": pdf(_drawn("0.01 0 0 0.01 20 100 cm", "0 0")),
    "without width": pdf(_drawn("0 Tz")),
    "off the page": pdf(_drawn(place="20 900")),
    "left of the page": pdf(_drawn(place="-900 100")),
    "clipped away": pdf(_drawn("0 0 5 5 re W n")),
    "painted over": pdf(_drawn(after="1 1 1 rg 0 80 300 60 re f")),
    "clear": pdf(_drawn("/G gs"), more="/ExtGState<</G<</ca 0.01>>>>"),
    "in white within a form": pdf(
        _drawn(after="/W Do").replace(UNSEEN.encode(), b""),
        more="/XObject<</W 6 0 R>>",
        objects=(_stream(f"BT 1 g /F1 12 Tf 20 100 Td ({UNSEEN}) Tj ET".encode(), _FORM),),
    ),
    "on a layer that is off": pdf(
        _drawn("/OC /L BDC", after="EMC"),
        more="/Properties<</L 6 0 R>>",
        catalogue=_LAYERS,
        objects=(b"<</Type/OCG/Name(L)>>",),
    ),
    "without ink beside a picture": pdf(
        _drawn("q 5 0 0 5 0 0 cm /I Do Q 3 Tr"), more="/XObject<</I 6 0 R>>", objects=(_PICTURE,)
    ),
    "letters that stand for others": pdf(
        _drawn(font="/F2 12 Tf").replace(UNSEEN.encode(), codecs.encode(UNSEEN, "rot13").replace("K", "X").encode()),
        fonts="/F2 6 0 R",
        objects=(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 7 0 R>>", _stream(_LETTERS)),
    ),
    "under a picture": pdf(
        _drawn("3 Tr", after="q 300 0 0 300 0 0 cm /I Do Q"), more="/XObject<</I 6 0 R>>", objects=(_PICTURE,)
    ),
}  # fmt: skip
_PDF_LOOKS = {
    "white on a dark box": pdf(_drawn("0 0 0.4 rg 10 90 280 40 re f 1 g")),
    "white on a rounded box": pdf(_drawn("0 0 0.4 rg 10 90 m 290 90 l 300 130 10 130 10 90 c f 1 g")),
    "white on a picture": pdf(
        _drawn("q 300 0 0 100 0 60 cm /I Do Q 1 g"), more="/XObject<</I 6 0 R>>", objects=(_PICTURE,)
    ),
    "grey": pdf(_drawn("0.6 g")),
    "small through two scales": pdf(_drawn("0.01 0 0 0.01 20 100 cm", "0 0", font="/F1 1000 Tf")),
    "in a colour that is an ink": pdf(_drawn("/Spot cs 0 scn")),
    "a box painted before": pdf(_drawn("1 1 1 rg 0 80 300 60 re f 0 g")),
    "outlined": pdf(_drawn("1 g 0 G 2 Tr")),
}  # fmt: skip


# --- the rest -----------------------------------------------------------------------------------------
def _docx(marks: str) -> bytes:
    run = f"<w:p><w:r><w:t>{SEEN}</w:t></w:r></w:p><w:p><w:r><w:rPr>{marks}</w:rPr><w:t>{UNSEEN}</w:t></w:r></w:p>"
    import docx

    plain = io.BytesIO()
    docx.Document().save(plain)
    out = io.BytesIO()
    body = f'<w:document xmlns:w="{_WORD}"><w:body>{run}</w:body></w:document>'
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, body if member == "word/document.xml" else old.read(member))
    return out.getvalue()


def _tagged(words: str) -> str:
    """Words in the characters of tags, which no font draws."""
    return "".join(chr(0xE0000 + ord(letter)) for letter in words)


def cases() -> Iterator[Case]:
    """Yield every trick, and every look that hides nothing."""
    for kind, files, hides in (
        ("html", _HTML, True), ("html", _HTML_LOOKS, False), ("pdf", _PDF, True), ("pdf", _PDF_LOOKS, False),
    ):  # fmt: skip
        for name, data in files.items():
            yield Case(name=f"{kind}: {name}", suffix=kind, data=data, hides=hides)
    for name, marks in (
        ("marked hidden", "<w:vanish/>"),
        ("one point", '<w:sz w:val="2"/>'),
        ("near-white", '<w:color w:val="FDFDFD"/>'),
    ):
        yield Case(name=f"docx: {name}", suffix="docx", data=_docx(marks), hides=True)
    yield Case(name="docx: grey", suffix="docx", data=_docx('<w:color w:val="999999"/>'), hides=False)
    yield Case(
        name="text: in the characters of tags",
        suffix="txt",
        data=f"{SEEN}{_tagged(UNSEEN)}".encode(),
        hides=True,
    )
    markdown = f'# T\n\n{SEEN}\n\n<span style="opacity:0">{UNSEEN}</span>\n'.encode()
    yield Case(name="markdown: HTML in it", suffix="md", data=markdown, hides=True)
    head = b"From: a@b.example\nSubject: s\nContent-Type: text/html; charset=utf-8\n\n"
    mail = head + _page(_X, "p[class] {font: 0/0 a}")
    yield Case(name="mail: a page with a font of no size", suffix="eml", data=mail, hides=True)
