"""All settings in one place: name, default and help together.

Precedence: command-line flag, then environment (CHRONOFY_KG_*), then the file named by CHRONOFY_KG_CONFIG
(lines NAME=value), then the default. Unknown names in the file are refused.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from chronofy_kg.errors import InputError

__all__ = ["Settings", "load_settings"]

PREFIX = "CHRONOFY_KG_"
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:]+\])(:\d{1,5})?")
Days = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseSettings):
    """The settings of one process; every field can be set as CHRONOFY_KG_<NAME>."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    uri: str = Field("embedded:", description="graph store: embedded:, bolt://HOST:PORT or neo4j://HOST:PORT")
    user: str | None = Field(None, description="user of the graph store")
    password: SecretStr | None = Field(None, description="password of the graph store")
    database: str | None = Field(None, description="database of the graph store; by default the engine's own")
    data: Path = Field(Path("chronofy-data"), description="folder of the embedded store and of caches")
    tenant: str = Field(
        "default", min_length=1, max_length=200, description="tenant that a command works for"
    )
    default_zone: str = Field("UTC", description="time zone of times without an offset")
    clock_skew_s: float = Field(
        300.0, ge=0, description="seconds by which an observation may lie in the future"
    )
    gamma: float = Field(0.5, gt=0, le=1, description="threshold of the default spec: G validity >= gamma")
    tau: float = Field(0.05, ge=0, lt=1, description="knowledge filter: no fact with less validity is used")
    gate: float = Field(0.35, ge=0, le=1, description="least relevance of a fact in the answer to a question")
    lag_window: int = Field(3, ge=1, le=50, description="steps before a failing one that a refresh may help")
    half_life_numeric: Days = Field(90.0, description="prior half-life of numeric fact types, in days")
    half_life_categorical: Days = Field(
        365.0, description="prior half-life of categorical fact types, in days"
    )
    embedder: str = Field(
        "minilm", pattern="^(minilm|none)$", description="minilm, or none: words and graph only"
    )
    host: str = Field("127.0.0.1", description="address that the server binds to")
    port: int = Field(8765, ge=0, le=65535, description="port of the server; 0 takes a free one")
    load_batch: int = Field(
        10_000, ge=100, le=100_000, description="most rows that one transaction of a load writes"
    )
    max_body_bytes: int = Field(16_000_000, ge=1_000, description="largest HTTP body")
    max_rows: int = Field(50_000, ge=1, description="most rows of one load over HTTP")
    request_timeout_s: float = Field(
        60.0, gt=0, le=3_600, description="longest time that an HTTP request may take, its body included"
    )
    idempotency_hours: float = Field(
        24.0, gt=0, le=720, description="how long the reply of a write with an Idempotency-Key is kept"
    )
    cors_origins: str = Field(
        "", description="origins whose pages may call the API, with blanks between them; none by default"
    )
    metrics_public: bool = Field(
        False, description="serve /metrics without a key; it counts the requests of all tenants"
    )
    log_level: str = Field(
        "info", pattern="^(debug|info|warning|error)$", description="least level of the server's log lines"
    )
    cypher_rows: int = Field(1_000, ge=1, le=100_000, description="most rows that a Cypher query returns")
    cypher_timeout_s: float = Field(
        10.0, gt=0, le=25, description="longest time that a Cypher query may take"
    )

    @field_validator("data")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: str) -> str:
        for origin in value.split():
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin!r} is no origin; write https://HOST, with :PORT where it has one")
        return value


def load_settings(**flags: Any) -> Settings:
    """Return the settings of this process; a flag that is None counts as not given.

    Raises:
        InputError: a value is out of range, or a name is unknown.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {PREFIX + "CONFIG"}
    path = os.environ.get(PREFIX + "CONFIG")
    file = Path(path) if path else None
    if file is not None and not file.is_file():
        raise InputError(f"{PREFIX}CONFIG names {file}, which is no file")
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
    if unknown:
        raise InputError(f"unknown setting {unknown[0]} in the environment")
    try:
        if file is not None:
            file.read_text(encoding="utf-8")
        return Settings(_env_file=file, **given)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{PREFIX}CONFIG names {file}, which cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise InputError(f"setting {name}: {first['msg']}") from None
