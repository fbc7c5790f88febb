"""The scores that papers print, each computed by sacreBLEU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU, CHRF, TER

from ..errors import UserError, choice_problem

# tokenizer.perl -a has split hyphens to "@-@" already, which is one word, not a compound
COMPOUND = re.compile(r"(?:^|(?<=\s))@-@(?=\s|$)|(\S)-(\S)")


def split_compounds(line: str) -> str:
    """``##AT##-##AT##`` around hyphens inside words, as get_ende_bleu.sh of tensor2tensor does.

    That script tokenises without ``-a``; ``@-@`` is joined first, so that text has one score
    however its hyphens were tokenised.

    >>> split_compounds("ein Kern-Kraft-Werk - ja")
    'ein Kern ##AT##-##AT## Kraft ##AT##-##AT## Werk - ja'
    >>> split_compounds("33 @-@ Fuß-Tor")
    '33 ##AT##-##AT## Fuß ##AT##-##AT## Tor'
    """
    joined = line.replace(" @-@ ", "-")
    return COMPOUND.sub(lambda m: f"{m[1]} ##AT##-##AT## {m[2]}" if m[1] else m[0], joined)


def _as_it_is(line: str) -> str:
    return line


@dataclass(frozen=True)
class Metric:
    """One line of a score table.

    Attributes:
        name: as given to ``--metrics``
        about: what computes the same, or what it is for
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
        return self.name not in ("chrf", "ter")

    @property
    def higher_is_better(self) -> bool:
        return self.name != "ter"

    def prepared(self, lines: Sequence[str]) -> list[str]:
        """Lines as the metric counts them."""
        return [self.prepare(line) for line in lines]

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], target_lang: str
    ) -> tuple[float, str]:
        """Corpus score (0 to 100; TER may be more) and sacreBLEU's signature."""
        metric = self.make(target_lang)
        found = metric.corpus_score(self.prepared(hypotheses), [self.prepared(references)])
        return found.score, str(metric.get_signature())


# force: no advice about tokenised full stops; text_checks.py looks at all of the text
def _v13a(lowercase: bool) -> Callable[[str], BLEU]:
    return lambda _: BLEU(tokenize="13a", lowercase=lowercase, force=True)


def _multi_bleu(lowercase: bool = False) -> Callable[[str], BLEU]:
    return lambda _: BLEU(tokenize="none", smooth_method="none", lowercase=lowercase, force=True)


def _language_default(target_lang: str) -> BLEU:
    return BLEU(trg_lang=target_lang, force=True)


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
           lambda _: BLEU(tokenize="zh", force=True)),
    Metric("sacrebleu", "sacreBLEU's default for the language", False, _language_default),
    Metric("sacrebleu-tokenized", "the same on tokenised text", True, _language_default),
    Metric("chrf", "chrF2", False, lambda _: CHRF()),
    Metric("ter", "TER, lower is better", False, lambda _: TER()),
)  # fmt: skip
METRICS = {metric.name: metric for metric in _ALL}


def default_metrics(target_lang: str, tokenized: bool) -> list[str]:
    """What is scored without ``--metrics``: every line that papers use for the language.

    Args:
        target_lang: two letters
        tokenized: tokenised text of both sides is at hand
    """
    if target_lang == "zh":
        raw, words = ["zh", "chrf", "ter"], ["zh-words"]
    else:
        raw, words = ["mteval-v13a", "mteval-v13a-lc", "chrf", "ter"], ["multi-bleu"]
        words += ["multi-bleu-lc"]
        words += {"de": ["compound-split"], "vi": ["sacrebleu-tokenized"]}.get(target_lang, [])
    if not tokenized:
        words = []
    return [*raw[:-2], *words, *raw[-2:]]


GROUPS = {
    "default": "what is scored without --metrics: every line that papers use for the language",
    "raw": "those of detokenised text",
    "tokenized": "those of tokenised text",
    "all": "the default lines, and COMET where --comet-model is given",
}


def check_names(flag: str, names: str) -> None:
    """
    Raises:
        UserError: one of the names, separated by commas, is neither a metric nor a group
    """
    valid = [*METRICS, "comet", *GROUPS]
    found = [name.strip() for name in names.split(",") if name.strip()]
    problems = [choice_problem(flag, name, valid) for name in found]
    if any(problems):
        raise UserError("\n".join(problem for problem in problems if problem))


def in_groups(names: str, target_lang: str, tokenized: bool, comet: bool) -> list[str]:
    """Names separated by commas, those of GROUPS replaced by their metrics; once each.

    Args:
        names: as given to ``--metrics``
        target_lang, tokenized: as for :func:`default_metrics`
        comet: ``all`` has COMET too
    """
    default = default_metrics(target_lang, tokenized)
    groups = {
        "default": default,
        "raw": [name for name in default if not METRICS[name].tokenized],
        "tokenized": [n for n in default_metrics(target_lang, True) if METRICS[n].tokenized],
        "all": [*default, *(["comet"] if comet else [])],
    }
    found = [name.strip() for name in names.split(",") if name.strip()]
    return list(dict.fromkeys(each for name in found for each in groups.get(name, [name])))


def find_metrics(flag: str, names: str) -> list[Metric]:
    """Metrics from names separated by commas.

    Raises:
        UserError: a name is unknown.
    """
    found = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    problems = [choice_problem(flag, name, METRICS) for name in found]
    if any(problems):
        raise UserError("\n".join(problem for problem in problems if problem))
    if not found:
        raise UserError(f"{flag}: '{names}' names no metric; choose among {', '.join(METRICS)}")
    return [METRICS[name] for name in found]
