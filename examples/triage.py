"""Deny what must never run, and leave everything else to a person. Ends after the first prompt it has decided."""

from __future__ import annotations

from yourcall.client import Prompt, Yourcall


def forbidden(prompt: Prompt) -> bool:
    """By the tool and its whole input, never by the title, which is made for people."""
    given = prompt.tool.input if prompt.tool is not None else None
    return isinstance(given, dict) and str(given.get("file_path", "")).endswith(".env")


client = Yourcall()
for prompt in client.prompts():
    if prompt.kind == "permission" and forbidden(prompt):
        result = client.answer(prompt.id, "deny", text="Secrets stay as they are.", wait=5)
        print(f"{prompt.title}: {result.result}")
        break
