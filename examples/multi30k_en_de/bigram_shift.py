"""Writes SentEval's task BShift for any text: ``bigram_shift.py TOKENISED-TEXT DIR``.

``dc-nmt probe RUN --tasks DIR --only BShift`` reads it. In every other sentence, two neighbours are
swapped (class I); the other sentences are unchanged (O). Ten twelfths of them are for training.
"""

import random
import sys
from pathlib import Path


def main(text: str, folder: str) -> None:
    lines = Path(text).read_text("utf-8").split("\n")
    sentences = list(dict.fromkeys(" ".join(line.split()) for line in lines))
    sentences = [line for line in sentences if len(line.split()) > 2]
    random.Random(1).shuffle(sentences)
    choice = random.Random(1)
    pairs = []
    for number, line in enumerate(sentences):
        words = line.split()
        # the last word, mostly a full stop, stays where it is
        places = [i for i in range(len(words) - 2) if words[i] != words[i + 1]]
        if number % 2 == 0 or not places:
            pairs.append(("O", line))
            continue
        i = choice.choice(places)
        words[i], words[i + 1] = words[i + 1], words[i]
        pairs.append(("I", " ".join(words)))
    choice.shuffle(pairs)  # the split must not depend on even and odd places
    with open(Path(folder) / "bigram_shift.txt", "w", encoding="utf-8") as stream:
        for i, (label, line) in enumerate(pairs):
            split = {10: "te", 11: "va"}.get(i % 12, "tr")
            stream.write(f"{split}\t{label}\t{line}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
