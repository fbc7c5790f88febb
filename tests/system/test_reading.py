"""One's own Python program: what it gets of the changes, and what reads batches ahead of it."""

from __future__ import annotations

from commands import real

PROGRAM = """
import sys, torch
import fairseq.trainer
from fairseq.data.iterators import BufferedIterator

hook = sys.excepthook
import dc_nmt_plugin.registration
from dc_nmt_plugin import compat

print(*(change.name for change, _ in compat.apply() if not change.loading))
print(sys.excepthook is hook, hasattr(fairseq.trainer.Trainer.load_checkpoint, "__wrapped__"))
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


def test_it_gets_what_loading_needs_and_ends_well_before_all_is_read(tmp_path):
    done = real("python", "-W", "ignore", "-c", PROGRAM, folder=tmp_path).good()
    assert (done.output.splitlines(), done.errors) == (["", "True False", "done"], "")
