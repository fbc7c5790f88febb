"""Every change to fairseq, torch, numpy and Python is declared, and steps aside."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import pytest
from fairseq.data import data_utils

from dc_nmt_plugin import compat
from dc_nmt_plugin.compat import change as mechanism
from dc_nmt_plugin.compat.change import CHANGES, in_order, is_left_out

ROOT = Path(__file__).resolve().parents[3]
# a function or class of these packages that is another one afterwards has been replaced
CHANGED = """
import sys, types
import fairseq_cli.train, fairseq_cli.generate, fairseq_cli.interactive, fairseq_cli.hydra_train
import fairseq.tasks.translation, fairseq.trainer, fairseq.optim.amp_optimizer

def things():
    items = {}
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name.partition(".")[0] not in ("fairseq", "fairseq_cli", "torch", "numpy", "omegaconf",
                                          "logging", "warnings", "tarfile", "multiprocessing"):
            continue
        for attribute, value in list(vars(module).items()):
            if isinstance(value, types.FunctionType) or attribute == "raiseExceptions":
                items[name, attribute] = value
            if isinstance(value, type) and value.__module__ == name:
                for inner, item in list(vars(value).items()):
                    if isinstance(item, (types.FunctionType, classmethod, staticmethod)):
                        items[name, f"{attribute}.{inner}"] = item
    return items

before = things()
import dc_nmt_plugin.registration
from dc_nmt_plugin.compat.change import CHANGES
after = things()
targets = {tuple(target.split(":")) for change in CHANGES for target in change.targets}
for place in before:
    if after.get(place) is not before[place] and place not in targets:
        print(*place)
print("done", sum(after.get(place) is not before[place] for place in before))
"""


def test_nothing_is_replaced_that_is_not_declared(bare, tmp_path):
    done = bare.run(CHANGED, folder=tmp_path, path=[ROOT]).good()
    *others, last = done.output.splitlines()
    assert not others
    assert int(last.split()[1]) > 20


def test_each_change_says_why_and_names_its_test():
    assert len({change.name for change in CHANGES}) == len(CHANGES)
    for change in CHANGES:
        assert change.reason and change.since, change.name
        assert (ROOT / change.test).is_file(), change.test


def test_of_two_changes_of_one_function_the_second_names_the_first():
    entries = in_order()
    before = {}  # entry → all that are applied before it because it says so
    for entry in entries:
        before[entry.name] = set(entry.after).union(*(before[name] for name in entry.after))
    for first, second in combinations(entries, 2):
        if set(first.targets) & set(second.targets):
            assert first.name in before[second.name], (first.name, second.name)


def test_all_are_applied_where_fairseq_is_as_expected():
    outcomes = compat.apply(all_of_them=True, load=True)
    assert not [(change.name, state) for change, state in outcomes if is_left_out(state)]


def test_a_changed_function_is_left_alone_and_named(bare, tmp_path):
    code = """
import fairseq.data.data_utils
fairseq.data.data_utils.batch_by_size = lambda *args: "another fairseq"
from dc_nmt_plugin.laboratory.commands.doctor import main
main([])
"""
    done = bare.run(code, folder=tmp_path, path=[ROOT])
    lines = done.output.replace("\n    ", " ").splitlines()
    (left_out,) = [line for line in lines if "LEFT OUT" in line]
    assert "keep_every_sentence" in left_out
    assert "fairseq.data.data_utils:batch_by_size is not what the change was written" in left_out


def test_a_target_that_is_gone_is_named(monkeypatch):
    entry = next(each for each in CHANGES if each.name == "keep_every_sentence")
    monkeypatch.setattr(mechanism, "_states", {})
    monkeypatch.delattr(data_utils, "batch_by_size")
    assert mechanism.apply_change(entry).endswith("batch_by_size is not there")


@pytest.mark.skipif(sys.version_info < (3, 14), reason="an older Python starts forks")
def test_workers_of_a_program_are_forks(bare, tmp_path):
    code = """
import multiprocessing
import fairseq_cli.train
import dc_nmt_plugin.registration
print(multiprocessing.get_start_method())
"""
    assert bare.run(code, folder=tmp_path, path=[ROOT]).good().output == "fork\n"


@pytest.mark.skipif(sys.platform != "linux", reason="glibc has the allocator")
@pytest.mark.parametrize(("environment", "kept"), [({}, True), ({"MALLOC_TOP_PAD_": "0"}, False)])
def test_freed_tensors_are_kept_unless_the_user_sets_the_allocator(
    bare, tmp_path, environment, kept
):
    """Memory that glibc returned to the system costs a fault a page when it is used again."""
    code = """
import resource
import fairseq_cli.train
import torch
import dc_nmt_plugin.registration

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

torch.ones(64 * 2**20)
before = faults()
torch.ones(32 * 2**20)  # fits into the freed memory, also where alignment takes some
print(faults() - before)
"""
    done = bare.run(code, folder=tmp_path, path=[ROOT], environment=environment).good()
    assert (int(done.output) < 30) == kept, done.output
