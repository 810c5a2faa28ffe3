"""A JSON schema as a regular expression, so that constrained replies carry no idle white space.

A schema given to a constrained decoder as it is lets the model write any white space between
tokens, and a small model can then loop on blanks until it is cut off. The expression made here
admits exactly one layout. Only the plain part of JSON Schema that agents use is covered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_CHAR = r'([^"\\\x00-\x1f\x7f]|\\["\\/bfnrt])'
_SCALARS = {
    "integer": r"-?(0|[1-9][0-9]{0,17})",
    "number": r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?",
    "boolean": r"(true|false)",
    "null": r"null",
}


def schema_regex(schema: Mapping[str, Any]) -> str | None:
    """Translate a schema to a regular expression; None for a schema that this does not cover.

    Objects must require all of their properties, which come in the order given.

    >>> schema_regex({"enum": ["yes", "no"]})
    '("yes"|"no")'
    >>> schema_regex({"type": "object", "properties": {"n": {"type": "null"}}, "required": ["n"]})
    '\\\\{"n": null\\\\}'
    >>> schema_regex({"$ref": "#/x"}) is None
    True
    """
    if "enum" in schema:
        return "(" + "|".join(_literal(value) for value in schema["enum"]) + ")"
    if "anyOf" in schema:
        parts = [schema_regex(option) for option in schema["anyOf"]]
        return None if None in parts else "(" + "|".join(part for part in parts if part) + ")"
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array":
        return _array(schema)
    if kind == "string":
        # A bound on the length is left to the parser: the engine takes ten seconds to compile one.
        return f'"{_CHAR}{"+" if schema.get("minLength", 0) > 0 else "*"}"'
    return _SCALARS.get(str(kind))


def _object(schema: Mapping[str, Any]) -> str | None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties or set(schema.get("required", ())) != set(properties):
        return None
    fields = []
    for name, part in properties.items():
        inner = schema_regex(part)
        if inner is None:
            return None
        fields.append(f"{_literal(name)}: {inner}")
    return r"\{" + ", ".join(fields) + r"\}"


def _array(schema: Mapping[str, Any]) -> str | None:
    inner = schema_regex(schema.get("items", {}))
    if inner is None:
        return None
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if most == 0:
        return r"\[\]"
    more = _count(max(least - 1, 0), None if most is None else most - 1)
    some = rf"\[{inner}(, {inner}){more}\]"
    return some if least > 0 else rf"(\[\]|{some})"


def _count(least: int, most: int | None) -> str:
    if most is None:
        return "*" if least == 0 else f"{{{least},}}"
    return f"{{{least},{most}}}"


def _literal(value: object) -> str:
    return re.escape(json.dumps(value, ensure_ascii=False)).replace("\\ ", " ")
