"""Recording inside a recording: both get what they asked for."""

import torch

from dc_nmt_plugin.modules.core.recording import Recordable, recording


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


def test_the_last_forward_pass_wins_in_either():
    module = Module()
    with recording(module) as outer:
        module()
        with recording(module, ["gates"]) as inner:
            pass
    assert set(outer[""]) == {"weights", "gates"} and inner == {"": {}}
