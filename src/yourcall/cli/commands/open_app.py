"""`yourcall open`: the phone app in this machine's browser, already let in.

Rule: the code that lets the browser in is on no command line, where other users could read it. It is in a file
that only its owner can read, and the browser is sent to that file.
"""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
from urllib.parse import quote

import click

from yourcall.cli.client import call, refusal
from yourcall.cli.instance import Instance, Problem, pass_place, read_daemon_file
from yourcall.system import private_files


@click.command("open", epilog="\b\nExamples:\n  yourcall open\n  yourcall open --print     only print the link\n")
@click.option(
    "--print", "only_print", is_flag=True, help="Print the link, with its single-use code; open nothing."
)
@pass_place
def command(place: Instance, only_print: bool) -> None:
    """Open the app in this machine's browser, already let in."""
    reply = call(place.home, "POST", "/api/pairing", body=json.dumps({}))
    if reply.status not in (200, 201):
        raise refusal(reply)
    port = read_daemon_file(place.home).get("port")
    link = f"http://127.0.0.1:{port}/#pair={quote(reply.data['code'])}&now"
    if only_print:
        click.echo(link)
        return
    page = place.home / "open.html"
    target = html.escape(link, quote=True)
    go = f'<meta http-equiv="refresh" content="0;url={target}"><p><a href="{target}">Open yourcall</a></p>'
    private_files.write(page, f'<!doctype html><meta charset="utf-8"><title>yourcall</title>{go}\n'.encode())
    opener = "open" if sys.platform == "darwin" else next(filter(shutil.which, ("xdg-open", "gio")), None)
    if opener is None:
        raise Problem(f"No browser can be opened from here. Open this link yourself (it works once):\n  {link}")
    words = [opener, "open", str(page)] if opener == "gio" else [opener, str(page)]
    try:
        done = subprocess.run(words, check=False, capture_output=True, timeout=30)
    except subprocess.TimeoutExpired:
        return  # a browser that stays in the foreground is open
    if done.returncode != 0:
        raise Problem(f"{opener} could not open a browser. Open this link yourself (it works once):\n  {link}")
    click.echo("Opened in your browser.")
