"""`keys`: who may call the HTTP API, for which tenant, and what they may do."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofy_kg.cli.session import Session

if TYPE_CHECKING:
    from chronofy_kg.store import ApiKey

__all__ = ["keys_create", "keys_list", "keys_revoke", "keys_rotate"]

_SECOND_US = 1_000_000
KeyId = Annotated[str, typer.Argument(metavar="KEY_ID", help="Id of a key, as `keys list` shows it.")]


def keys_create(
    session: Session,
    scope: Annotated[
        list[str],
        typer.Option(
            "--scope", metavar="SCOPE", help="read, write or admin (all of them); may be given several times."
        ),
    ],
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What the key is for.")] = "",
    days: Annotated[
        float | None,
        typer.Option("--days", min=0, max=36_500, help="Days until it ends; by default it does not."),
    ] = None,
) -> None:
    """Make a key for the tenant (--tenant) and print it.

    It is shown this once: the store keeps a hash of it. A server that runs takes it at once.
    """
    now = _now()
    ends = {} if days is None else {"ends_at_us": now + int(days * 86_400 * _SECOND_US)}
    with session.knowledge_base() as kb:
        key, text = kb.store.keys.create(session.settings.tenant, scope, name, now, **ends)  # type: ignore[arg-type]
    _show_new(session, key, text, now)


def keys_list(session: Session) -> None:
    """List the keys of all tenants, ended ones too; the keys themselves cannot be shown."""
    now = _now()
    with session.knowledge_base() as kb:
        found = kb.store.keys.all()
    if session.as_json:
        session.output.document({"items": [_as_json(key, now) for key in found]})
    elif found:
        from chronofy_kg.cli.render import render_rows

        shown = [_as_json(key, now) for key in found]
        names = ["id", "tenant", "name", "scopes", "created_at", "ends_at", "status"]
        rows = [[" ".join(one[n]) if n == "scopes" else one[n] for n in names] for one in shown]
        render_rows(session.output.results, names, rows)
    else:
        session.output.note("there are no keys; make one with: chronofy-kg keys create --scope read")


def keys_rotate(
    session: Session,
    key_id: KeyId,
    grace: Annotated[
        float,
        typer.Option(
            "--grace", min=0, max=31_536_000, metavar="SECONDS", help="How long the old key stays good."
        ),
    ] = 0.0,
) -> None:
    """Make a key like another one, print it, and end the other one."""
    now = _now()
    with session.knowledge_base() as kb:
        key, text = kb.store.keys.rotate(key_id, now, int(grace * _SECOND_US))
    _show_new(session, key, text, now)


def keys_revoke(session: Session, key_id: KeyId) -> None:
    """End a key; servers that run refuse it within two seconds."""
    now = _now()
    with session.knowledge_base() as kb:
        key = kb.store.keys.revoke(key_id, now)
    if session.as_json:
        session.output.document(_as_json(key, now))
    else:
        session.output.say(f"key {key.id} of tenant {key.tenant} has ended")


def _now() -> int:
    return time.time_ns() // 1_000


def _show_new(session: Session, key: ApiKey, text: str, now: int) -> None:
    if session.as_json:
        session.output.document(_as_json(key, now) | {"key": text})
        return
    session.output.say(text)
    session.output.note(
        f"key {key.id} of tenant {key.tenant}, {' '.join(key.scopes)}; keep it, it is not shown again"
    )


def _as_json(key: ApiKey, now: int) -> dict[str, Any]:
    from chronofy_kg.facts.time import OPEN_US

    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "scopes": list(key.scopes),
        "created_at": _text(key.created_at_us),
        "ends_at": None if key.ends_at_us >= OPEN_US else _text(key.ends_at_us),
        "status": "good" if key.is_good(now) else "ended",
    }


def _text(us: int) -> str:
    moment = datetime.fromtimestamp(us // _SECOND_US, UTC)
    return moment.isoformat().replace("+00:00", "Z")
