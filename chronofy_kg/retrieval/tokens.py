"""Text to terms: names are kept whole and also in parts, so that both ways to write them are found.

`CVE-2024-1234`, `drug:metformin`, `unemployment_rate` and `FortiNAC` are terms as a whole, and their parts
are terms too. Everything is NFC and case-folded; English endings are cut lightly; a run of Chinese, Japanese
or Korean signs gives its pairs. A question is read by the same rules and is never a pattern: signs only
separate. What the terms weigh is in `chronofy_kg.retrieval.lexical`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from chronofy_kg.facts.model import nfc

__all__ = ["Unit", "document_terms", "name_terms", "query_units"]

_POSSESSIVE = re.compile(r"['’][sS]\b")
_PREFIX = re.compile(r"[A-Za-z][\w.-]*:(?=\S)")
_CHUNK = re.compile(r"[^\W_]+(?:[-_.:/@+#]+[^\W_]+)*")
_WORD = re.compile(r"[^\W_]+")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_IDEOGRAPHS = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]+")
_NUMBER = re.compile(r"[\d.:/+-]+")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ed", "es", "s", "e")

# What a question says without naming anything. Words in capitals (US, IT, WHO) are names and stay.
_FILLERS = frozenset(
    (  # noqa: SIM905 - a list of words reads better as words
        "a an the and or of in on at by for from to with about as into over under than that this these those "
        "there is are was were be been being am do does did has have had having can could will would shall "
        "should may might must i me my we our you your he him his she her it its they them their who whom "
        "whose what which when where why how if then so not no any some all each every many much more most "
        "show list tell give find get please currently current now today yet still ever already latest "
        "newest recent recently last lately"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a question asks for.

    Attributes:
        whole: the term as a whole.
        parts: the terms that it consists of; empty for a simple word.
        strict: an identifier such as CVE-2024-1234: only the whole counts.
        name: written with a capital or as an identifier: it names something.
        number: digits only; a time or an amount more often than a word of a fact.
    """

    whole: str
    parts: tuple[str, ...]
    strict: bool
    name: bool
    number: bool


def document_terms(text: str) -> list[str]:
    """Return the terms of a text of a fact, with repeats.

    >>> document_terms("CVE-2024-1 affects FortiNAC")
    ['cve-2024-1', 'cve', '2024', '1', 'affect', 'fortinac', 'forti', 'nac']
    """
    terms: list[str] = []
    for chunk in _chunks(text):
        terms.append(_fold(chunk))
        terms.extend(_parts(chunk))
    return terms


def query_units(question: str) -> list[Unit]:
    """Return what a question asks for, each once; fillers are left out.

    >>> [unit.whole for unit in query_units("Is CVE-2024-1 exploited?")]
    ['cve-2024-1', 'exploit']
    """
    units: dict[str, Unit] = {}
    shouting = not any(character.islower() for character in question)
    for position, chunk in enumerate(_chunks(question)):
        capitals = len(chunk) > 1 and chunk.isupper() and not shouting
        if (chunk.casefold() in _FILLERS and not capitals) or (len(chunk) == 1 and chunk.islower()):
            continue
        whole, parts = _fold(chunk), tuple(_parts(chunk))
        number = _NUMBER.fullmatch(chunk) is not None
        joined = _WORD.fullmatch(chunk) is None
        strict = joined and not number and any(c.isdigit() for c in chunk)
        name = strict or capitals or (position > 0 and chunk[0].isupper() and not shouting) or ":" in chunk
        units.setdefault(whole, Unit(whole, parts, strict, name, number))
    return list(units.values())


def name_terms(name: str) -> list[str]:
    """Return the terms that a question must all say to mention a name, each once.

    >>> name_terms("drug:metformin"), name_terms("patient:17"), name_terms("general_hospital Nord")
    (['metformin'], ['patient:17'], ['general', 'hospital', 'nord'])
    """
    prefix = _PREFIX.match(name)
    local = name[prefix.end() :] if prefix else name
    terms: dict[str, None] = {}
    for chunk in _chunks(local if any(c.isalpha() for c in local) else name):
        parts = _parts(chunk)
        split = parts and _WORD.fullmatch(chunk) is None and not any(c.isdigit() for c in chunk)
        terms.update(dict.fromkeys(parts if split else [_fold(chunk)]))
    return list(terms)


def _chunks(text: str) -> list[str]:
    """Return the words and joined names of a text; runs of ideographs as pairs of signs."""
    chunks: list[str] = []
    for chunk in _CHUNK.findall(_POSSESSIVE.sub("", nfc(text))):
        if _IDEOGRAPHS.search(chunk):
            chunks.extend(_pairs(chunk))
        else:
            chunks.append(chunk)
    return chunks


def _pairs(chunk: str) -> list[str]:
    pairs: list[str] = []
    position = 0
    for run in _IDEOGRAPHS.finditer(chunk):
        pairs.extend(_WORD.findall(chunk[position : run.start()]))
        signs = run.group()
        pairs.extend([signs[i : i + 2] for i in range(len(signs) - 1)] or [signs])
        position = run.end()
    pairs.extend(_WORD.findall(chunk[position:]))
    return pairs


def _parts(chunk: str) -> list[str]:
    """Return the terms that a joined or camelCase chunk consists of, none for a simple word or a number."""
    if _NUMBER.fullmatch(chunk):
        return []
    words = _WORD.findall(chunk)
    pieces: list[str] = []
    for word in words:
        camel = _camel(word)
        pieces.extend([word] if len(camel) < 2 else camel if len(words) == 1 else [word, *camel])
    return [_fold(piece) for piece in pieces] if len(pieces) > 1 else []


def _camel(word: str) -> list[str]:
    """Return the humps of a camelCase word; CVEs and CVE-like capitals have none."""
    mixed = word.isascii() and not word.islower() and not word.isupper()
    return _CAMEL.findall(word) if mixed and not _PLURAL_ACRONYM.fullmatch(word) else [word]


@lru_cache(maxsize=262_144)
def _fold(word: str) -> str:
    folded = word.casefold()
    if folded.isascii():
        return _stem(folded) if folded.isalpha() else folded
    return unicodedata.normalize("NFC", folded)


def _stem(word: str) -> str:
    """Cut an English ending: exploits, exploited, exploitation and exploit are one term."""
    if len(word) <= 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ss", "us", "is")):
        return word
    for suffix in _SUFFIXES:
        least = 5 if suffix in ("ation", "ations") else 3
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            stem = word[: -len(suffix)]
            doubled = suffix in ("ed", "ing", "ings") and stem[-1] == stem[-2] and stem[-1] not in "lsz"
            return stem[:-1] if doubled else stem
    return word
