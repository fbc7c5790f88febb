"""Human ranking: writes a blind sheet (CSV) for each pair of systems, and counts the answers.

python examples/blind_sheets.py sheets FOLDER RUN RUN [RUN …]   writes FOLDER/sheet-N.csv
python examples/blind_sheets.py tally FOLDER                    prints per cent better, equal, worse
FOLDER/key.json says which system is A in each row; the rankers must not see it."""

import csv
import json
import random
import sys
from itertools import combinations
from pathlib import Path

from dc_nmt_plugin.laboratory.evaluation.systems import PlainTextOptions, load_systems

SENTENCES, ANSWER = 50, "better (A, B or =)"


def write_sheets(folder: Path, runs: list[Path]) -> None:
    """Draws sentences that the two systems translate differently; A is drawn for each row."""
    systems = load_systems(runs, PlainTextOptions())
    folder.mkdir(parents=True)  # a folder that is there may have sheets that are filled in
    dice, key = random.Random(1), {}
    for number, pair in enumerate(combinations(systems, 2), start=1):
        lines = [system.texts.raw.hypotheses for system in pair]
        different = [n for n, (one, other) in enumerate(zip(*lines, strict=True)) if one != other]
        sheet, first_is = folder / f"sheet-{number}.csv", {}
        with open(sheet, "w", encoding="utf-8-sig", newline="") as out:  # spreadsheets need the BOM
            writer = csv.writer(out)
            writer.writerow(["number", "reference", "A", "B", ANSWER])
            for n in sorted(dice.sample(different, min(SENTENCES, len(different)))):
                first_is[n] = dice.choice("AB")
                a, b = (0, 1) if first_is[n] == "A" else (1, 0)
                writer.writerow([n, pair[0].texts.raw.references[n], lines[a][n], lines[b][n], ""])
        key[sheet.name] = {"systems": [system.label for system in pair], "first is": first_is}
    (folder / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")


def tally(folder: Path) -> None:
    """Prints how often the second system of each sheet is better, equal and worse."""
    for name, pair in json.loads((folder / "key.json").read_text(encoding="utf-8")).items():
        counts = {"better": 0, "equal": 0, "worse": 0}
        for row in csv.DictReader((folder / name).read_text("utf-8-sig").splitlines()):
            answer = row[ANSWER].strip().upper()
            if answer not in ("A", "B", "="):
                sys.exit(f"{folder / name}: {answer!r} is not A, B or =")
            won = "worse" if answer == pair["first is"][row["number"]] else "better"
            counts["equal" if answer == "=" else won] += 1
        shares = [f"{100 * n / sum(counts.values()):.0f}% {what}" for what, n in counts.items()]
        print(f"{pair['systems'][1]} against {pair['systems'][0]}: {', '.join(shares)}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    command, folder, *runs = sys.argv[1:]
    if command == "tally":
        tally(Path(folder))
    else:
        write_sheets(Path(folder), [Path(run) for run in runs])
