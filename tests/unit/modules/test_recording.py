"""Recording inside a recording, where both get what they asked for; and reducing at once."""

import torch

from dc_nmt_plugin.modules.core.recording import Place, Recordable, recording


class Module(Recordable):
    def forward(self):
        self.record(weights=torch.ones(1), gates=torch.zeros(1))


def test_an_inner_recording_takes_nothing_from_the_outer_one():
    net = torch.nn.ModuleList([Module(), Module()])
    with recording(net, ["gates"]) as outer:
        with recording(net[0], ["weights"]) as inner:
            for module in net:
                module()
        assert net[0].wants("gates") and not net[0].wants("weights")
    assert "weights" in inner[""]
    assert set(outer["0"]) == set(outer["1"]) == {"gates"}
    assert not any(module.wants("gates") for module in net)


def test_reducing_keeps_the_tensors_of_no_module():
    net, seen = torch.nn.ModuleList([Module() for _ in range(3)]), []
    net[0].place, net[2].place = Place("encoder", 1, "self"), Place("aux1", 1, "self")

    def take(recorded):
        holding = [module for module in net if any(module._recordings)]
        seen.append((recorded.place, set(recorded), len(holding)))

    with recording(net, ["weights"], take):
        for module in net:
            module()
        assert not any(any(module._recordings) for module in net)
        assert not net[2].wants("weights")  # an auxiliary decoder's
    assert seen == [(net[0].place, {"weights"}, 1), (None, {"weights"}, 1)]
    assert not any(module.wants("weights") or module._forward_hooks for module in net)


def test_a_recording_inside_reducing_keeps_its_tensors():
    module, taken = Module(), []
    with recording(module, ["weights"], lambda recorded: taken.append(set(recorded))):
        with recording(module, ["gates"]) as inner:
            module()
        assert set(inner[""]) == {"gates"}
        module()
    assert taken == [{"weights"}, {"weights"}]
