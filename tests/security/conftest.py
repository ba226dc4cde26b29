"""Competition with two teams, before or after the reveal."""

from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient

from grader.services.identity import api_tokens


@dataclass
class Scene:
    """Ann has a scored and a rejected submission, and Bob a scored one; there are no other accounts."""

    arena: Any
    ann: Any
    bob: Any
    scored_id: int
    rejected_id: int
    spare_token_id: int

    def browser(self, role: str) -> FlaskClient:
        """Return the browser of an anonymous visitor, of Bob ("outsider") or of Ann ("owner")."""
        return {
            "stranger": self.arena.app.test_client,
            "outsider": lambda: self.bob.browser,
            "owner": lambda: self.ann.browser,
        }[role]()

    def bearer(self, role: str) -> dict[str, str]:
        """Return the API headers of a role."""
        return {"stranger": {}, "outsider": self.bob.bearer, "owner": self.ann.bearer}[role]


@pytest.fixture
def make_scene(make_arena):
    def make(*, revealed: bool = False, **overrides) -> Scene:
        arena = make_arena(**overrides)
        arena.competition(divisions="Students\nOpen")
        ann, bob = arena.person("Ann"), arena.person("Bob")
        scored_id = arena.submit(ann, arena.truth.predictions(noise=2.1, seed=3))
        rejected_id = arena.submit(ann, b"id,prediction\n7000000,x\n")
        arena.submit(bob, arena.truth.predictions(noise=1.7, seed=4))
        arena.score_all()
        if revealed:
            arena.reveal()
        with arena.database.write() as session:
            spare, _ = api_tokens.create(session, user=ann.user, name="spare", now=arena.now())
        return Scene(arena, ann, bob, scored_id, rejected_id, spare.id)

    return make


@pytest.fixture
def scene(make_scene):
    """The scene before the reveal."""
    return make_scene()
