"""The scores that papers print, each computed by sacreBLEU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import UsageError, UserError, check_choices
from ..flags import listed
from ..text.languages import is_spaceless, spaceless_codes

# tokenizer.perl -a has split hyphens to "@-@" already, which is one word, not a compound
COMPOUND = re.compile(r"(?:^|(?<=\s))@-@(?=\s|$)|(\S)-(\S)")


def split_compounds(line: str) -> str:
    """Puts ``##AT##-##AT##`` around hyphens inside words, as tensor2tensor's get_ende_bleu.sh.

    That script tokenises without ``-a``. This function joins ``@-@`` first, so the score does not
    depend on the tokenisation of hyphens.

    >>> split_compounds("ein Kern-Kraft-Werk - ja")
    'ein Kern ##AT##-##AT## Kraft ##AT##-##AT## Werk - ja'
    >>> split_compounds("33 @-@ Fuß-Tor")
    '33 ##AT##-##AT## Fuß ##AT##-##AT## Tor'
    """
    joined = line.replace(" @-@ ", "-")
    return COMPOUND.sub(lambda m: f"{m[1]} ##AT##-##AT## {m[2]}" if m[1] else m[0], joined)


def split_characters(line: str) -> str:
    """Puts a space between all characters, so that each is a word.

    >>> split_characters("ab c")
    'a b c'
    """
    return " ".join("".join(line.split()))


def _as_it_is(line: str) -> str:
    return line


@dataclass(frozen=True)
class Metric:
    """One line of a score table.

    Attributes:
        name: as given to ``--metrics``
        about: another program with the same result, or the purpose
        tokenized: scores tokenised text (white space separates the words), else detokenised text
        make: target language → sacreBLEU's metric
        prepare: applied to every line of both sides
        prepared_by: what `prepare` does, in words
    """

    name: str
    about: str
    tokenized: bool
    make: Callable[[str], Any]
    prepare: Callable[[str], str] = _as_it_is
    prepared_by: str = ""

    @property
    def lowercase(self) -> bool:
        return self.name.endswith("-lc")

    @property
    def is_bleu(self) -> bool:
        return self.name not in ("chrf", "ter", "ter-char")

    @property
    def higher_is_better(self) -> bool:
        return not self.name.startswith("ter")

    def prepared(self, lines: Sequence[str]) -> list[str]:
        """Returns the lines in the form that the metric scores."""
        return [self.prepare(line) for line in lines]

    def score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        target_lang: str,
        more: Sequence[Sequence[str]] = (),
    ) -> tuple[float, str]:
        """Returns the corpus score (0 to 100; TER may be more) and sacreBLEU's signature.

        Args:
            hypotheses, references: one line each for every sentence
            target_lang: two letters
            more: further references of the same sentences

        Raises:
            UserError: the metric splits at spaces, and the references are written without spaces
        """
        metric = self.make(target_lang)
        self._check_spaces(metric, references, target_lang)
        streams = [self.prepared(lines) for lines in (references, *more)]
        found = metric.corpus_score(self.prepared(hypotheses), streams)
        return found.score, str(metric.get_signature())

    def _check_spaces(self, metric: Any, references: Sequence[str], target_lang: str) -> None:
        splits = self.name == "ter" or _splits_at_spaces(metric)
        if splits and not self.tokenized and is_spaceless(target_lang, references):
            instead = "ter-char" if self.name == "ter" else default_bleu(target_lang, references)
            raise UserError(
                f"{self.name}: splits text at spaces, and the references ({target_lang}) are in a "
                f"script without spaces between words; use {instead}"
            )


def _sacrebleu(kind: str, **options: Any) -> Any:
    """Returns a metric of sacreBLEU, imported here alone: --help and listings need no sacreBLEU."""
    from sacrebleu import metrics

    return getattr(metrics, kind)(**options)


# force: no advice about tokenised full stops; text_checks.py looks at all of the text
_bleu = partial(_sacrebleu, "BLEU", force=True)


def _splits_at_spaces(metric: Any) -> bool:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return isinstance(getattr(metric, "tokenizer", None), Tokenizer13a)


def _v13a(lowercase: bool) -> Callable[[str], Any]:
    return lambda _: _bleu(tokenize="13a", lowercase=lowercase)


def _multi_bleu(lowercase: bool = False) -> Callable[[str], Any]:
    return lambda _: _bleu(tokenize="none", smooth_method="none", lowercase=lowercase)


def _language_default(target_lang: str) -> Any:
    """Returns BLEU with sacreBLEU's tokeniser; by characters where that would split at spaces.

    Raises:
        UserError: the package that splits the language's words is not installed
    """
    try:
        metric = _bleu(trg_lang=target_lang)
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"sacrebleu: BLEU of {target_lang!r} needs MeCab, which is not installed; "
            f"pip install 'sacrebleu[{target_lang}]' installs it"
        ) from error
    if _splits_at_spaces(metric) and target_lang in spaceless_codes():
        return _characters(target_lang)
    return metric


def _characters(_: str) -> Any:
    return _bleu(tokenize="char")


_ALL = (
    Metric("mteval-v13a", "NIST's mteval-v13a.pl -c: cased", False, _v13a(False)),
    Metric("mteval-v13a-lc", "mteval-v13a.pl: lower-cased", False, _v13a(True)),
    Metric("multi-bleu", "Moses' multi-bleu.perl: cased", True, _multi_bleu()),
    Metric("multi-bleu-lc", "multi-bleu.perl -lc: lower-cased", True, _multi_bleu(True)),
    Metric(
        "compound-split", "multi-bleu.perl, German hyphens split", True, _multi_bleu(),
        split_compounds, "@-@ joined, hyphens inside words split",
    ),
    Metric("zh-words", "multi-bleu.perl on segmented Chinese words", True, _multi_bleu()),
    Metric("zh", "sacreBLEU --tokenize zh: Chinese characters", False,
           lambda _: _bleu(tokenize="zh")),
    Metric("char", "sacreBLEU --tokenize char: characters", False, _characters),
    Metric("sacrebleu", "sacreBLEU's default for the language", False, _language_default),
    Metric("sacrebleu-tokenized", "the same on tokenised text", True, _language_default),
    Metric("chrf", "chrF2", False, lambda _: _sacrebleu("CHRF")),
    Metric("ter", "TER, lower is better", False, lambda _: _sacrebleu("TER")),
    Metric("ter-char", "TER of characters", False, lambda _: _sacrebleu("TER"), split_characters,
           "split into characters"),
)  # fmt: skip
METRICS = {metric.name: metric for metric in _ALL}


def default_bleu(target_lang: str, references: Sequence[str] = ()) -> str:
    """Returns the name of the BLEU of detokenised text that suits a language.

    Args:
        target_lang: two letters
        references: text in the language; its script decides when the code is unknown
    """
    if target_lang == "zh":
        return "zh"
    return "char" if is_spaceless(target_lang, references) else "mteval-v13a"


def default_metrics(target_lang: str, tokenized: bool, references: Sequence[str] = ()) -> list[str]:
    """Returns the metrics without ``--metrics``: all that papers use for the language.

    Args:
        target_lang: two letters
        tokenized: tokenised text of both sides is available
        references: as for :func:`default_bleu`
    """
    bleu = default_bleu(target_lang, references)
    if bleu != "mteval-v13a":
        words = ["zh-words" if target_lang == "zh" else "multi-bleu"]
        return [bleu, *(words if tokenized else []), "chrf", "ter-char"]
    words = ["multi-bleu", "multi-bleu-lc"]
    words += {"de": ["compound-split"], "vi": ["sacrebleu-tokenized"]}.get(target_lang, [])
    return [bleu, "mteval-v13a-lc", *(words if tokenized else []), "chrf", "ter"]


GROUPS = {
    "default": "what is scored without --metrics: every line that papers use for the language",
    "raw": "those of detokenised text",
    "tokenized": "those of tokenised text",
    "all": "the default lines, and COMET where --comet-model is given",
}


def check_names(names: str) -> None:
    """
    Raises:
        UserError: one of the names, separated by commas, is neither a metric nor a group
    """
    valid = [*METRICS, "comet", *GROUPS]
    check_choices("--metrics", listed(names), valid)


def in_groups(
    names: str, target_lang: str, tokenized: bool, comet: bool, references: Sequence[str] = ()
) -> list[str]:
    """Returns names separated by commas, with GROUPS replaced by their metrics; each once.

    Args:
        names: as given to ``--metrics``
        target_lang, tokenized, references: as for :func:`default_metrics`
        comet: ``all`` has COMET too
    """
    default = default_metrics(target_lang, tokenized, references)
    groups = {
        "default": default,
        "raw": [name for name in default if not METRICS[name].tokenized],
        "tokenized": [
            name
            for name in default_metrics(target_lang, True, references)
            if METRICS[name].tokenized
        ],
        "all": [*default, *(["comet"] if comet else [])],
    }
    return list(dict.fromkeys(each for name in listed(names) for each in groups.get(name, [name])))


def find_metrics(flag: str, names: str) -> list[Metric]:
    """Returns metrics from names separated by commas.

    Raises:
        UserError: a name is unknown.
    """
    found = listed(names)
    check_choices(flag, found, METRICS)
    if not found:
        raise UsageError(f"{flag}: '{names}' names no metric; choose among {', '.join(METRICS)}")
    return [METRICS[name] for name in found]
