"""Writes Chinese numerals in words, for which num2words has no converter."""

from __future__ import annotations

DIGITS = "零一二三四五六七八九"
PLACES = ("", "十", "百", "千")


def chinese_number(number: int) -> str:
    """Returns ``number`` (0 to 99,999,999) in simplified Chinese words.

    >>> chinese_number(10), chinese_number(305), chinese_number(20_010)
    ('十', '三百零五', '二万零一十')
    """
    if not 0 <= number < 10**8:
        raise ValueError(f"number must be between 0 and 99,999,999, got {number}")
    if number == 0:
        return DIGITS[0]
    high, low = divmod(number, 10_000)
    words = ""
    if high:
        words = _below_ten_thousand(high) + "万"
        if 0 < low < 1_000:  # a skipped thousands place is read as one zero
            words += DIGITS[0]
    words += _below_ten_thousand(low)
    # Only at the very start is "one ten" shortened: 12 is 十二 but 112 is 一百一十二.
    return words[1:] if words.startswith("一十") else words


def _below_ten_thousand(number: int) -> str:
    words, skipped = "", False
    for place in (3, 2, 1, 0):
        digit = number // 10**place % 10
        if digit == 0:
            skipped = bool(words)
            continue
        words += (DIGITS[0] if skipped else "") + DIGITS[digit] + PLACES[place]
        skipped = False
    return words
