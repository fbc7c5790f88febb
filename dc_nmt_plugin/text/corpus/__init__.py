"""The embedded parallel corpus: phrases in many languages, made from CLDR."""
