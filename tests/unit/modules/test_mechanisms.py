"""The table of mechanisms agrees with the classes that it names."""

import inspect

import pytest

from dc_nmt_plugin.modules.mechanisms import CROSS_AGGREGATION, STANDARD, mechanisms


@pytest.mark.parametrize("mechanism", list(mechanisms()), ids=lambda mechanism: mechanism.name)
def test_options_are_arguments_with_the_same_defaults(mechanism):
    """A module that is made alone has the defaults of a model's flags."""
    arguments = inspect.signature(mechanism.class_.__init__).parameters
    for option in mechanism.options:
        assert arguments[option.name].default == option.default, option.name
        assert mechanism.option(option.name).problem(option.default, "value") is None
    assert set(mechanism.fixed) <= set(arguments)


def test_settings_and_names_are_unique():
    settings = [
        mechanism.setting(option) for mechanism in mechanisms() for option in mechanism.options
    ]
    names = [mechanism.name for mechanism in mechanisms()]
    assert len(settings) == len(set(settings)) and len(names) == len(set(names))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"routing": "diagonal"}, "routing: 'diagonal' is not one of both, horizontal, vertical"),
        ({"iterations": -1}, "iterations: -1 is not at least 0"),
        (
            {"routing": "vertical", "init": "self"},
            "init: 'self' starts .*; choose zero, or routing",
        ),
    ],
)
def test_a_module_alone_refuses_wrong_values(values, message):
    with pytest.raises(ValueError, match=message):
        CROSS_AGGREGATION.class_(embed_dim=8, num_heads=2, **values)


def test_a_class_gets_what_it_names():
    class Narrow:
        def __init__(self, *, embed_dim):
            self.arguments = {"embed_dim": embed_dim}

    class Wide(Narrow):
        def __init__(self, *, width=1, **others):
            super().__init__(**others)
            self.arguments["width"] = width

    for class_, names in ((Narrow, {"embed_dim"}), (Wide, {"embed_dim", "width"})):
        kind = type(STANDARD)("other", class_)
        assert set(kind.build({"width": 2}, embed_dim=4, layer=1).arguments) == names
