"""Generates equivalent phrases in two languages, from CLDR data and numbers in words.

A phrase family draws a meaning (a date, a price, a list of countries). It returns a function that
writes the meaning in a given language with Babel and num2words.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Literal

from babel import Locale
from babel.dates import (
    TIMEDELTA_UNITS,
    format_date,
    format_interval,
    format_skeleton,
    format_time,
    format_timedelta,
    get_datetime_format,
)
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal, format_percent, get_currency_name
from babel.units import format_unit
from num2words import num2words

from .chinese_numbers import chinese_number
from .codes import CURRENCIES, DURATIONS, NOT_NAMES, UNITS

SEMICOLON = {"fr": " ; ", "zh": "；"}  # French puts a space before it, Chinese uses a wide one

Phrase = Callable[[str], str]  # language code -> words
Style = Literal["standard", "or", ";"]
AND_OR: tuple[Literal["standard"], Literal["or"]] = ("standard", "or")


@dataclass(frozen=True)
class Names:
    """Holds the codes that both languages have a name for."""

    territories: Sequence[str]
    languages: Sequence[str]
    scripts: Sequence[str]
    currencies: Sequence[str]
    units: Sequence[str]
    durations: Sequence[str]

    @classmethod
    def shared_by(cls, first: str, second: str) -> Names:
        pair = (_locale(first), _locale(second))
        units = {code: all(_unit_length(code, x.language) for x in pair) for code in UNITS}
        spans = [f"duration-{unit}" for unit in DURATIONS]
        return cls(
            territories=_named("territories", pair, r"[A-Z]{2}"),
            languages=_named("languages", pair, r"[a-z]{2}"),
            scripts=_named("scripts", pair, r"[A-Z][a-z]{3}"),
            currencies=[c for c in CURRENCIES if all(c in x.currencies for x in pair)],
            units=[code for code in UNITS if units[code]],
            durations=[u for u in spans if all(_unit_length(u, x.language) for x in pair)],
        )


def tidy(text: str) -> str:
    """Normalises to NFC, and turns CLDR's no-break, narrow and thin spaces into single spaces."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


def join(phrases: Sequence[Phrase], style: Style) -> Phrase:
    """Joins several phrases: an "and" list, an "or" list, or separated by semicolons."""
    if style == ";":
        return lambda lang: SEMICOLON.get(lang, "; ").join(phrase(lang) for phrase in phrases)
    return lambda lang: str(format_list([p(lang) for p in phrases], style, locale=lang))


# -- phrase families ---------------------------------------------------------------------------


def written_date(rng: Random, names: Names) -> Phrase:
    day, style = _day(rng), rng.choice(("full", "long", "long", "short"))
    return lambda lang: format_date(day, style, locale=lang)


def partial_date(rng: Random, names: Names) -> Phrase:
    day, skeleton = _day(rng), rng.choice(("yMMMM", "MMMMd", "yQQQQ", "yw", "MMMMW", "Gy"))
    return lambda lang: format_skeleton(skeleton, day, fuzzy=False, locale=lang)


def date_range(rng: Random, names: Names) -> Phrase:
    start, skeleton = _day(rng), rng.choice(("yMMMM", "yMMMd", "MMMd"))
    end = start + dt.timedelta(days=rng.randrange(31, 150))
    return lambda lang: format_interval(start, end, skeleton, fuzzy=False, locale=lang)


def clock_time(rng: Random, names: Names) -> Phrase:
    moment, with_date = _day(rng), rng.random() < 0.6

    def say(lang: str) -> str:
        time = format_time(moment, "short", locale=lang)
        if not with_date:
            return str(time)
        pattern = str(get_datetime_format("long", locale=lang)).replace("'", "")
        return pattern.format(time, format_date(moment, "long", locale=lang))

    return say


def duration(rng: Random, names: Names) -> Phrase:
    first, count = rng.choice(names.durations), _count(rng)
    return lambda lang: _unit(count, first, lang)


def relative_time(rng: Random, names: Names) -> Phrase:
    unit: Any
    unit, seconds = rng.choice(TIMEDELTA_UNITS)
    delta = dt.timedelta(seconds=seconds * rng.randrange(1, 60) * rng.choice((-1, 1)))
    return lambda lang: format_timedelta(
        delta, granularity=unit, threshold=10**6, add_direction=True, locale=lang
    )


