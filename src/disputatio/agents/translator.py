"""The translator: an agent that puts a question into another language, so that papers in it are found.

An embedder of many languages still takes passages in the language of the question for nearer than those that answer it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from disputatio.kit import Kit, chat
from disputatio.text import is_unknown, one_line
from disputatio.types import Sampling

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGES: Mapping[str, str] = MappingProxyType({
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "en": "English", "es": "Spanish", "fi": "Finnish",
    "fr": "French", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
})  # fmt: skip
SHORTEST, LONGEST = 100, 1_000  # characters of a text by which its language is told
FEWEST = 3  # texts of a language that make it one of those of the index
MAX_TOKENS = 120

SYSTEM = """\
Translate the question into {language}. Keep names, numbers and units as they are. Write the translation alone."""


def other_languages(question: str, texts: Sequence[str]) -> list[str]:
    """Return the languages of texts that are not the question's, the commonest first, by ISO 639 codes.

    Of texts too short to tell, and of languages that hardly any text is in, nothing is said; nor without the
    package that tells languages, which comes with `disputatio[store]`.

    >>> german = ["Die Miete wird am dritten Werktag des Monats gezahlt, und zwar im Voraus. " * 2] * 3
    >>> other_languages("When is the rent paid?", german), other_languages("Wann zahlt man die Miete?", german)
    (['de'], [])
    """
    long_ones = [text[:LONGEST] for text in texts if len(text) >= SHORTEST]
    told = Counter(language for text in long_ones for language in _rank_languages(text)[:1])
    own = _rank_languages(question)[:1]
    return [each for each, count in told.most_common() if count >= FEWEST and each not in own]


def translate(question: str, language: str, kit: Kit, role: str) -> str:
    """Return a question in the language of a code, by the model; the question itself where it gives none."""
    prompt = chat(SYSTEM.format(language=LANGUAGES[language]), one_line(question))
    (completion,) = kit.complete(role, [prompt], Sampling(max_tokens=MAX_TOKENS))
    translation = one_line(completion.text)
    return question if is_unknown(translation) else translation


def _rank_languages(text: str) -> list[str]:
    """Return the languages that a text may be in, the likeliest first."""
    identifier = _identifier()
    return [code for code, _ in identifier.rank(text) if code in LANGUAGES] if identifier else []


@cache
def _identifier() -> LanguageIdentifier | None:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE)
