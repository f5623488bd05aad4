import pytest

from chronofy_kg.errors import InputError
from chronofy_kg.rules import MiningOptions


@pytest.mark.parametrize(
    "setting",
    [
        {"step_us": 0},
        {"category_support": 0.0},
        {"category_support": 1.5},
        {"category_support": float("nan")},
        {"category_floor": 1},
        {"near_constant": -0.1},
        {"hub_items": 0},
        {"text_classes": -1},
        {"max_pairs": 0},
    ],
)
def test_settings_out_of_range_are_refused_by_name(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        MiningOptions(**setting)
