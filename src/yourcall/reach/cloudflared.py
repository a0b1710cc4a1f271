"""From anywhere, by a named tunnel of Cloudflare's, which ends the TLS.

Rule: what was made is taken back when the next step fails, and by `undo`. cloudflared can't remove a DNS record,
so that one is named instead.
"""

from __future__ import annotations

from yourcall.reach import plan as programs
from yourcall.reach.plan import TUNNEL_S, CannotReach, Plan, Wish
from yourcall.reach.way import DAEMON_PORT, Undo, Way
from yourcall.system import private_files

TUNNEL = "yourcall"


def plan(request: Wish) -> Plan:
    program = programs.needed("cloudflared", "Install cloudflared, and log in with: cloudflared tunnel login")
    if request.name is None:
        raise CannotReach(
            "cloudflared needs a name of yours: --name desk.example.net. (The addresses of quick tunnels change at"
            " every start, which breaks an app on the home screen, so yourcall does not use them.)"
        )
    name = request.name
    create, route = (program, "tunnel", "create", TUNNEL), (program, "tunnel", "route", "dns", TUNNEL, name)
    delete = (program, "tunnel", "delete", TUNNEL)
    is_new = TUNNEL not in programs.output((program, "tunnel", "list")).split()
    config = request.home / "cloudflared.yml"
    ours = ("--config", str(config), "--no-autoupdate")
    keep_up = (program, "tunnel", *ours, "run", "--url", f"http://127.0.0.1:{DAEMON_PORT}", TUNNEL)
    text = (
        f"Anybody will find the locked door at https://{name}. Cloudflare ends the TLS and can read along.\n"
        + (f"  run    {' '.join(create)}\n" if is_new else "")
        + f"  run    {' '.join(route)}\n"
        f"  write  {config}\n"
        f"  keep   {' '.join(keep_up).replace(DAEMON_PORT, str(request.daemon_port))}\n"
        f"         running, as long as yourcall runs"
    )

    def apply() -> None:
        if is_new:
            programs.run(create)
        try:
            programs.run(route)
        except CannotReach as reason:
            if is_new and not programs.works(delete):
                raise CannotReach(f"{reason} The tunnel was made; remove it with: {' '.join(delete)}") from reason
            raise
        request.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file of ours, so that the person's own config.yml does not send our name elsewhere.
        private_files.write(config, b"no-autoupdate: true\n")

    undo = (*((Undo(delete),) if is_new else ()), Undo(("rm", "-f", str(config))))
    stays = f"The DNS record of {name} stays in your Cloudflare account; remove it in its dashboard."
    way = Way("cloudflared", f"https://{name}", keep_up=keep_up, undo=undo, stays=stays)
    return Plan(text, way, apply, patience_s=TUNNEL_S)
