"""The longer play: every kind of prompt there is, so that each can be felt once.

Rule: as in `scenes`, only words. What a real agent asks on its screen alone is asked by a tool of the demo's own.
"""

from __future__ import annotations

from typing import Any

from yourcall.demo.scenes import ASK, COMMAND, EDIT, PROJECT, QUESTION, Scene


def _option(name: str, label: str, effect: str, description: str = "") -> dict[str, str]:
    return {"id": name, "label": label, "effect": effect, "description": description}


def _asks(kind: str, title: str, *questions: dict[str, Any], body: str = "") -> dict[str, Any]:
    return {"kind": kind, "title": title, "body": body, "asks": list(questions)}


TRUST = Scene(
    name="a folder to trust",
    says="I have never been in this folder.",
    tool=ASK,
    input=_asks(
        "trust",
        f"Trust {PROJECT}?",
        {
            "id": "trust",
            "text": "Do you trust the files in this folder?",
            "options": [
                _option("yes", "Yes, I trust this folder", "allow_always", "Its settings and hooks may run."),
                _option("no", "No, leave", "stop", "The agent ends."),
            ],
        },
        body="Quick safety check: is this a project you made or one that you trust?",
    ),
    question="Do you trust the files in this folder?",
    choices=("Yes, I trust this folder", "No, leave"),
    away="yes",
    phone={"option": "yes"},
    ran="Good, then I look around.",
    refused="Then I look at nothing in here.",
)

STARTUP = Scene(
    name="a question at the start",
    says="Before we begin:",
    tool=ASK,
    input=_asks(
        "startup",
        "How shall the text look?",
        {
            "id": "theme",
            "text": "Choose the text style that looks best with your terminal",
            "options": [_option("dark", "Dark mode", "choose"), _option("light", "Light mode", "choose")],
        },
    ),
    question="Choose the text style that looks best with your terminal",
    choices=("Dark mode", "Light mode"),
    away="dark",
    phone={"option": "dark"},
    ran="So it is: {answer}.",
    refused="Then it stays as it is.",
    denies=(),
)

PLAN = Scene(
    name="a plan",
    says="This is larger. Here is how I would do it.",
    tool="ExitPlanMode",
    input={
        "plan": "# Gift wrap in the cart\n\n1. A tick box under each kite\n2. Add `GIFT_WRAP` of **prices.py**\n"
        "3. Tests for none, one and two\n\n| file | change |\n|---|---|\n| `cart.py` | the box |\n"
        "| `prices.py` | the sum |\n\n> Nothing is deployed.\n"
    },
    question="Would you like to proceed with this plan?",
    choices=("Yes", "No, keep planning"),
    away="approve",
    phone={"option": "approve"},
    ran="Then I begin with the tick box.",
    refused="Then I think again.",
)

FORM = Scene(
    name="a form of a server",
    says="The parcel server wants to know something from you.",
    tool=ASK,
    input=_asks(
        "elicitation",
        "parcels: Where shall the parcel go?",
        {"id": "name", "text": "Name (who the parcel is for)", "free_text": True, "type": "text"},
        {"id": "count", "text": "Kites", "free_text": True, "type": "integer", "minimum": 1, "maximum": 9},
        {
            "id": "action",
            "text": "Send this to the server?",
            "options": [
                _option("accept", "Submit", "reply", "Sends what you filled in."),
                _option("decline", "Decline", "deny", "Tells the server no."),
            ],
        },
        body="Where shall the parcel go?",
    ),
    question="Send “Ada, 2 kites” to the server?",
    choices=("Submit", "Decline"),
    away="--set action=accept --set-text name=Ada --set-text count=2",
    phone={"choices": {"action": ["accept"]}, "texts": {"name": "Ada", "count": "2"}},
    ran="The parcel is on its way: {answer}.",
    refused="Then there is no parcel.",
)

LOOP = Scene(
    name="going round in circles",
    says="I have tried the same test nine times.",
    tool=ASK,
    input=_asks(
        "loop",
        "The agent seems to go round in circles",
        {
            "id": "loop",
            "text": "Keep going, or stop here?",
            "options": [
                _option("go", "Keep going", "allow_once", "Tries on."),
                _option("stop", "Stop here", "stop", "Ends the turn."),
            ],
        },
        body="npm test failed nine times with the same words.",
    ),
    question="Keep going, or stop here?",
    choices=("Keep going", "Stop here"),
    away="go",
    phone={"option": "go"},
    ran="The tenth time it passes. Kites!",
    refused="Stopped.",
)

UNKNOWN = Scene(
    name="something unknown",
    says="A program of mine shows this:",
    tool=ASK,
    input=_asks(
        "unknown",
        "A screen that yourcall does not know",
        {
            "id": "key",
            "text": "Which key?",
            "options": [_option("y", "y", "choose"), _option("n", "n", "choose"), _option("q", "q", "choose")],
        },
        body="kite-fly 0.3\n\n  wind: 4 Bft   line: 40 m\n\n  Let go? [y/n/q] _",
    ),
    question="Let go? [y/n/q]",
    choices=("y", "n", "q"),
    away="y",
    phone={"option": "y"},
    ran="I pressed {answer}.",
    refused="Then nothing is pressed.",
    denies=(),
)

PROBLEM = Scene(
    name="a problem",
    says="The model does not answer.",
    tool=ASK,
    input=_asks(
        "problem",
        "The agent stopped with an error",
        {"id": "next", "text": "What next?", "free_text": True},
        body="API Error: 529 overloaded. It was tried ten times.",
    ),
    question="What next?",
    choices=("Try again", "Wait a minute, then try again"),
    away='--text "Try again"',
    phone={"text": "Try again"},
    ran="“{answer}”: yes, now it answers.",
    refused="Then I wait.",
    denies=(),
)

READY = Scene(
    name="the next instruction",
    says="Version 2.1 is ready.",
    tool=ASK,
    input=_asks(
        "ready",
        "Ready for the next instruction",
        {"id": "next", "text": "What next?", "free_text": True},
        body="Version 2.1 is ready: a new price, a new kite, gift wrap.",
    ),
    question="What next?",
    choices=("Write the release notes", "Call it a day"),
    away='--text "Write the release notes"',
    phone={"text": "Write the release notes"},
    ran="“{answer}”: gladly.",
    refused="Good night.",
    denies=(),
)

EVERY = (TRUST, STARTUP, COMMAND, EDIT, QUESTION, PLAN, FORM, LOOP, UNKNOWN, PROBLEM, READY)
