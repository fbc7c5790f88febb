"""Print the requirements of the given files that this Python does not meet, one a line.

usage: python scripts/missing.py requirements/run.txt [more files …]
"""

import sys
from importlib import metadata
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement


def is_met(requirement: Requirement) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return False
    return requirement.specifier.contains(version, prereleases=True)


def main(files: list[str]) -> None:
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            text = line.split("#")[0].strip()
            if text and not is_met(Requirement(text)):
                print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
