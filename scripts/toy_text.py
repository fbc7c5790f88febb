"""Writes a small English-German text from a tiny grammar: dates, times, numbers, gifts.

usage: python3 scripts/toy_text.py FOLDER [--pairs N] [--seed N]    makes FOLDER/toy.en, toy.de

German has the verb at the end, the time at the beginning, and "three-and-forty" for forty-three.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

ONES = {
    "one": "ein",
    "two": "zwei",
    "three": "drei",
    "four": "vier",
    "five": "fünf",
    "six": "sechs",
    "seven": "sieben",
    "eight": "acht",
    "nine": "neun",
}
TENS = {
    "twenty": "zwanzig",
    "thirty": "dreißig",
    "forty": "vierzig",
    "fifty": "fünfzig",
    "sixty": "sechzig",
    "seventy": "siebzig",
    "eighty": "achtzig",
    "ninety": "neunzig",
}
DAYS = {
    "Monday": "Montag",
    "Tuesday": "Dienstag",
    "Wednesday": "Mittwoch",
    "Thursday": "Donnerstag",
    "Friday": "Freitag",
    "Saturday": "Samstag",
    "Sunday": "Sonntag",
}
MONTHS = {
    "January": "Januar",
    "February": "Februar",
    "March": "März",
    "April": "April",
    "May": "Mai",
    "June": "Juni",
    "July": "Juli",
    "August": "August",
    "September": "September",
    "October": "Oktober",
    "November": "November",
    "December": "Dezember",
}
# who gives, and to whom
PEOPLE = [
    ("the teacher", "die Lehrerin", "der Lehrerin"),
    ("the boy", "der Junge", "dem Jungen"),
    ("the child", "das Kind", "dem Kind"),
    ("the doctor", "der Arzt", "dem Arzt"),
    ("my sister", "meine Schwester", "meiner Schwester"),
    ("our neighbour", "unser Nachbar", "unserem Nachbarn"),
    ("the queen", "die Königin", "der Königin"),
]
# the ending of the adjective and the plural come after the noun
THINGS = [
    ("book", "Buch", "es", "Bücher"),
    ("letter", "Brief", "en", "Briefe"),
    ("flower", "Blume", "e", "Blumen"),
    ("apple", "Apfel", "en", "Äpfel"),
    ("picture", "Bild", "es", "Bilder"),
    ("lamp", "Lampe", "e", "Lampen"),
    ("chair", "Stuhl", "en", "Stühle"),
    ("dog", "Hund", "en", "Hunde"),
]
ARTICLES = {"es": "ein", "en": "einen", "e": "eine"}
LOOKS = {
    "red": "rot",
    "small": "klein",
    "big": "groß",
    "new": "neu",
    "beautiful": "schön",
    "green": "grün",
}
DEEDS = {"shown": "gezeigt", "given": "gegeben", "bought": "gekauft", "sold": "verkauft"}


def sentence(rng: random.Random) -> tuple[str, str]:
    """Returns one sentence in English and in German."""
    giver, taker = rng.sample(PEOPLE, 2)
    thing, ding, ending, dinge = rng.choice(THINGS)
    one, ten, look, deed, day, month = (
        rng.choice(list(words)) for words in (ONES, TENS, LOOKS, DEEDS, DAYS, MONTHS)
    )
    if rng.random() < 0.5:
        what, was = f"{ten}-{one} {thing}s", f"{ONES[one]}und{TENS[ten]} {dinge}"
    else:
        what, was = f"a {look} {thing}", f"{ARTICLES[ending]} {LOOKS[look]}{ending} {ding}"
    if rng.random() < 0.5:
        date, year = rng.randint(1, 28), rng.randint(1950, 2029)
        when, wann = f"on {month} {date}, {year}", f"Am {date}. {MONTHS[month]} {year}"
    else:
        hour = rng.randint(1, 11)
        when, wann = f"at {hour} pm on {day}", f"Am {DAYS[day]} um {hour + 12} Uhr"
    english = f"{giver[0]} has {deed} {taker[0]} {what} {when}."
    german = f"{wann} hat {giver[1]} {taker[2]} {was} {DEEDS[deed]}."
    return english[0].upper() + english[1:], german


def toy_pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Returns different pairs of sentences; the same seed gives the same pairs."""
    rng = random.Random(seed)
    pairs: dict[tuple[str, str], None] = {}  # a set that keeps the order
    while len(pairs) < count:
        pairs[sentence(rng)] = None
    return list(pairs)


def main() -> None:
    """Writes the two files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    pairs = toy_pairs(args.pairs, args.seed)
    for side, code in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (args.folder / f"toy.{code}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
