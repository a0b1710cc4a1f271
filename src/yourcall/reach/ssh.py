"""From anywhere, by a server of yours: a tunnel that the daemon keeps up, and a site of the web server there.

Rule: the tunnel ends on the server's own loopback. What is written there is shown first and lies between two lines
that name it, so that `undo` takes out just that; a file that the web server refuses is put back as it was.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
import zlib
from typing import NamedTuple
from urllib.parse import urlsplit

from yourcall.reach import plan as programs
from yourcall.reach.plan import TUNNEL_S, CannotReach, Plan, Wish
from yourcall.reach.way import DAEMON_PORT, Undo, Way

# Ports on the server's loopback, one for each name, so that two machines can share a server.
FIRST_PORT, PORTS = 17717, 1000
OPTIONS = ("BatchMode=yes", "ExitOnForwardFailure=yes", "ServerAliveInterval=15", "ServerAliveCountMax=2")


class Site(NamedTuple):
    """A web server: where its sites are, what one looks like, and how it reads its files again."""

    file: str
    block: str
    check: str
    reload: str
    must_exist: bool


def plan(request: Wish) -> Plan:
    program = programs.needed("ssh", "Install an ssh client.")
    target, name = request.target, request.name
    if target is None or name is None:
        raise CannotReach("ssh needs a server and a name: yourcall reach ssh me@server --name call.example.net")
    if target.startswith("-") or not re.fullmatch(r"[A-Za-z0-9._@:\[\]-]{1,300}", target):
        raise CannotReach(f"{target!r} is no server.")
    there = FIRST_PORT + zlib.crc32(name.encode()) % PORTS
    login = (
        program,
        *(word for option in OPTIONS for word in ("-o", option)),
        *(("-p", str(request.port)) if request.port else ()),
    )
    keep_up = (*login, "-N", "-T", "-R", f"127.0.0.1:{there}:127.0.0.1:{DAEMON_PORT}", target)
    site = _site(request, name, there)
    if request.site:
        web = f"On {target}, add to {site.file}, and let {request.site} read it again:"
    else:
        web = f"On {target}, let the web server pass {name} on (--site caddy does it). For Caddy:"
    text = (
        f"Phones will reach yourcall at https://{name}. The web server on {target} ends the TLS.\n"
        f"  keep   {' '.join(keep_up).replace(DAEMON_PORT, str(request.daemon_port))}\n"
        f"         running, as long as yourcall runs\n"
        f"{web}\n\n{site.block}"
    )
    put, take = ((*login, target, _script(site, name, add=add)) for add in (True, False))

    def apply() -> None:
        if not programs.works((*login, target, "true")):
            raise CannotReach(f"ssh can't log in to {target} without a password. Set up a key for it first.")
        if request.site:
            programs.run(put)

    undo = (Undo(take, f"on {target}: take the site of {name} out of {site.file}"),) if request.site else ()
    return Plan(text, Way("ssh", f"https://{name}", keep_up=keep_up, undo=undo), apply, patience_s=TUNNEL_S)


def _site(request: Wish, name: str, there: int) -> Site:
    for path in (request.site_file, request.certificate, request.key):
        if path is not None and not re.fullmatch(r"/[A-Za-z0-9._/@+-]{1,300}", path):
            raise CannotReach(f"{path!r} is no whole path on the server.")
    if (request.certificate is None) != (request.key is None):
        raise CannotReach("A certificate needs its key: --certificate PATH --key PATH, both on the server.")
    address = urlsplit(f"https://{name}")
    host = address.hostname or ""
    if request.site == "nginx":
        return _nginx(request, host, address.port or 443, there)
    lines = [f"reverse_proxy 127.0.0.1:{there}"]
    lines += [f"bind {host}"] if _is_address(host) else []
    lines += [f"tls {request.certificate} {request.key}"] if request.certificate else []
    file = request.site_file or "/etc/caddy/Caddyfile"
    block = "".join(f"{line}\n" for line in (f"https://{name} {{", *(f"    {line}" for line in lines), "}"))
    how = f"--adapter caddyfile --config {shlex.quote(file)}"
    return Site(file, block, f"$run caddy validate {how}", f"$run caddy reload {how}", must_exist=True)


def _nginx(request: Wish, host: str, port: int, there: int) -> Site:
    ports = [f"{host}:{port}"] if _is_address(host) else [str(port), f"[::]:{port}"]
    listen = "".join(f"    listen {each} ssl;\n" for each in ports)
    block = (
        "server {\n"
        f"{listen}"
        f"    server_name {host};\n"
        f"    ssl_certificate {request.certificate or f'/etc/letsencrypt/live/{host}/fullchain.pem'};\n"
        f"    ssl_certificate_key {request.key or f'/etc/letsencrypt/live/{host}/privkey.pem'};\n"
        "    location / {\n"
        f"        proxy_pass http://127.0.0.1:{there};\n"
        "        proxy_http_version 1.1;\n"
        "        proxy_set_header Host $http_host;\n"
        "        proxy_set_header Upgrade $http_upgrade;\n"
        '        proxy_set_header Connection "upgrade";\n'
        "        proxy_read_timeout 1h;\n"
        "    }\n}\n"
    )
    file = request.site_file or "/etc/nginx/conf.d/yourcall.conf"
    return Site(file, block, "$run nginx -t", "$run nginx -s reload", must_exist=False)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _script(site: Site, name: str, *, add: bool) -> str:
    """What a shell on the server does: our lines out, and in again if `add`; then the web server reads the file.
    If it refuses, the file is put back."""
    begin, end = f"# yourcall {name} begin", f"# yourcall {name} end"
    ours = f"/^{begin}$/,/^{end}$/d".replace(".", r"\.")
    lines = [
        "set -eu",
        "run=; [ \"$(id -u)\" = 0 ] || run='sudo -n'",
        f"file={shlex.quote(site.file)}",
        'old=$(mktemp); new=$(mktemp); trap \'rm -f "$old" "$new"\' EXIT',
        'if [ -f "$file" ]; then $run cat "$file" >"$old"; fi',
        f'sed {shlex.quote(ours)} "$old" >"$new"',
    ]
    if site.must_exist:
        lines.append('[ -f "$file" ] || { echo "there is no $file" >&2; exit 1; }')
        lines.append('put() { $run tee "$file" <"$1" >/dev/null; }')
    else:
        lines.append(
            'put() { if [ -s "$1" ]; then $run tee "$file" <"$1" >/dev/null; else $run rm -f "$file"; fi; }'
        )
    if add:
        lines.append('[ -z "$(tail -c 1 "$new")" ] || echo >>"$new"')
        lines.append(f"cat >>\"$new\" <<'end of yourcall'\n{begin}\n{site.block}{end}\nend of yourcall")
    lines += [
        'put "$new"',
        f"if {site.check} && {site.reload}; then exit 0; fi",
        'put "$old"',
        "exit 1",
    ]
    return "\n".join(lines) + "\n"
