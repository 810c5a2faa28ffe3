"""`disputatio config`: the settings in force, and where each came from."""

from __future__ import annotations

import os
from typing import Any

from rich.table import Table

from disputatio.cli.options import Indexes, Journal, Json, Model, Replay, Roles, StrategyName, read_roles
from disputatio.cli.screen import buffer_output, plain, write_json

_SECRET = "OPENAI_API_KEY"


def config(
    index: Indexes = None,
    strategy: StrategyName = None,
    model: Model = None,
    role: Roles = None,
    journal: Journal = None,
    replay: Replay = False,
    as_json: Json = False,
) -> None:
    """Show the settings in force, and where each came from.

    Settings come from flags, the environment (DISPUTATIO_*), disputatio.toml and defaults, in this order.
    """
    from disputatio.config import read_settings, settings_file
    from disputatio.parts import cache_folder
    from disputatio.store.addresses import mask_secrets

    flags = {
        "index": index,
        "strategy": strategy,
        "model": model,
        "role": read_roles(role),
        "journal": journal,
        "replay": replay or None,
    }
    settings = read_settings(**flags)
    origins = find_origins({name for name, value in flags.items() if value is not None})
    rows = {
        name: {"value": value, "from": origins[name]}
        for name, value in settings.model_dump(mode="json").items()
    }
    rows["index"]["value"] = mask_secrets(settings.index)
    rows["cache"]["value"] = str(cache_folder(settings))
    endpoint = _endpoint()
    if as_json:
        used = settings_file()
        file = str(used.absolute()) if used.is_file() else None
        write_json({"settings": rows, "file": file, "endpoint": endpoint}, indent=2)
        return
    _show(rows, endpoint)


def find_origins(flags: set[str]) -> dict[str, str]:
    """Find the origins of each setting: flag, environment, file or default."""
    from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

    from disputatio.config import Settings, settings_file

    settings_of = {
        "flag": flags,
        "environment": set(EnvSettingsSource(Settings)()),
        "file": set(TomlConfigSettingsSource(Settings, settings_file())()),
    }
    origins = {}
    for name, field in Settings.model_fields.items():
        origin = [origin for origin, names in settings_of.items() if name in names]
        merged = field.annotation == dict[str, str]  # its entries are collected from all places
        origins[name] = (", ".join(origin) if merged else origin[0]) if origin else "default"
    return origins


def _endpoint() -> dict[str, Any]:
    """Return the variables of the endpoint; the key itself is never shown."""
    from disputatio.llm.faults import Address

    base_url = os.environ.get("OPENAI_BASE_URL", "").strip()
    return {
        "OPENAI_BASE_URL": Address(model="", base_url=base_url).shown if base_url else None,
        _SECRET: "set" if os.environ.get(_SECRET, "").strip() else None,
    }


def _show(rows: dict[str, dict[str, Any]], endpoint: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("setting", "value", "from"):
        table.add_column(column, overflow="fold")
    for name, row in rows.items():
        table.add_row(plain(name), plain(_format_value(row["value"])), plain(row["from"]))
    for name, value in endpoint.items():
        table.add_row(plain(name), plain(value or "not set"), plain("environment" if value else ""))
    with buffer_output() as out:
        out.print(table)


def _format_value(value: Any) -> str:
    """Format a setting's value for people.

    >>> _format_value(None), _format_value({"judge": "openai:m"}), _format_value(True)
    ('not set', 'judge=openai:m', 'true')
    """
    if value is None or value == {}:
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
