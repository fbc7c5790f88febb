"""CLDR and ISO codes of the topics of the generated corpus."""

from __future__ import annotations

LANGUAGES = ("en", "de", "es", "fr", "ro", "vi", "zh")

# "Unknown region", "Pseudo-Accents", "Inherited" and the like: codes, but no places or scripts.
NOT_NAMES = frozenset({"EZ", "QO", "XA", "XB", "ZZ", "Zinh", "Zxxx", "Zyyy", "Zzzz"})

DURATIONS = ("second", "minute", "hour", "day", "week", "month", "year", "century", "decade")
CURRENCIES = (
    "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EGP", "EUR", "GBP",
    "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KES", "KRW", "MAD", "MXN", "MYR", "NOK", "NZD",
    "PEN", "PHP", "PLN", "RON", "RSD", "SEK", "SGD", "THB", "TND", "TRY", "UAH", "USD", "VND",
    "ZAR",
)  # fmt: skip
UNITS = (
    "angle-degree", "area-hectare", "area-square-kilometer", "area-square-meter",
    "digital-gigabyte", "digital-megabyte", "electric-volt", "energy-joule", "energy-kilocalorie",
    "energy-kilowatt-hour", "frequency-megahertz", "length-centimeter", "length-foot",
    "length-inch", "length-kilometer", "length-light-year", "length-meter", "length-mile",
    "length-millimeter", "length-nautical-mile", "light-lux", "mass-carat", "mass-gram",
    "mass-kilogram", "mass-milligram", "mass-ounce", "mass-pound", "mass-tonne", "power-horsepower",
    "power-kilowatt", "power-watt", "pressure-hectopascal", "pressure-bar",
    "speed-kilometer-per-hour", "speed-knot", "speed-meter-per-second", "speed-mile-per-hour",
    "temperature-celsius", "temperature-fahrenheit", "volume-cubic-meter", "volume-cup",
    "volume-gallon", "volume-liter", "volume-milliliter", "volume-pint", "volume-tablespoon",
    "volume-teaspoon",
)  # fmt: skip
