"""Words of an agent are words: nothing in them runs, hides, breaks the page or makes it slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from phone_scene import QUESTION, answered

from kit.poll import until

if TYPE_CHECKING:
    from phone_scene import Agent, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script><b id=evil>bold</b>"
PLAN = f"""# A plan

{MARKUP}

[click me](javascript:document.title='owned') and [out](https://evil.example/x) ![pic](https://evil.example/p.png)

<a href="https://evil.example" id="evil">link</a> <form action="/api/pair"><input name=a></form>
<style>body {{ display: none }}</style> <svg onload="document.title='owned'"></svg>

- [x] done
- [ ] to do

```html
{MARKUP}
```
"""


def test_markup_in_every_field_stays_text(agent: Agent, opens: Opens) -> None:
    page = opens()
    option = {"label": f"one {MARKUP}", "description": MARKUP, "preview": MARKUP}
    asked = {**QUESTION, "question": f"Which? {MARKUP}", "options": [option, {"label": "two"}]}
    agent.raises("PermissionRequest", "markupaaa2", tool_name="AskUserQuestion", tool_input={"questions": [asked]})
    agent.raises(
        "PermissionRequest",
        "markupbbb2",
        tool_name="Bash",
        tool_input={"command": f"echo {MARKUP}", "description": MARKUP},
    )
    agent.raises("PermissionRequest", "markupccc2", tool_name=f"mcp__x__{MARKUP}", tool_input={MARKUP: MARKUP})
    page.sees("onerror")
    page.tap("Answer")
    page.sees("onerror")
    page.go(f"{page.js('location.origin')}/#/p/markupccc2")
    page.sees("onerror")
    assert page.js("document.querySelectorAll('#evil, img, script:not([src])').length") == 0
    assert "owned" not in page.js("document.title")


def test_a_plan_is_drawn_and_does_nothing(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.raises("PermissionRequest", "hostplana2", tool_name="ExitPlanMode", tool_input={"plan": PLAN})
    page.tap("Read the plan")
    until(lambda: page.js("document.querySelector('.markdown h1')?.textContent"), what="the plan")
    inside = "document.querySelectorAll('.markdown :is(a, img, script, style, form, input, svg, iframe)')"
    assert page.js(f"{inside}.length") == 0
    text = page.text()
    assert "https://evil.example/x" in text  # a link is shown with where it would have led
    assert "☑ done" in text
    assert "owned" not in page.js("document.title")
    assert page.js("[...document.querySelectorAll('.markdown *')].every((e) => !e.attributes.length)")


# What Markdown takes for its own and does not draw; each would be approved without having been seen.
UNDRAWN = {
    "name": "# Plan\n\nTidy up.\n\n[note]: # (hiddenword)\n",
    "twice": "Tidy up.\n\n[a]: /x\n[a]: /hiddenword\n",
    "title": 'Tidy [up](https://a.example "hiddenword").',
    "fence": "Tidy up:\n\n```bash hiddenword\nls\n```\n",
    "cell": "| a | b |\n|---|---|\n| 1 | 2 | hiddenword |\n",
    "turned": "Tidy up &#x202E;pu ydit&#x200B;&zwnj;",
}


def test_a_plan_hides_nothing_behind_its_markup(agent: Agent, opens: Opens) -> None:
    page = opens()
    drawn = (
        "# Plan\n\n1. Read `a.py`\n   - [x] then **this**\n2. and [that](https://a.example)\n\n```bash\nls\n```\n"
    )
    agent.raises("PermissionRequest", "undrawnaa2", tool_name="ExitPlanMode", tool_input={"plan": drawn})
    page.js("location.hash = '#/p/undrawnaa2'")
    until(
        lambda: page.js("document.querySelectorAll('.markdown :is(h1, ol, pre)').length") == 3,
        what="a plan, drawn",
    )
    for name, plan in UNDRAWN.items():
        agent.raises("PermissionRequest", f"un{name}aaa2", tool_name="ExitPlanMode", tool_input={"plan": plan})
        page.js(f"location.hash = '#/p/un{name}aaa2'")
        page.sees("Tidy" if name != "cell" else "1")
        shown = "document.querySelector('article :is(.markdown, .prose .code:only-child)')?.textContent ?? ''"
        wanted = "x202E" if name == "turned" else "hiddenword"
        until(lambda: wanted in page.js(shown), what=f"{name}: {wanted}", show=page.text)  # noqa: B023
        assert page.js(f"!/[\\u202e\\u200b\\u200c]/.test({shown})"), name


def test_an_address_is_opened_only_after_it_was_named(agent: Agent, opens: Opens) -> None:
    page = opens()
    where = "https://xn--pypal-4ve.example/login?next=https://paypal.example"
    agent.raises(
        "Elicitation", "urlaaaaaa2", mcp_server_name="shop", message="Log in, please.", mode="url", url=where
    )
    page.tap("Answer")
    page.sees("Log in, please.")
    links = "[...document.querySelectorAll('main a[href^=http]')].map((a) => [a.href, a.rel, a.target])"
    assert page.js(links) == []
    page.tap("Open the address")
    page.sees("This leaves yourcall, for xn--pypal-4ve.example")
    assert page.js(links) == [[where, "noopener noreferrer", "_blank"]]


def test_letters_that_hide_are_shown_and_need_a_hold(agent: Agent, opens: Opens) -> None:
    page = opens()
    agent.bash("hiddenaaa2", "echo safe\u200b \u202etxt.exe\u2066 \x1b[8mgone\x1b[0m caf\u00e9 e\u0301")
    text = page.sees("Contains invisible characters.")
    for name in ("U+200B", "U+202E", "U+2066", "U+001B"):
        assert name in text
    assert "café" in text
    page.find("Hold to allow")
    pre = "document.querySelector('li[data-id=hiddenaaa2] pre')"
    assert not page.js(f"/[\\u200b\\u202e\\u2066\\u001b]/.test({pre}.textContent)")


def test_a_megabyte_in_one_command(agent: Agent, opens: Opens) -> None:
    page = opens()
    line = agent.bash("hugeaaaaa2", "echo " + "x" * 1_000_000 + " && rm -rf /")
    text = page.sees("Not all of it: 1,000,017 characters")
    assert len(text) < 5000
    assert "It is too long to be read by eye." in text
    page.tap("Review all of it")
    page.sees("of 2,501 lines not shown")
    assert page.js("document.querySelectorAll('.line-of').length") < 200
    page.tap("Deny", ".bar")
    page.tap("Deny", ".sheet")
    assert answered(line)["decision"]["behavior"] == "deny"


@pytest.mark.soak
def test_a_thousand_prompts(yc: Yourcall, agent: Agent, opens: Opens) -> None:
    for n in range(1000):
        line = agent.bash(f"many{n:06d}", f"npm run step{n}")
        assert line.recv(100) == b"hold\n"
        if n >= 10:
            line.close()  # still asked, held by nobody: this process need not keep a thousand lines
    page = opens()
    page.sees("1000 waiting")
    page.find("Allow")
    assert page.js("document.querySelectorAll('li.row').length") == 40
    page.tap("Show 40 of 960 more")
    until(lambda: page.js("document.querySelectorAll('li.row').length") == 80, what="more rows")
    page.js("scrollTo(0, 0)")
    page.tap("Allow", "li[data-id=many000000]")
    until(lambda: yc.http("GET", "/api/prompts/many000000")[1]["state"] != "open", what="the answer")


def test_a_name_from_another_world(agent: Agent, opens: Opens) -> None:
    """Right-to-left names, long words and empty ones do not break the page's width."""
    page = opens(width=360, height=740)
    agent.raises(
        "PermissionRequest",
        "rtlaaaaaa2",
        cwd="/home/מלך/" + "w" * 300,
        tool_name="Edit",
        tool_input={"file_path": "/x/" + "שלום" * 40, "old_string": "", "new_string": "a" * 5000},
    )
    agent.raises("PermissionRequest", "rtlbbbbbb2", cwd="", tool_name="Bash", tool_input={"command": ""})
    assert "1 lines" not in page.sees("Not all of it: 1 line")
    for place in ("", "#/p/rtlaaaaaa2", "#/p/rtlbbbbbb2", "#/welcome"):
        page.go(f"{page.js('location.origin')}/{place}")
        until(lambda: page.js("document.querySelector('main')?.innerText.length > 20"), what="the view")
        assert page.js("document.documentElement.scrollWidth") <= 360
