"""The command line as processes of its own, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chronofy_kg.store import StoreAddress

__all__ = ["environment", "run_cli", "start_cli", "store_flags"]


def environment(address: StoreAddress | None = None, **more: str) -> dict[str, str]:
    """Return this process's environment without settings of its own, with the login of a server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHRONOFY_KG_")}
    login = {"USER": address.user, "PASSWORD": address.password} if address is not None else {}
    return (
        kept
        | {f"CHRONOFY_KG_{name}": value for name, value in login.items() if value}
        | {"CHRONOFY_KG_EMBEDDER": "none"}
        | more
    )


def store_flags(address: StoreAddress, data: Path) -> list[str]:
    """Return the options that name a store; `data` keeps the caches of a server's users."""
    if address.is_embedded:
        return ["--data", str(address.data_dir)]
    return ["--uri", address.uri, "--data", str(data)]


@contextmanager
def start_cli(arguments: Sequence[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run the command line while a block lasts; it is killed at the end if it still runs."""
    command, pipe = [sys.executable, "-m", "chronofy_kg.cli", *arguments], subprocess.PIPE
    with subprocess.Popen(
        command, env=env, text=True, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL
    ) as p:
        try:
            yield p
        finally:
            p.kill()


def run_cli(
    arguments: Sequence[str], env: dict[str, str], timeout: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    command = [sys.executable, "-m", "chronofy_kg.cli", *arguments]
    return subprocess.run(
        command,
        env=env,
        text=True,
        capture_output=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )
