"""The questions about the folder: what is accepted, what is wrong, why; written before any of them was asked.

A third of each kind, drawn once by a seed, is set aside and asked last. The part `aside2` is of other organisations in a
folder of its own, written after the answers were improved on the first, and asked once, as are `aside3` to `aside13`.
`public` and `public2` to `public6` are of documents that people wrote, which are fetched (`bench.documents.public`).
`yesno` and `yesno2` ask for yes or no about the first three of these, one half of 80 questions to develop with and one
set aside.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
Part = Literal[
    "development",
    "aside",
    "aside2",
    "aside3",
    "aside4",
    "aside5",
    "aside6",
    "aside7",
    "aside8",
    "aside9",
    "aside10",
    "aside11",
    "aside12",
    "aside13",
    "public",
    "public2",
    "public3",
    "public4",
    "public5",
    "public6",
    "yesno",
    "yesno2",
]
SHA256 = {
    "development": "b904458717c9bca3084dda6f562c2227d1514d2f524095c8c6a8fcc8e4c99fb8",
    "aside": "d20d87e8cfb586ca58634ab3149381686400b21d1519c85805fc445a42964745",
    "aside2": "886afbcc79c8a3c206bee76e6fe3f443436275b61e959a407f2b22bc98d8a3cf",
    "aside3": "2d145191cb97e0c3cdf88f2860c00bfab3bbe29e8f2fdd0b1271e0ce3f91e649",
    "aside4": "dcf2dbb84a4072ecc81b3c6deb5f743c9511aa5b77ffe741d551b1505d067353",
    "aside5": "70ed33f381dc1a892b9866a496537811560c7cf7fa0335ff719a9bedec7a01c3",
    "aside6": "e54691d46fb677f2a913b1c447f8b45b2df066c1354c5533b169129492835faf",
    "aside7": "3e3f2ef27f3f50aef051b8c4b4e7f825489392521785add134ca2046d52efab5",
    "aside8": "c25d1d197c7aaaf985897eeb28eb9b3b6980f92bf2169e62e8258f363120d4d7",
    "aside9": "0f1fa2de06c1e0cd274fa9cbbc1e0fe74b9c3053c512a2696a85a10fbcf75a4f",
    "aside10": "40ead6f3f47b9477daee4e60c95a75d6e078b6e985e79e1eef1f6489d7d5a0fb",
    "aside11": "8911e8f06a31443a30c644abeb86686202e5e227694e5b3e11a69142729ab015",
    "aside12": "35b8fd7cded12e0318e473d7bf3d19d541563daaefdcfd796248fedbce01af12",
    "aside13": "e444475028595253022a4613954a6f27b260dc7fe9939af1f769b053c733c93c",
    "public2": "8c227959f49462a9eb73e89e46482c3dc069163665ef8f61f988c7729b8d335d",
    "public3": "7156edd7d3b8473cb8d038f6ba493c15e067a021dacc8c1f2e7c4fc96208948b",
    "public4": "c6507967df31b4cc241f4cc73fabebfe3eda179c762ff0f4deadbd820ca95019",
    "public5": "cea8744f2ba9ee11bdbb60f9733def2d0e863a958c9232938a29154305cba706",
    "public6": "e21b6a60278be981a3e5ea89c5d735a46788527163d17881d53bc588a683a3b0",
    "yesno": "50b358cc8d1553dd293845d31fa8770abd7741d7deeaa8750329de7704d966c0",
    "yesno2": "ded0ce5cd36fbd14d8f391b2da0b3fcfb4f706b91eb6df98e824728ebf661155",
    "public": "0edf48a1bf376df9f1f8dc6c578a063d448f7b9500647f46501a076f9b089f81",
}
"""The digests of the parts as they were before the first run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with what a person would answer.

    `accept` has a list of names for each value that the answer must give; it is empty where the documents give none.
    `wrong` are values that a person would take for an error (of an old version, of a namesake, planted), `reason` says
    why. With `yes_no` a value that is accepted decides, whatever else the sentence says.
    """

    id: str
    kind: str
    question: str
    accept: Sequence[Sequence[str]]
    wrong: Sequence[str]
    reason: str
    yes_no: bool = False


def path_of(part: Part) -> Path:
    """Return the file of a part."""
    return HERE / f"{part}.jsonl"


def read_questions(part: Part) -> list[Question]:
    """Return the questions of a part; raises `ValueError` where they are not those that were written."""
    data = path_of(part).read_bytes()
    if (digest := hashlib.sha256(data).hexdigest()) != SHA256[part]:
        raise ValueError(
            f"{part}.jsonl has the digest {digest}, not {SHA256[part]}: the questions were changed"
        )
    return [Question(**json.loads(line)) for line in data.decode().splitlines()]
