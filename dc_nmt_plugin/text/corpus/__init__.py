"""The generated parallel corpus: phrases in many languages, from CLDR."""
