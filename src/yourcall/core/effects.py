"""What running a command would do, part by part, in ten classes; and where, once the edge has resolved its paths.

Rule: a part never gets fewer effects than it could have; what is not in the tables is `unknown`. Paths are
named here and resolved at the edge (`Facts`), so that a link or a `..` counts as what it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

Effect = Literal[
    "read",
    "write_inside",
    "write_outside",
    "delete",
    "network",
    "install",
    "history_rewrite",
    "secrets",
    "privilege",
    "unknown",
]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

# `sweep`: it reads everything below, too. `weed`: it deletes some of what lies below. `stand`: what it does
# depends on the folder it runs in; `repo`: and on the repository that git finds from there. `remote`: a name that
# git knows, unless there is a folder or a file of it here: that would be a repository, with programs to run.
# `merge`: a folder is written into, file by file; a link that lies in it leads on.
Use = Literal["read", "sweep", "write", "merge", "delete", "weed", "enter", "stand", "repo", "remote"]
STANDS = ("stand", "repo", "remote")
Effects = frozenset[Effect]
NOTHING: Effects = frozenset()
UNKNOWN: Effects = frozenset({"unknown"})


class Ref(Struct, frozen=True):
    """A path as a command names it, from the folder it runs in; None: it cannot be known before it runs.
    `fed`: the same command gives files to its streams, and `/dev/stderr` may be one of them by then."""

    path: str | None
    use: Use
    glob: bool = False
    fed: bool = False


class Part(Struct, frozen=True):
    """One thing that would happen. `argv`: a command's words, None where only running it tells. `paths` are the
    resolved ones, set by `settled`, and `named` the same as they are called; `razed` those that go with all that
    lies below. No effects at all: it does nothing that anybody would mind (`echo`)."""

    kind: Literal["command", "redirect", "assign", "tool"]
    text: str
    argv: tuple[str | None, ...] = ()
    effects: Effects = NOTHING
    refs: tuple[Ref, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    razed: tuple[str, ...] = ()


class Facts(Struct, frozen=True):
    """What only the edge can know: the project's folder (empty: there is none that could be meant), the user's
    home, and what the named paths lead to. A path that is not in `resolved` could not be resolved. `named`: the
    same paths from the root, with no link followed."""

    root: str = ""
    home: str = ""
    resolved: Mapping[Ref, tuple[str, ...]] = {}
    named: Mapping[Ref, tuple[str, ...]] = {}


# Names of files and folders, in any folder, that hold keys, tokens or what was said to somebody else.
_KEPT_NAMES = (
    r"\.env(?!\.(?:example|sample|template|dist)$)(?:\.[^/]*)?|[^/]+\.env|\.flaskenv|\.envrc|_?\.?netrc|\.npmrc|\.pypirc"
    r"|\.pgpass|\.my\.cnf|\.git-credentials|\.vault-token|\.htpasswd|\.dockercfg|\.s3cfg|\.boto|\.databrickscfg"
    r"|(?:aws_|gcloud_|\.)?credentials(?:\.[^/]*)?|\.?secrets?(?:\.[^/]*)?|auth\.json|kubeconfig"
    r"|service[-_]account[^/]*\.json|client_secret[^/]*\.json|wallet\.dat|[^/]*\.tfstate(?:\.backup)?"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|gpg|age|keyring)"
    r"|\.dev\.vars|pip\.conf|\.terraformrc|\.(?:ssh|aws|oci|snowflake|gnupg|kube|azure|password-store|mozilla|vault)(?:/.*)?|keychains?(?:/.*)?|keyrings(?:/.*)?"
    r"|\.[a-z_]*history|fish_history|\.lesshst|\.viminfo|\.bw|shadow-?|gshadow-?|sudoers(?:\.d/.*)?|environ"
    r"|(?:access|auth|api)[-_]?token|\.token|auth\.toml|kaggle\.json|logins\.json|cookies\.(?:binarycookies|sqlite)"
    r"|\.(?:sentryclirc|msmtprc|curlrc|wgetrc|fetchmailrc|mylogin\.cnf|xauthority|iceauthority|dockerconfigjson)"
    r"|ssh_host_[a-z0-9]+_key|krb5cc[^/]*|[^/]*\.(?:keytab|tfvars(?:\.json)?|nmconnection)|(?:chap|pap)-secrets|\.vault[-_]pass(?:word)?(?:\.[^/]*)?"
)
_KEPT_PLACES = (
    r"\.docker/config\.json|\.config/(?:gh|gcloud|op|sops|hub|rclone|stripe|doctl|configstore|anthropic|containers|github-copilot|google-chrome|chromium"
    r"|glab-cli|ngrok|argocd|hcloud|scw|linode-cli|helm|netlify|\.wrangler|BraveSoftware|microsoft-edge|vivaldi|Slack|discord|filezilla|remmina"
    r"|Code/User/globalStorage|io\.datasette\.llm/keys\.json|nix/nix\.conf)(?:/.*)?"
    r"|\.(?:supabase|railway|wrangler|cloudflared|snowsql|thunderbird|zsh_sessions|minikube)(?:/.*)?|\.dbt/profiles\.yml|\.cache/huggingface/token|Library/Cookies(?:/.*)?|\.bundle/config|\.nuget/NuGet/NuGet\.Config"
    r"|etc/(?:kubernetes/[^/]*\.conf|rancher/k3s/k3s\.yaml|wpa_supplicant/.*)"
    r"|\.(?:m2/settings(?:-security)?\.xml|gradle/gradle\.properties|huggingface/token|fly/config\.yml)"
    r"|\.(?:claude|codex|gemini)/(?:\.credentials\.json|auth\.json|oauth_creds\.json|history\.jsonl|(?:projects|sessions)/.*)"
    r"|\.claude\.json|\.yourcall/(?:yourcall\.db.*|(?:uploads|codex|acp|backups)/.*)|oauth_creds\.json|run/secrets(?:/.*)?|proc/[^/]+/(?:task/[^/]+/)?mem|proc/kcore|dev/k?mem"
    r"|dev/(?:mapper/|r?disk|dm-|mmcblk|nvme|[hsv]d[a-z]|xvd[a-z])[^/]*"
)
_SECRET = re.compile(rf"(?:^|/)(?:{_KEPT_NAMES}|{_KEPT_PLACES})$", re.IGNORECASE)

# Somewhere below these lie keys too: environments, other people's homes, what a container was given.
_KEEPS = re.compile(r"/(?:proc|root|home|Users|run)(?:/|$)")

# Written to, these run or decide something later, here or, with the project's keys, where it is built: not what
# "in the project" means to anybody.
_RESERVED = re.compile(
    r"(?:^|/)(?:\.git|\.hg|\.svn|\.yourcall|\.claude|\.codex|\.gemini|\.agents|\.cursor|\.vscode|\.zed|\.idea|\.husky|\.lefthook"
    r"|\.devcontainer|\.cargo|\.mvn|\.yarn|\.mise|\.direnv|\.git-?hooks|\.opencode|\.qwen|\.kilo(?:code)?"
    r"|\.kiro|\.windsurf|\.amazonq|\.continue|\.junie|\.trae|\.roo|\.factory|\.augment|\.fleet"
    r"|\.github|\.gitlab|\.gitea|\.forgejo|\.circleci|\.buildkite|\.woodpecker|\.teamcity|\.semaphore)(?:/|$)"
    r"|(?:^|/)(?:\.(?:gitlab-ci|travis|drone|woodpecker|appveyor|cirrus)\.ya?ml|(?:azure|bitbucket)-pipelines\.ya?ml|appveyor\.ya?ml"
    r"|cloudbuild\.(?:ya?ml|json)|buildspec\.ya?ml|Jenkinsfile)$"
    r"|(?:^|/)(?:\.envrc|\.mcp\.json|\.claude\.json|\.gitconfig|\.gitmodules|\.devcontainer\.json|\.pre-commit-config\.ya?ml"
    r"|\.?lefthook(?:-local)?\.ya?ml|\.yarnrc(?:\.yml)?|\.pnp\.[a-z.]+|\.pnpmfile\.[a-z]+|\.?bunfig\.toml|rust-toolchain(?:\.toml)?"
    r"|(?:opencode|kilo)\.jsonc?|\.tool-versions|\.?mise\.toml|\.ripgreprc|\.envrc\.local|\.overcommit\.yml|\.lintstagedrc(?:\.[a-z]+)?"
    r"|\.Rprofile|\.pdbrc|\.irbrc|\.pryrc|\.gdbinit|\.lldbinit|\.nvim\.lua|\.dir-locals\.el|\.bazelrc|\.exrc|\.n?vimrc|\.(?:bash|zsh)[a-z_]*|\.z?profile|\.zlog(?:in|out))$",
    re.IGNORECASE,
)

# A stream by name. Whoever opens it opens what the stream is: `2< file > /dev/stderr` writes the file.
STREAMS = frozenset({"/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"})
# Writing to these writes nothing.
NOWHERE = frozenset({"/dev/null", "/dev/tty", *STREAMS})

# In small letters a `$key` is somebody's loop; these are how environments spell it.
_SECRET_NAME = re.compile(
    r"(?i:TOKEN|SECRET|PASSW|API_?KEY|PRIVATE|CREDENTIAL|AUTH|ACCESS_KEY|SESSION_KEY)|KEY$|_(?:PASS|PWD|PAT|DSN)$"
    r"|PASSPHRASE|COOKIE|WEBHOOK|(?:DATABASE|DB|REDIS|MONGO\w*|POSTGRES\w*|MYSQL|AMQP)_UR[IL]$"
)


def secret_path(path: str) -> bool:
    return bool(_SECRET.search(path.rstrip("/")))


def secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


def settled(part: Part, facts: Facts) -> Part:
    """The part with what its paths add, now that it is known where they lead."""
    if not part.refs:
        return part
    effects: set[Effect] = set(part.effects)
    paths: list[str] = []
    for ref in part.refs:
        found = facts.resolved.get(ref) if ref.path is not None else None
        if found is None:
            effects |= _lost(ref.use)
            continue
        for path in found:
            effects |= _of_path(ref, path, facts)
        paths += found if ref.use not in STANDS else ()
    called = (name for ref in part.refs if ref.use not in STANDS for name in facts.named.get(ref, ()))
    uses = ("delete", "weed", "write") if part.argv[:1] == ("mv",) else ("delete", "weed")
    gone = [ref for ref in part.refs if ref.use in uses]
    return replace(
        part,
        effects=frozenset(effects),
        paths=tuple(dict.fromkeys(paths)),
        named=tuple(name for name in dict.fromkeys(called) if name not in paths),
        razed=tuple(path for ref in gone for path in (*facts.resolved.get(ref, ()), *facts.named.get(ref, ()))),
    )


def inside(path: str, root: str) -> bool:
    return bool(root) and (path == root or path.startswith(root.rstrip("/") + "/"))


def _lost(use: Use) -> set[Effect]:
    match use:
        case "read" | "sweep" | "enter":
            return {"unknown"}
        case "write" | "merge" | "stand" | "repo" | "remote":
            return {"write_outside", "unknown"}
        case "delete" | "weed":
            return {"delete", "write_outside", "unknown"}


def _of_path(ref: Ref, path: str, facts: Facts) -> set[Effect]:
    ours = inside(path, facts.root)
    secret: set[Effect] = {"secrets"} if secret_path(path) or secret_path(ref.path or "") else set()
    match ref.use:
        case "remote" | "merge":
            return set()
        case "enter":
            return set() if ours else {"unknown"}
        case "stand" | "repo":
            # Somewhere else it is another project's script that runs, and nobody has said yes to that.
            return set() if ours or not facts.root else {"write_outside", "unknown"}
        case "read":
            return {"read", *secret}
        case "sweep":
            # Below the home, but for the project, lie keys and tokens of all kinds.
            home = facts.home and not ours and (inside(path, facts.home) or inside(facts.home, path))
            kept = home or (not ours and _KEEPS.match(path))
            return {"read", *secret, "secrets"} if kept else {"read", *secret}
        case "write" if path in NOWHERE and not (ref.fed and path in STREAMS):
            return set()
        case "write" | "delete" | "weed":
            reserved = ours and _RESERVED.search(path[len(facts.root) :])
            razed = ref.use == "delete" and path == facts.root  # its .git and all
            here: set[Effect] = {"write_inside"} if ours and not reserved and not razed else {"write_outside"}
            if ref.use != "write":
                here = {"delete", *(here - {"write_inside"})}
            return here | secret
