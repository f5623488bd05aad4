"""Ids of answers, and where an answer comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.facts import catalog_of, table_of, told

from chronofy_kg.answer.identity import request_id
from chronofy_kg.answer.judge import default_judge
from chronofy_kg.answer.model import Answer, Pattern
from chronofy_kg.answer.provenance import provenance_of
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.answer.verify import GivenStep
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.facttypes import Priors

Ask = Callable[..., Answer]
TYPES = catalog_of(weight=10.0, dose=5.0)
MOMENT = Moment(10, 20, 300)
REQUEST = {"question": "what?", "pattern": None, "tau": 0.05, "mode": "balanced", "limit": 10}


def one(**changes: object) -> str:
    parts = {
        "tenant": "t", "request": REQUEST, "moment": MOMENT, "judge": default_judge(), "catalog": TYPES,
    } | changes  # fmt: skip
    return request_id(*parts.values())  # type: ignore[arg-type]


def test_the_same_request_has_the_same_id_whatever_the_order_of_its_parts() -> None:
    assert one() == one(request=dict(reversed(REQUEST.items())))
    assert one() == one(catalog=catalog_of(dose=5.0, weight=10.0))
    assert one().startswith("ans_")


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant": "u"},
        {"request": REQUEST | {"tau": 0.06}},
        {"request": REQUEST | {"question": "what"}},
        {"request": REQUEST | {"question": None, "pattern": Pattern("what?")}},
        {"request": {"steps": [GivenStep("a", ("f",))]}},
        {"moment": replace(MOMENT, at=11)},
        {"moment": replace(MOMENT, known_at=21)},
        {"moment": replace(MOMENT, hindsight=True)},
        {"judge": default_judge(0.4)},
        {"judge": replace(default_judge(), on_fail="flag")},
        {"judge": replace(default_judge(), evaluate="each")},
        {"judge": replace(default_judge(), version=2)},
        {"catalog": catalog_of(weight=10.0, dose=6.0)},
        {"catalog": replace(TYPES, priors=Priors(numeric_half_life_days=1.0))},
        {"catalog": replace(TYPES, types={n: replace(t, quality=0.9) for n, t in TYPES.types.items()})},
    ],
)
def test_whatever_may_change_the_answer_changes_the_id(changes: dict[str, object]) -> None:
    assert one(**changes) != one()


def test_steps_and_their_facts_cannot_be_shifted_into_one_another() -> None:
    steps = [
        [GivenStep("a", ("f", "g"))],
        [GivenStep("a", ("f",)), GivenStep("", ("g",))],
        [GivenStep("a", ("fg",))],
    ]
    assert len({one(request={"steps": given}) for given in steps}) == 3


def test_provenance_says_what_was_used_derived_from_and_by_whom_it_was_told(ask: Ask) -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="my scale/1"),
        told("p", "dose", 5, "2026-01-01", source="b"),
    )
    answer = answer_as_json(ask(table, TYPES, "2026-01-08", subject="p"))
    assert answer["partial"]
    document = provenance_of(answer)
    nodes = {node["@id"]: node for node in document["@graph"]}
    (weight,) = (f"ckg:fact/{fact['id']}" for fact in answer["facts"])
    entity = nodes["ckg:answer/ans_x"]
    activity = nodes[entity["wasGeneratedBy"]]
    assert entity["wasDerivedFrom"] == [weight]
    assert len(activity["used"]) == 2
    assert set(activity["used"]) <= set(nodes)
    assert nodes[weight]["wasAttributedTo"] == ["ckg:source/my%20scale%2F1"]
    assert nodes["ckg:source/my%20scale%2F1"]["@type"] == "prov:Agent"
    assert "ckg:source/b" not in nodes
    assert all(" " not in name for name in nodes)


def test_a_withheld_answer_derives_from_nothing(ask: Ask) -> None:
    answer = answer_as_json(
        ask(table_of(told("p", "dose", 5, "2026-01-01")), TYPES, "2026-01-08", subject="p")
    )
    entity = provenance_of(answer)["@graph"][0]
    assert (entity["wasDerivedFrom"], entity["ckg:verdict"]) == ([], "reacquire")
    empty = answer_as_json(
        ask(table_of(told("p", "dose", 5, "2026-01-01")), TYPES, "2026-01-08", subject="q")
    )
    assert provenance_of(empty)["@graph"][1]["used"] == []
