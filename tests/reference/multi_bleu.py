"""multi-bleu.perl of Moses, and its mteval-like cousin, written from their definitions with loops.

Papineni et al. 2002: BLEU = BP · exp(¼ Σₙ log pₙ), pₙ the clipped n-gram precision of the whole
corpus, BP = exp(1 − r/c) where the translation is shorter (c words) than the reference (r words).
One reference a sentence; words are what white space separates; no smoothing.
"""

import math


def ngrams(words, n):
    """Every n-gram, with repetitions."""
    result = []
    for start in range(len(words) - n + 1):
        result.append(" ".join(words[start : start + n]))
    return result


def lower_ascii(text):
    """Perl's lc on bytes: A to Z alone."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def clipped_matches(hypothesis, reference):
    """How many hypothesis n-grams find a reference n-gram that no other one has taken."""
    left = list(reference)
    matches = 0
    for ngram in hypothesis:
        if ngram in left:
            left.remove(ngram)
            matches += 1
    return matches


def multi_bleu(hypotheses, references, lowercase=False):
    """BLEU between 0 and 100 of tokenised lines."""
    matches, totals = [0] * 4, [0] * 4
    translated = expected = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        if lowercase:
            hypothesis, reference = lower_ascii(hypothesis), lower_ascii(reference)
        output, wanted = hypothesis.split(), reference.split()
        translated += len(output)
        expected += len(wanted)
        for n in range(1, 5):
            totals[n - 1] += max(0, len(output) - n + 1)
            matches[n - 1] += clipped_matches(ngrams(output, n), ngrams(wanted, n))
    if 0 in matches:
        return 0.0
    log_precision = sum(math.log(matches[n] / totals[n]) for n in range(4)) / 4
    brevity = 1.0 if translated >= expected else math.exp(1 - expected / translated)
    return 100 * brevity * math.exp(log_precision)


def split_compounds(line):
    """perl -ple 's{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g': a hyphen between two non-blanks.

    The second non-blank is used up, so it cannot be the first one of the next match.
    """
    result, position = "", 0
    while position < len(line):
        here = line[position : position + 3]
        if len(here) == 3 and here[1] == "-" and not (here[0] + here[2]).count(" "):
            result += here[0] + " ##AT##-##AT## " + here[2]
            position += 3
        else:
            result += line[position]
            position += 1
    return result
