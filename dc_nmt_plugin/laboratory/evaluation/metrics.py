"""The scores that papers print, each computed by sacreBLEU."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import UserError, check_choices
from ...flags import listed
from ...text.languages import SPACELESS, bleu_tokenizer, is_spaceless

# tokenizer.perl -a has split hyphens to "@-@" already, which is one word, not a compound
COMPOUND = re.compile(r"(?:^|(?<=\s))@-@(?=\s|$)|(\S)-(\S)")
DOTLESS = ("tr", "az")  # languages whose I becomes ı: -lc, which makes it i, does not suit them


def split_compounds(line: str) -> str:
    """Puts ``##AT##-##AT##`` around hyphens inside words, as tensor2tensor's get_ende_bleu.sh.

    That script tokenises without ``-a``. This function joins ``@-@`` first, so the score does not
    depend on the tokenisation of hyphens.

    >>> split_compounds("Kern-Kraft-Werk - 33 @-@ Fuß-Tor")
    'Kern ##AT##-##AT## Kraft ##AT##-##AT## Werk - 33 ##AT##-##AT## Fuß ##AT##-##AT## Tor'
    """
    joined = line.replace(" @-@ ", "-")
    return COMPOUND.sub(lambda m: f"{m[1]} ##AT##-##AT## {m[2]}" if m[1] else m[0], joined)


def split_characters(line: str) -> str:
    """Puts a space between all characters, so that each is a word.

    >>> split_characters("ab c")
    'a b c'
    """
    return " ".join("".join(line.split()))


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
    prepare: Callable[[str], str] | None = None
    prepared_by: str = ""

    @property
    def lowercase(self) -> bool:
        return self.name.endswith("-lc")

    @property
    def is_bleu(self) -> bool:
        return self.name not in ("chrf", "ter", "ter-char")

    def prepared(self, lines: Sequence[str]) -> list[str]:
        """Returns the lines in the form that the metric scores."""
        return [self.prepare(line) for line in lines] if self.prepare else list(lines)

    def score(
        self, hypotheses: Sequence[str], references: Sequence[str], target_lang: str
    ) -> tuple[float, str]:
        """Returns the corpus score (0 to 100; TER may be more) and sacreBLEU's signature.

        Raises:
            UserError: numbers of lines differ, or the metric splits at spaces, and the references
                are written without spaces
        """
        if len(hypotheses) != len(references):  # sacreBLEU would score the first ones alone
            raise UserError(f"{len(hypotheses)} hypotheses for {len(references)} references")
        metric = self.make(target_lang)
        splits = self.name == "ter" or _splits_at_spaces(metric)
        if splits and not self.tokenized and is_spaceless(target_lang, references):
            instead = "ter-char" if self.name == "ter" else default_bleu(target_lang, references)
            raise UserError(
                f"{self.name}: splits text at spaces, and the references ({target_lang}) are in a "
                f"script without spaces between words; use {instead}"
            )
        result = metric.corpus_score(self.prepared(hypotheses), [self.prepared(references)])
        return result.score, str(metric.get_signature())


def _sacrebleu(name: str, **options: Any) -> Callable[[str], Any]:
    """Returns what makes a metric of sacreBLEU, the same one for every target language."""

    def make(_: str) -> Any:
        from sacrebleu import metrics  # not at the top: --help and listings need no sacreBLEU

        return getattr(metrics, name)(**options)

    return make


def _bleu(**options: Any) -> Callable[[str], Any]:
    # force: no advice about tokenised full stops; texts.py looks at all of the text
    return _sacrebleu("BLEU", force=True, **options)


def _splits_at_spaces(metric: Any) -> bool:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    return isinstance(getattr(metric, "tokenizer", None), Tokenizer13a)


_characters = _bleu(tokenize="char")
_multi_bleu = _bleu(tokenize="none", smooth_method="none")
_multi_bleu_lc = _bleu(tokenize="none", smooth_method="none", lowercase=True)


def _language_default(target_lang: str) -> Any:
    """Returns BLEU with sacreBLEU's tokeniser; by characters where that would split at spaces.

    Raises:
        UserError: the package that splits the language's words is not installed
    """
    try:
        metric = _bleu(trg_lang=target_lang)(target_lang)
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f"sacrebleu: BLEU of {target_lang!r} needs MeCab, which is not installed; "
            f"pip install 'sacrebleu[{target_lang}]' installs it"
        ) from error
    if _splits_at_spaces(metric) and target_lang in SPACELESS:
        return _characters(target_lang)
    return metric


_ALL = (
    Metric("mteval-v13a", "NIST's mteval-v13a.pl -c: cased", False, _bleu(tokenize="13a")),
    Metric(
        "mteval-v13a-lc", "mteval-v13a.pl: lower-cased", False,
        _bleu(tokenize="13a", lowercase=True),
    ),
    Metric("multi-bleu", "Moses' multi-bleu.perl: cased", True, _multi_bleu),
    Metric("multi-bleu-lc", "multi-bleu.perl -lc: lower-cased", True, _multi_bleu_lc),
    Metric(
        "compound-split", "multi-bleu.perl, German hyphens split", True, _multi_bleu,
        split_compounds, "@-@ joined, hyphens inside words split",
    ),
    Metric("zh-words", "multi-bleu.perl on segmented Chinese words", True, _multi_bleu),
    Metric(
        "zh", "sacreBLEU --tokenize zh: Chinese characters", False, _bleu(tokenize="zh")
    ),
    Metric("char", "sacreBLEU --tokenize char: characters", False, _characters),
    Metric("sacrebleu", "sacreBLEU's default for the language", False, _language_default),
    Metric("sacrebleu-tokenized", "the same on tokenised text", True, _language_default),
    Metric("chrf", "chrF2", False, _sacrebleu("CHRF")),
    Metric("ter", "TER, lower is better", False, _sacrebleu("TER")),
    Metric(
        "ter-char", "TER of characters", False, _sacrebleu("TER"), split_characters,
        "split into characters",
    ),
)  # fmt: skip
METRICS = {metric.name: metric for metric in _ALL}


def default_bleu(target_lang: str, references: Sequence[str] = ()) -> str:
    """Returns the name of the BLEU of detokenised text that suits a language.

    The script of the references decides when the code is unknown.
    """
    tokenizer = bleu_tokenizer(target_lang, references)
    return "mteval-v13a" if tokenizer == "13a" else tokenizer


def default_metrics(target_lang: str, tokenized: bool, references: Sequence[str] = ()) -> list[str]:
    """Returns the metrics without ``--metrics``: all that papers use for the language.

    `tokenized`: there is tokenised text of both sides.
    """
    bleu = default_bleu(target_lang, references)
    if bleu != "mteval-v13a":
        words = ["zh-words" if target_lang == "zh" else "multi-bleu"]
        return [bleu, *(words if tokenized else []), "chrf", "ter-char"]
    if target_lang in DOTLESS:
        return [bleu, *(["multi-bleu"] if tokenized else []), "chrf", "ter"]
    of_language = {"de": ["compound-split"], "vi": ["sacrebleu-tokenized"]}
    words = ["multi-bleu", "multi-bleu-lc", *of_language.get(target_lang, [])]
    return [bleu, "mteval-v13a-lc", *(words if tokenized else []), "chrf", "ter"]


def find_metrics(flag: str, names: str) -> list[Metric]:
    """Returns metrics from names separated by commas.

    Raises:
        UserError: a name is unknown
    """
    chosen = listed(names)
    check_choices(flag, chosen, METRICS)
    return [METRICS[name] for name in chosen]
