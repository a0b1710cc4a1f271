"""All that a yes is said to is seen before it is said: in the list, and on the card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chromium import Page
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

YES_NO = [{"label": "Yes", "effect": "allow_once"}, {"label": "No", "effect": "deny"}]


def row(page: Page, prompt_id: str) -> str:
    return page.js(f"""document.querySelector('li[data-id="{prompt_id}"]')?.innerText ?? ''""")


def asked(yc: Yourcall, **ask: Any) -> str:
    status, told = yc.http("POST", "/api/asks", {"attended": False, **ask})
    assert status == 201, told
    return told["id"]


def test_what_a_script_asks_is_told_whole(yc: Yourcall, opens: Opens) -> None:
    page = opens()
    tool = {"name": "deploy", "input": {"target": "production"}}
    permission = asked(yc, question="Deploy now?\nAll of it", options=YES_NO, kind="permission", tool=tool)
    question = asked(yc, question="Which one?", options=["Old", "New"], body="The new one drops a table.")
    page.sees("Which one?")
    for words in ("Deploy now?", "All of it", "target: production"):
        assert words in row(page, permission)
    assert "The new one drops a table." in row(page, question)
    page.js(f"location.hash = '#/p/{permission}'")
    page.sees("Deploy now?")
    page.sees("target: production")
    page.js(f"location.hash = '#/p/{question}'")
    page.sees("The new one drops a table.")


def test_what_goes_with_a_command_or_a_servers_tool_is_told(agent: Agent, opens: Opens) -> None:
    page = opens()
    unboxed = {"command": "ls -l", "dangerouslyDisableSandbox": True}
    agent.raises("PermissionRequest", "sandaaaaa2", tool_name="Bash", tool_input=unboxed)
    page.sees("ls -l")
    assert "dangerouslyDisableSandbox: true" in row(page, "sandaaaaa2")
    wipes = {"command": "ls", "target": "production"}
    agent.raises("PermissionRequest", "mcpaaaaaa2", tool_name="mcp__db__delete_all", tool_input=wipes)
    page.sees("delete_all of db")
    assert "target: production" in row(page, "mcpaaaaaa2")
    assert "Hold to allow" in row(page, "mcpaaaaaa2")
    cell = {"notebook_path": "/x/a.ipynb", "cell_id": "c1", "new_source": "", "edit_mode": "delete"}
    agent.raises("PermissionRequest", "cellaaaaa2", tool_name="NotebookEdit", tool_input=cell)
    page.sees("The cell is deleted.")
    assert "cell_id: c1" in row(page, "cellaaaaa2")
