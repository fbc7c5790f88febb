"""What reads batches ahead of a program."""

from __future__ import annotations

from commands import real

PROGRAM = """
import sys, torch
from fairseq.data.iterators import BufferedIterator

if sys.argv[1:]:
    from dc_nmt_plugin import compat

    compat.apply(all_of_them=True)


class Batches:  # whose making is nearly all in torch, outside Python's lock
    def __len__(self):
        return 1000

    def __iter__(self):
        matrix = torch.ones(400, 400)
        for _ in range(1000):
            yield (matrix @ matrix).tanh()


batches = BufferedIterator(10, Batches())
for _ in range(3):
    next(batches)
print("done")
"""


def test_a_program_ends_well_that_has_not_read_all(tmp_path):
    done = real("python", "-c", PROGRAM, "plugin", folder=tmp_path).good()
    assert (done.output, done.errors) == ("done\n", "")
