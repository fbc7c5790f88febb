"""Stand-ins for the programs that recipes start, so that every path is walked in seconds.

They note how they were called. What is planned, the steps and the commands themselves are real.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dc_nmt_plugin import cli, steps
from dc_nmt_plugin.text.lines import INDEX_COUNT

PROGRAMS = {
    "dc-nmt": r"""
        command=$1; shift
        value() { while [ "$1" != "$flag" ]; do shift; done; echo "$2"; }
        case $command in
          check-text) [ ! -e "$STATE/bad-text" ] || { echo "line 3: bad" >&2; exit 1; } ;;
          average) flag=--out; echo mean >"$(value "$@")" ;;
          score) echo "THE SCORE" ;;
        esac""",
    # fairseq's index files hold the number of sentences at byte 18
    "fairseq-preprocess": r"""
        declare -A given
        while [ $# -gt 0 ]; do
          case $1 in --*pref | --*-lang | --destdir) given[${1#--}]=$2; shift ;; esac
          shift
        done
        [ ! -e "$STATE/kill" ] || { rm "$STATE/kill"; kill -9 $PPID; }
        to=${given[destdir]} pair=${given[source-lang]}-${given[target-lang]}
        for lang in "${given[source-lang]}" "${given[target-lang]}"; do
          printf 'a\nb\n' >"$to/dict.$lang.txt"
          IFS=, read -ra tests <<<"${given[testpref]}"
          declare -A texts=([train]=${given[trainpref]} [valid]=${given[validpref]})
          for i in "${!tests[@]}"; do texts[test${i#0}]=${tests[i]}; done
          for split in "${!texts[@]}"; do
            lines=$(wc -l <"${texts[$split]}.$lang")
            count=$(printf "\\\\x%02x" "$lines")
            { head -c INDEX_COUNT /dev/zero; printf "$count"; head -c 7 /dev/zero
            } >"$to/$split.$pair.$lang.idx"
          done
        done""".replace("INDEX_COUNT", str(INDEX_COUNT)),
    "fairseq-train": r"""
        while [ "$1" != --save-dir ]; do shift; done
        mkdir -p "$2"; echo half >"$2/checkpoint_last.pt"; echo "the last words"
        [ ! -e "$STATE/kill" ] || { rm "$STATE/kill"; kill -9 $$; }
        # of two that train side by side, one
        ! rm "$STATE/stop" 2>/dev/null || { kill -TERM $PPID; exec sleep 20; }
        [ ! -e "$STATE/slow" ] || exec sleep 20""",
    "fairseq-generate": r"""
        while [ "$1" != --results-path ]; do shift; done
        echo "H-0 -1 x" >"$2/generate-test.txt" """,
    "subword-nmt": r"""
        [ ! -e "$STATE/full" ] || { for i in {1..20}; do echo "line $i"; done >&2; exit 1; }
        case $1 in
          learn-bpe) while [ "$1" != -o ]; do shift; done; echo codes >"$2" ;;
          apply-bpe) while [ "$1" != -i ]; do shift; done; cp "$2" "$4" ;;
        esac""",
    "torchrun": r"""while [ "$1" != -m ]; do shift; done; shift 2; exec fairseq-train "$@" """,
}


def executable(path: Path, body: str) -> None:
    """A bash script."""
    path.write_text(f"#!/usr/bin/env bash\nset -eu\n{body}\n")
    path.chmod(0o755)


class Result:
    """What a command of dc-nmt left.

    Attributes:
        code: exit status
        output, errors: what it printed
        calls: programs that it started, with their arguments
    """

    def __init__(self, code: int, output: str, errors: str, calls: list[str]) -> None:
        self.code, self.output, self.errors, self.calls = code, output, errors, calls

    def good(self) -> Result:
        assert self.code == 0, self.output + self.errors
        return self

    def refused(self, status: int = 1) -> str:
        """The one sentence with which it failed."""
        assert self.code == status and len(self.errors.strip().splitlines()) == 1, self.errors
        return self.errors

    def call(self, start: str) -> str:
        """The first call that starts with these words."""
        return next(call for call in self.calls if call.startswith(start))

    def started(self, about: str = "") -> list[str]:
        """Programs, dc-nmt with its command; those whose arguments name something."""
        calls = [call for call in self.calls if about in call]
        return [" ".join(call.split()[: 1 + call.startswith("dc-nmt")]) for call in calls]


class StandIns:
    """A working folder in which commands of dc-nmt run with stand-ins on their PATH."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, output: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self.state, self._output = folder, folder / "state", output
        programs = folder / "programs"
        self.state.mkdir()
        programs.mkdir()
        for name, body in PROGRAMS.items():
            note = f'printf "%s\\n" "{name} $*" >>"$STATE/calls"\n'
            executable(programs / name, note + body)
        patch.setenv("STATE", str(self.state))
        patch.setattr(steps, "program_path", lambda: f"{programs}:/usr/local/bin:/usr/bin:/bin")
        patch.chdir(folder)

    def run(self, *words: object) -> Result:
        """``dc-nmt WORDS…`` in this process."""
        calls = self.state / "calls"
        calls.write_text("")
        code = cli.main([str(word) for word in words])
        printed = self._output.readouterr()
        return Result(code, printed.out, printed.err, calls.read_text().splitlines())

    def make(self, name: str) -> None:
        """Let a stand-in fail: see the files of STATE in their code."""
        (self.state / name).touch()


@pytest.fixture
def stand_ins(tmp_path, monkeypatch, capfd):
    return StandIns(tmp_path, monkeypatch, capfd)  # what forks of this process say counts too
