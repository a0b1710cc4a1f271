"""A form that an MCP server asks for through an agent: its fields as questions, the answers as its content.

Rule: a field of a kind we do not know makes the whole form one for the desk; nothing is guessed, nothing left out.
"""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from yourcall.model.prompts import Answer, Option, Question, Refused

ACTION = "action"
MOST_FIELDS = 50


class Const(msgspec.Struct, frozen=True):
    const: str
    title: str = ""


class Field(msgspec.Struct, frozen=True):
    """The part of JSON Schema that elicitation allows: flat, simple types."""

    type: str = "string"
    title: str = ""
    description: str = ""
    enum: list[str] = []
    enumNames: list[str] = []
    oneOf: list[Const] = []
    items: Field | None = None
    anyOf: list[Const] = []
    minimum: float | None = None
    maximum: float | None = None


class Schema(msgspec.Struct, frozen=True):
    properties: dict[str, Field] = {}
    required: list[str] = []


def action(url: bool, agent: str) -> Question:
    """What the server is told; `agent` is the name of who asks for it."""
    does = "Tells the server that you have opened the address." if url else "Sends the form to the server."
    options = (
        Option("accept", "Done" if url else "Submit", "reply", does),
        Option("decline", "Decline", "deny", f"Tells the server that you do not want to answer; {agent} goes on."),
        Option("cancel", "Cancel", "stop", f"Dismisses the request without an answer; {agent} goes on."),
    )
    return Question(ACTION, "What shall the server be told?", options)


def questions(schema: bytes) -> tuple[Question, ...] | None:
    """The form's fields, or None if it has one that we cannot ask for."""
    try:
        form = msgspec.json.decode(schema, type=Schema)
    except (ValueError, RecursionError):
        return None
    if len(form.properties) > MOST_FIELDS or ACTION in form.properties:
        return None
    asked = [_question(name, field, name in form.required) for name, field in form.properties.items()]
    return tuple(q for q in asked if q is not None) if None not in asked else None


def _question(name: str, field: Field, required: bool) -> Question | None:
    text = (field.title or name) + (f": {field.description}" if field.description else "")
    if (choices := choices_of(field)) is not None:
        options = tuple(Option(f"o{n}", label, "choose") for n, (label, _) in enumerate(choices, 1))
        return Question(name, text, options, multi_select=field.type == "array", required=required)
    kinds: dict[str, Literal["text", "number", "integer"]] = {
        "string": "text",
        "number": "number",
        "integer": "integer",
    }
    if field.type not in kinds:
        return None
    return Question(
        name,
        text,
        free_text=True,
        required=required,
        type=kinds[field.type],
        minimum=field.minimum,
        maximum=field.maximum,
    )


def choices_of(field: Field) -> list[tuple[str, object]] | None:
    """What can be chosen, as (label, value); None for a field that is written."""
    if field.type == "boolean":
        return [("Yes", True), ("No", False)]
    source = field.items if field.type == "array" else field
    if source is None:
        return None
    if titled := source.oneOf or source.anyOf:
        return [(each.title or each.const, each.const) for each in titled]
    if source.enum:
        names = source.enumNames if len(source.enumNames) == len(source.enum) else source.enum
        return list(zip(names, cast("list[object]", source.enum), strict=True))
    return None


def content(schema: bytes, answer: Answer) -> dict[str, object] | Refused:
    """The answers as the server wants them: typed, and only the fields that were answered."""
    try:
        form = msgspec.json.decode(schema, type=Schema)
    except (ValueError, RecursionError):
        return Refused("The form is no longer on record; answer it at the desk.")
    filled: dict[str, object] = {}
    for name, field in form.properties.items():
        picked, text = answer.choices.get(name, ()), answer.texts.get(name, "")
        choices = choices_of(field)
        if choices is not None and picked:
            values = [value for n, (_, value) in enumerate(choices, 1) if f"o{n}" in picked]
            filled[name] = values if field.type == "array" else values[0]
        elif choices is None and text:
            try:
                filled[name] = (
                    int(text) if field.type == "integer" else float(text) if field.type == "number" else text
                )
            except ValueError:
                return Refused(f"{name} must be a number.")
    return filled
