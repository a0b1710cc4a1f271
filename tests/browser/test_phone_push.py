"""Notifications of the phone app: a real service worker gets a push, shows it, answers from it, and takes it back.

The push itself is handed to the browser over its own debugging line: no push service is on loopback.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from chromium import Page
from phone_scene import answered
from services import PushService

from kit.poll import until

if TYPE_CHECKING:
    from chromium import Chromium
    from phone_scene import Agent, Daemon, Opens

    from kit.yourcall import Yourcall

pytestmark = pytest.mark.browser


class Aside(Page):
    """A tab that only listens for service workers."""

    def __init__(self, *all: Any) -> None:
        super().__init__(*all)
        self.registrations: list[str] = []

    def heard(self, method: str, params: dict[str, Any]) -> None:
        if method == "ServiceWorker.workerRegistrationUpdated":
            self.registrations += [each["registrationId"] for each in params["registrations"]]


class Worker:
    """The service worker of a paired phone, spoken to behind the page's back."""

    def __init__(self, page: Page, chromium: Chromium, origin: str) -> None:
        self.page, self._chromium, self._origin = page, chromium, origin
        chromium.call(
            "Browser.grantPermissions",
            permissions=["notifications"],
            origin=origin,
            browserContextId=page._context,
        )
        page.js("navigator.serviceWorker.ready.then(() => true)")
        # A tab of its own for this line: one that goes elsewhere loses what is being handed over.
        target = chromium.call("Target.createTarget", url="about:blank", browserContextId=page._context)[
            "targetId"
        ]
        session = chromium.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._aside = Aside(chromium, session, page._context)
        chromium._pages[session] = self._aside
        self._aside.call("ServiceWorker.enable")
        self._registration = until(lambda: self._aside.registrations, what="a service worker")[-1]
        self._session = until(self._attach, what="the worker's own line")
        self.js("globalThis.pushes = 0; addEventListener('push', () => pushes++); true")

    def _attach(self) -> str:
        for each in self._chromium.call("Target.getTargets")["targetInfos"]:
            if each["type"] == "service_worker" and each.get("browserContextId") == self.page._context:
                attached = self._chromium.call("Target.attachToTarget", targetId=each["targetId"], flatten=True)
                return attached["sessionId"]
        return ""

    def push(self, word: object) -> None:
        """Handed over until the worker has it: Chromium drops a push to a worker that it has not stored yet."""
        data, before = word if isinstance(word, str) else json.dumps(word), self.js("pushes")

        def heard() -> bool:
            self._aside.call(
                "ServiceWorker.deliverPushMessage",
                origin=self._origin,
                registrationId=self._registration,
                data=data,
            )
            return self.js("new Promise((told) => setTimeout(() => told(pushes), 300))") > before

        until(heard, what="a push")

    def js(self, code: str) -> Any:
        reply = self._chromium.call(
            "Runtime.evaluate", self._session, expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def shown(self) -> list[dict[str, Any]]:
        return self.js(
            "inTurn(() => registration.getNotifications()).then((all) => all.map((n) => ({ title: n.title, "
            "body: n.body, tag: n.tag, actions: n.actions.map((one) => one.title) })))"
        )

    def looks(self) -> None:
        """As long as a person does before they press: a button that has just come takes no tap."""
        until(lambda: self.js("Date.now() - stirredAt") > 1300, what="a look at it")

    def tap(self, action: str) -> None:
        """What the browser does when a notification, or a button of it, is pressed; see `looks`."""
        self.js(
            "registration.getNotifications().then(([one]) => { dispatchEvent(new NotificationEvent("
            f"'notificationclick', {{ notification: one, action: {json.dumps(action)} }})); }})"
        )


@pytest.fixture
def worker(opens: Opens, chromium: Chromium, yc: Yourcall) -> Worker:
    return Worker(opens("phone"), chromium, yc.url)


def word(prompt: str, **more: Any) -> dict[str, Any]:
    """As `channels/push/channel.py` says it; that it does is tested there."""
    buttons = [
        {"label": label, "question": "decision", "option": option}
        for label, option in (("Allow", "allow"), ("Deny", "deny"))
    ]
    title = "Claude asks for permission in kite-shop"
    told = {
        "id": prompt,
        "title": title,
        "text": "npm test",
        "kind": "permission",
        "prompt": prompt,
        "reminder": 0,
    }
    return {**told, "buttons": buttons, **more}


def away(worker: Worker) -> None:
    """The app is not in front any more."""
    worker.page.go("about:blank")
    until(lambda: worker.js("clients.matchAll({ type: 'window' }).then((all) => all.length)") == 0, what="nobody")


def test_a_push_is_shown_and_its_button_answers_with_the_phones_own_key(worker: Worker, agent: Agent) -> None:
    line = agent.bash("pushedaaa2", "npm test")
    away(worker)
    worker.push(word("pushedaaa2"))
    (one,) = until(worker.shown, what="a notification")
    assert one == {
        "title": "Claude asks for permission in kite-shop", "body": "npm test", "tag": "pushedaaa2",
        "actions": ["Allow", "Deny"],
    }  # fmt: skip
    worker.looks()
    worker.tap("1")
    assert answered(line)["decision"]["behavior"] == "deny"
    until(lambda: worker.shown() == [], what="gone when pressed")


def test_when_somebody_has_answered_it_closes(worker: Worker) -> None:
    away(worker)
    for name in ("closedaaa2", "othersaaa2"):
        worker.push(word(name))
    until(lambda: len(worker.shown()) == 2, what="two notifications")
    worker.push({"withdraw": "closedaaa2", "outcome": "Answered at the desk"})
    until(lambda: [one["tag"] for one in worker.shown()] == ["othersaaa2"], what="one closed")


def test_a_tap_that_is_too_late_says_so(worker: Worker, agent: Agent, yc: Yourcall) -> None:
    agent.bash("lateaaaaa2", "npm test")
    until(yc.waiting, what="the prompt")
    away(worker)
    worker.push(word("lateaaaaa2"))
    until(worker.shown, what="a notification")
    assert yc.http("POST", "/api/prompts/lateaaaaa2/answer", {"option": "deny"})[0] == 202
    worker.looks()
    worker.tap("0")
    (one,) = until(lambda: [n for n in worker.shown() if n["title"] == "That was not taken"], what="a no")
    assert "already answered" in one["body"]
    worker.push({"withdraw": "lateaaaaa2", "outcome": "Answered by the command line"})
    worker.push(word("afterlate2"))
    until(lambda: "afterlate2" in [n["tag"] for n in worker.shown()], what="the next")
    assert one in worker.shown()


def test_what_is_shown_while_another_goes_is_not_forgotten(worker: Worker) -> None:
    """Chromium drops a notification that comes while it is asked which ones there are: pressed, it did nothing."""
    away(worker)
    names = [f"many{number}" for number in range(40)]
    worker.js(f"""(async () => {{
        const word = {json.dumps(word(""))}, all = {json.dumps(names)}.map((id) => told({{ ...word, id }}));
        let there = false;
        Promise.all(all).then(() => (there = true));
        while (!there) await Promise.all([over({{ withdraw: "nobody" }}), over({{ withdraw: "no other" }})]);
        return true;
    }})()""")
    assert sorted(n["tag"] for n in worker.shown()) == sorted(names)


def test_one_that_never_gets_its_picture_keeps_no_other_waiting(worker: Worker) -> None:
    away(worker)
    worker.js("inTurn(() => new Promise(() => undefined)); 1")
    worker.js("inTurn(() => Promise.reject(new Error('no'))).catch(() => 1)")
    worker.push(word("behindaaa2"))
    until(lambda: [one["tag"] for one in worker.shown()] == ["behindaaa2"], what="a notification")


def test_a_tap_whose_reply_is_lost_is_not_called_a_no(worker: Worker, agent: Agent) -> None:
    line = agent.bash("pushlosta2", "npm test")
    away(worker)
    worker.push(word("pushlosta2"))
    until(worker.shown, what="a notification")
    cut = "(real) => (...all) => real(...all).then(() => { throw new TypeError('the line broke') })"
    worker.js(f"globalThis.fetch = ({cut})(fetch); true")
    worker.looks()
    worker.tap("0")
    assert answered(line)["decision"]["behavior"] == "allow"
    (one,) = until(
        lambda: [n for n in worker.shown() if n["title"] != word("")["title"]], 30, what="a word about it"
    )
    assert one["title"] == "Did that arrive?"


def test_who_has_the_app_in_front_is_not_told_twice(worker: Worker) -> None:
    worker.page.call("Page.bringToFront")
    worker.page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    until(lambda: worker.js("clients.matchAll({ type: 'window' }).then(([one]) => one.focused)"), what="focus")
    worker.page.js("window.asked = 0; navigator.serviceWorker.addEventListener('message', () => asked++); true")
    worker.push(word("frontaaaa2"))
    until(lambda: worker.page.js("asked"), what="the page to say that it is live")
    away(worker)
    worker.push(word("secondaaa2"))
    until(worker.shown, what="the second")
    assert [one["tag"] for one in worker.shown()] == ["secondaaa2"]


def test_who_has_the_app_in_front_without_a_line_is_told(worker: Worker) -> None:
    page = worker.page
    page.call("Page.bringToFront")
    page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    until(lambda: worker.js("clients.matchAll({ type: 'window' }).then(([one]) => one.focused)"), what="focus")
    page.line(False)
    page.sees("No connection")
    worker.push(word("unheardaa2"))
    until(lambda: [one["tag"] for one in worker.shown()] == ["unheardaa2"], what="a notification")


def test_a_push_that_says_nothing_shows_nothing(worker: Worker) -> None:
    away(worker)
    for bad in ("", "no json", "[]", '{"id": ""}', '{"withdraw": "nobody"}', word("afteraaaa2")):
        worker.push(bad)
    until(lambda: [one["tag"] for one in worker.shown()] == ["afteraaaa2"], what="the last one alone")


# A browser's own push, without a push service: its answers are those of a real one, for keys that the test holds.
BROWSER = """
    const made = %s;
    let on = false;
    const unsubscribe = async () => { on = false; return true; };
    const subscription = { endpoint: made.endpoint, toJSON: () => made, unsubscribe };
    PushManager.prototype.subscribe = async () => { on = true; return subscription; };
    PushManager.prototype.getSubscription = async () => (on ? subscription : null);
"""


def test_a_test_is_sent_to_this_phone_and_shown_although_the_app_is_in_front(
    worker: Worker, yc: Daemon, chromium: Chromium
) -> None:
    with PushService() as service:
        port = int(yc.url.rpartition(":")[2])
        (yc.home / "config.toml").write_text(f'[channels.push]\nservices = ["{service.url}"]\n')
        yc.stop()
        yc.start_on(port)
        page = worker.page
        page.call("Page.addScriptToEvaluateOnNewDocument", source=BROWSER % json.dumps(service.subscribe("d1")))
        page.reload()
        page.call("Page.bringToFront")
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.sees("Live")
        page.js("location.hash = '#/devices'")
        page.tap("Notifications")
        page.sees("This device is told when an agent waits.")
        page.tap("Send a test")
        page.sees("If nothing shows within a few seconds")
        ((_, told),) = service.pushed
        assert told["title"].startswith("Yourcall has a question")
        assert told["buttons"] == [], "they answer prompts, and this is none"
        worker.push(told)
        (one,) = until(worker.shown, what="the test, on the screen")
        assert "This is a test" in one["body"]
        service.faults.append(403)
        page.tap("Send a test")
        page.sees("It was not sent: it said 403")
        page.tap("Notifications")
        page.sees("This device is not told")


def test_the_switch_says_what_it_can(worker: Worker) -> None:
    page = worker.page
    page.call("Page.bringToFront")
    page.js("location.hash = '#/devices'")
    page.sees("Notifications")
    page.sees("This device is not told when an agent waits.")
    page.tap("Notifications")
    # There is no push service on this machine; the browser's own no is told.
    page.sees("The browser could not reach its push service.")