def price(rng: Random, names: Names) -> Phrase:
    code, amount = rng.choice(names.currencies), _count(rng)
    return lambda lang: format_currency(
        amount, code, "#,##0.##", lang, currency_digits=False, format_type="name"
    )


def measure(rng: Random, names: Names) -> Phrase:
    unit, count = rng.choice(names.units), _count(rng)
    return lambda lang: _unit(count, unit, lang)


def number_in_words(rng: Random, names: Names) -> Phrase:
    number = rng.randrange(10 ** rng.choice((2, 3, 3, 4, 4, 6)))
    return lambda lang: chinese_number(number) if lang == "zh" else num2words(number, lang=lang)


def figure(rng: Random, names: Names) -> Phrase:
    if rng.random() < 0.5:
        share = rng.randrange(1, 1000) / 1000
        return lambda lang: format_percent(share, _percent_pattern(lang), locale=lang)
    number = rng.randrange(1, 10**7) / rng.choice((1, 10, 100))
    return lambda lang: format_decimal(number, locale=lang)


def territory(rng: Random, names: Names) -> Phrase:
    return _name("territories", rng.choice(names.territories))


def language(rng: Random, names: Names) -> Phrase:
    return _name("languages", rng.choice(names.languages))


def other_name(rng: Random, names: Names) -> Phrase:
    if rng.random() < 0.5:
        return _name("scripts", rng.choice(names.scripts))
    code = rng.choice(names.currencies)
    return lambda lang: get_currency_name(code, locale=lang)


def name_list(rng: Random, names: Names) -> Phrase:
    table, codes = rng.choice((("territories", names.territories), ("languages", names.languages)))
    chosen = rng.sample(codes, rng.choice((2, 3)))
    return join([_name(table, code) for code in chosen], rng.choice(AND_OR))


Family = Callable[[Random, Names], Phrase]
FAMILIES: tuple[tuple[int, Family], ...] = (
    (14, written_date),
    (6, partial_date),
    (5, date_range),
    (5, clock_time),
    (8, duration),
    (8, relative_time),
    (8, price),
    (12, measure),
    (14, number_in_words),
    (2, figure),
    (6, territory),
    (4, language),
    (2, other_name),
    (8, name_list),
)


# -- what the families share -------------------------------------------------------------------


@cache
def _locale(lang: str) -> Locale:
    return Locale.parse(lang)


def _name(table: str, code: str) -> Phrase:
    return lambda lang: str(getattr(_locale(lang), table)[code])


def _named(table: str, pair: Sequence[Locale], code_pattern: str) -> list[str]:
    """Returns the codes whose names are plain words in both languages, without brackets."""

    def plain(code: str) -> bool:
        texts = [getattr(locale, table).get(code, code) for locale in pair]
        return all(text != code and not re.search(r"[()（）\[\]0-9]", text) for text in texts)

    codes = sorted(set(getattr(pair[0], table)) - NOT_NAMES)
    return [code for code in codes if re.fullmatch(code_pattern, code) and plain(code)]


@cache
def _unit_length(unit: str, lang: str) -> str | None:
    """Returns CLDR's longest form; Chinese and Vietnamese often have only the short form."""
    patterns = _locale(lang)._data["unit_patterns"].get(unit, {})
    for length in ("long", "short"):
        if "other" in patterns.get(length, {}):
            return length
    return None


def _unit(count: float, unit: str, lang: str) -> str:
    length: Any = _unit_length(unit, lang)
    return str(format_unit(count, unit, length, locale=lang))


@cache
def _percent_pattern(lang: str) -> str:
    return str(_locale(lang).percent_formats[None].pattern).replace("0", "0.0", 1)


def _day(rng: Random) -> dt.datetime:
    # One hundred years, so that a year of two digits names one year only.
    midnight = dt.datetime(1950, 1, 1) + dt.timedelta(days=rng.randrange(36_524))
    return midnight + dt.timedelta(minutes=rng.randrange(1440))


def _count(rng: Random) -> float:
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randrange(1, 400) / 10
    return rng.randrange(1, (0, 13, 100, 100, 1000, 20_000)[kind])
