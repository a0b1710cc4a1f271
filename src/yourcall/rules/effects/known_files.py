r"""Files known by name: those that hold secrets, those that are obeyed, and the code that a project builds on.

Rule: a name counts in any folder, in capitals or not. For secrets the names are the second line of defence; the
first is that reading outside of the project is an effect of its own (`read_outside`).

The tables are regular expressions, one per word, in small letters; `\s` is a blank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

# No system opens a path that is longer.
LONGEST = 4_096


def _any_of(table: str) -> str:
    return "(?:" + "|".join(table.split()) + ")"


# --- secrets ------------------------------------------------------------------------------------------------

# `secrets.md` is documentation, `credentials.go` is code, `.env.example` is a sample.
_ABOUT = r"(?!\.(?:mdx?|rst|adoc|html?|tsx?|pyi|go|rs|java)$)"
_SAMPLE = r"(?!(?:\.[^/]*)?\.(?:example|sample|template|dist)$)"
_STAGE = (
    r"(?:prod(?:uction)?|dev(?:elopment)?|local|live|stag(?:e|ing)|test|ci|qa|docker|private|secrets?|backup|bak)"
)

# Files that hold keys, passwords, tokens, or what was said to somebody else, whatever folder they are in.
_SECRET_FILES = _any_of(
    rf"""
    \.env{_SAMPLE}(?:\.[^/]*)? \.env[-_]{_STAGE}(?:\.[^/]*)?
    [^/]+\.env \.flaskenv \.envrc \.dev\.vars environ \.?secrets?{_ABOUT}(?:\.[^/]*)?
    [^/]*\.secrets (?:chap|pap)-secrets secret_(?:settings|key)[^/]*\.(?:py|rb|txt|json)
    (?:aws_|gcloud_|\.)?credentials{_ABOUT}(?:\.[^/]*)? [^/]*[-_]credentials?\.(?:json|ya?ml|toml|txt|csv)
    [^/]*\.credentials \.[a-z]*credentials wp-config\.php local\.settings\.json
    appsettings\.(?:prod|production|live|staging|secrets?)\.json

    [^/]*id_(?:rsa|dsa|ecdsa|ed25519)[^/]* ssh_host_[a-z0-9]+_key (?:[^/]*[-_])?deploy_key
    (?:[^/]*[-_])?age[-_]?keys?\.txt
    [^/]*\.(?:pem|key|p8|p12|pfx|ppk|jks|bks|keystore|kdbx?|gpg|pgp|age|keyring|keychain|keychain-db|kwl|keytab)
    (?:access|auth|api)[-_]?token \.token \.bw krb5cc[^/]*

    [^/]*service[-_]?account[^/]*\.json client_secret[^/]*\.json [^/]*gcp[-_]?(?:key|cred)[^/]*\.json
    [^/]*firebase-adminsdk[^/]*\.json azureauth\.json accesstokens\.json msal_token_cache[^/]*
    (?:[^/]*_)?(?:rootkey|accesskeys)\.csv (?:[^/]*[-_.])?kubeconfig(?:\.ya?ml)? \.dockercfg \.dockerconfigjson
    [^/]*\.tfstate(?:\.backup)? [^/]*\.tfvars(?:\.json)? \.terraformrc terraform\.rc \.vault-token
    \.?vault[-_]pass(?:word)?(?:[-_.][^/]*)? rclone\.conf \.s3cfg \.boto \.databrickscfg kaggle\.json \.sentryclirc

    \.npmrc \.pypirc pip\.conf auth\.(?:json|toml) \.git-credentials _?\.?netrc \.htpasswd \.pgpass
    \.my(?:login)?\.cnf \.curlrc \.wgetrc \.msmtprc \.fetchmailrc \.offlineimaprc \.mbsyncrc \.getmailrc
    \.smbcred[^/]* [^/]*\.ovpn wg[-_]?[a-z0-9_-]*\.conf [^/]*\.nmconnection

    (?:[^/]*[-_])?(?:passwords?|passwd)\.(?:csv|txt|xlsx?|ods|json)
    (?:bitwarden|lastpass|1password|dashlane)_export[^/]* [^/]*\.1pux wallet\.dat [^/]*\.wallet
    [^/]*-keypair\.json utc--[^/]* [^/]*\.keys seed\.seco default_wallet

    logins(?:-backup)?\.json key[34]\.db cookies\.(?:binarycookies|sqlite) login\sdata[^/]* web\sdata
    \.[a-z._]*history(?:\.md)? fish_history \.lesshst \.viminfo
    g?shadow-? sudoers \.xauthority \.iceauthority oauth_creds\.json \.claude\.json
    """
)

# Folders whose every file is secret, whatever folder they are in.
_SECRET_FOLDERS = _any_of(
    r"""
    \.ssh \.aws \.oci \.snowflake \.gnupg \.kube \.azure \.password-store \.mozilla \.vault keychains? keyrings
    \.supabase \.railway \.wrangler \.cloudflared \.snowsql \.thunderbird \.zsh_sessions \.minikube sudoers\.d
    \.ethereum \.bitcoin \.litecoin \.dogecoin \.electrum \.bitmonero \.near-credentials \.foundry/keystores
    \.brownie/accounts \.cardano \.tsh \.purple \.irssi \.mutt \.weechat \.vnc \.kaggle \.openai \.terraform\.d
    \.pulumi \.copilot \.pki \.huggingface tdata telegramdesktop kwalletd terraform\.tfstate\.d
    """
)

# Programs that keep secrets in a folder of their own among the user's settings.
_SETTINGS = _any_of(
    r"\.config \.local/share \.local/state application\ssupport \.var/app/[^/]+/(?:config|data) snap/[^/]+/[^/]+"
)
_SECRET_PROGRAMS = _any_of(
    r"""
    gh gcloud op sops hub rclone stripe doctl configstore anthropic openai containers github-copilot glab-cli
    ngrok argocd hcloud scw linode-cli helm netlify \.wrangler heroku fly vercel com\.vercel\.cli wandb pypoetry
    pnpm/rc git/credentials nix/nix\.conf io\.datasette\.llm/keys\.json goose
    (?:code[^/]*|cursor|windsurf)/user/globalstorage google-chrome[^/]* google/chrome[^/]* chromium bravesoftware
    microsoft-edge[^/]* microsoft\sedge[^/]* vivaldi opera[^/]* com\.operasoftware\.[^/]* arc firefox librewolf
    waterfox mozilla thunderbird evolution geary aerc slack discord[^/]* signal telegram[^/]* element riot
    whatsapp[^/]* skype[^/]* zoom[^/]* session gajim weechat teams[^/]* microsoft/(?:microsoft\s)?teams[^/]*
    bitwarden[^/]* 1password[^/]* keepassxc lastpass enpass authy[^/]* proton[^/]* nordpass gopass rbw keybase
    kwalletd kwalletrc age solana exodus atomic monero[^/]* electrum ledger[^/]* filezilla remmina wireguard
    teamviewer anydesk dbeaverdata
    """
)
_SECRET_PLACES = _any_of(
    rf"""
    {_SECRET_FOLDERS} {_SETTINGS}/{_SECRET_PROGRAMS}
    (?:group\s)?containers/[^/]*(?:1password|bitwarden|signal|telegram|whatsapp|slack|keepass)[^/]*
    \.docker/config\.json \.dbt/profiles\.yml \.cache/huggingface/token library/cookies \.bundle/config
    \.nuget/nuget/nuget\.config \.m2/settings(?:-security)?\.xml \.gradle/gradle\.properties \.fly/config\.yml
    \.local/state/[^/]+/[a-z_]*history \.expo/state\.json (?:group|host)_vars/(?:.*/)?vault[^/]* monero/wallets
    ethereum/keystore \.cursor/mcp\.json
    \.(?:claude|codex|gemini|qwen)/(?:history\.jsonl|(?:projects|sessions|archived_sessions|tmp|file-history|todos)/.+)
    \.yourcall/(?!rules\.toml$).+ etc/kubernetes/[^/]*\.conf etc/rancher/k3s/k3s\.yaml etc/netplan
    etc/networkmanager/system-connections
    etc/(?:wpa_supplicant|wireguard|openvpn|ipsec\.d|letsencrypt|ssl/private|sudoers\.d)
    (?:var/)?run/(?:secrets|docker\.sock|podman/podman\.sock) run/user/\d+/(?:keyring|gnupg|containers|ssh[^/]*)
    tmp/(?:tmux-\d+|ssh-[^/]+) var/lib/(?:docker|containerd|kubelet|tailscale) var/(?:spool/)?(?:mail|cron)
    proc/[^/]+/(?:task/[^/]+/)?(?:mem|auxv) proc/kcore dev/k?mem
    dev/(?:mapper/|r?disk|dm-|mmcblk|nvme|[hsv]d[a-z]|xvd[a-z])[^/]*
    """
)
_SECRET_FILE = re.compile(_SECRET_FILES)
_SECRET_PLACE = re.compile(rf"(?:^|/){_SECRET_PLACES}(?:/.*)?$", re.DOTALL)


@lru_cache(maxsize=4096)
def secret_path(path: str) -> bool:
    """Does it hold keys, tokens, or what was said to somebody else, by its name or by its folder's?"""
    if len(path) > LONGEST:
        return True
    plain = _folded(path).rstrip("/")
    return bool(_SECRET_FILE.fullmatch(plain.rpartition("/")[2]) or _SECRET_PLACE.search(plain))


# What is a secret because of the folders around it has one of these among them.
_PLACED = _any_of(
    r"""
    \.foundry \.brownie \.config \.local \.var snap (?:group\s)?containers \.docker \.dbt \.cache library
    application\ssupport \.bundle \.nuget \.m2 \.gradle \.fly \.expo (?:group|host)_vars monero ethereum \.cursor
    \.claude \.codex \.gemini \.qwen \.yourcall etc var run tmp proc dev
    """
)
_MATTERS = re.compile(rf"(?:^|/){_PLACED}(?:/|$)")


def secrets_in(folder: str) -> Callable[[str], bool]:
    """The same for many files of one folder: by their names alone, unless the folder makes a difference."""
    plain = _folded(folder)
    if len(folder) > LONGEST - 256 or _MATTERS.search(plain) or _SECRET_PLACE.search(plain):
        return lambda name: secret_path(f"{folder}/{name}")
    return _secret_name


@lru_cache(maxsize=16_384)
def _secret_name(name: str) -> bool:
    plain = _folded(name)
    return bool(_SECRET_FILE.fullmatch(plain) or _SECRET_PLACE.search("/" + plain))


# --- files that are obeyed ------------------------------------------------------------------------------------

# Written to, these change what an agent does, or run without anybody starting them: when a folder is opened or
# entered, at a commit, where the project is built with its keys. A build's own files (Makefile, Dockerfile,
# package.json, conftest.py) are not among them: they run when somebody runs the build or the tests.
_RESERVED_NAMES = _any_of(
    r"""
    \.git \.hg \.svn \.jj \.yourcall

    claude(?:\.local)?\.md agents?(?:\.override|\.local)?\.md gemini\.md qwen\.md warp\.md crush\.md skill\.md
    [^/]*\.instructions\.md copilot-instructions\.md \.goosehints \.rules \.[a-z]+rules(?:-[a-z]+)? \.roomodes
    \.kilocodemodes \.(?:cursor|cursorindexing|cline|roo|gemini|claude|codex|qwen|kilocode|codeium|aider)ignore
    \.aiexclude \.aider[^/]* \.claude \.claude\.json \.claude-plugin \.codex \.gemini \.agents? \.cursor
    \.opencode \.qwen \.kilo(?:code)? \.kiro \.windsurf \.amazonq \.continue \.junie \.trae \.roo \.cline
    \.factory \.augment \.devin \.aiassistant \.goose \.crush \.copilot \.openhands \.rovodev \.warp \.zencoder
    \.tabnine \.cody \.augment-guidelines \.?mcp\.json \.mcp \.?(?:opencode|kilo|crush)\.jsonc?
    \.amp \.?replit\.md codex\.md \.openhands_instructions \.serena \.codeium \.sourcegraph \.qoder \.pearai
    \.void \.droid \.ruler

    \.vscode \.vs \.zed \.idea \.run \.fleet \.helix \.nvim \.vim \.nova \.settings \.bsp \.bloop \.metals
    [^/]*\.code-workspace [^/]*\.sublime-project \.ycm_extra_conf\.py \.dir-locals(?:-2)?\.el \.exrc
    \.[nlg]?vimrc \.nvim\.lua \.?pylintrc(?:\.toml)? \.flake8 \.rubocop\.ya?ml \.solargraph\.yml
    \.luarc\.jsonc? \.neoconf\.json \.lazy\.lua \.clangd \.phpactor\.(?:json|ya?ml) \.theia \.lesskey
    \.eslintrc(?:\.[a-z]+)? eslint\.config\.[a-z]+ \.prettierrc(?:\.[a-z0-9]+)? prettier\.config\.[a-z]+
    \.stylelintrc(?:\.[a-z]+)? stylelint\.config\.[a-z]+ build\.rs
    rust-analyzer\.toml hie\.yaml \.?mypy\.ini \.php-cs-fixer[^/]*\.php svelte\.config\.[a-z]+
    tailwind\.config\.[a-z]+ \.formatter\.exs

    \.husky \.huskyrc(?:\.[a-z]+)? \.lefthook \.?lefthook(?:-local)?\.(?:ya?ml|toml|json) \.git-?hooks \.hooks
    \.pre-commit-(?:config|hooks)\.ya?ml \.overcommit\.yml \.lintstagedrc(?:\.[a-z]+)? lint-staged\.config\.[a-z]+
    \.commitlintrc(?:\.[a-z]+)? commitlint\.config\.[a-z]+ \.?simple-git-hooks\.[a-z]+
    \.gitconfig \.gitmodules \.gitattributes \.lfsconfig \.hgrc \.arcconfig

    \.github \.gitlab \.gitea \.forgejo \.circleci \.buildkite \.woodpecker \.teamcity \.semaphore \.builds
    \.(?:gitlab-ci|travis|drone|woodpecker|appveyor|cirrus|build)\.ya?ml (?:azure|bitbucket)-pipelines\.ya?ml
    appveyor\.ya?ml cloudbuild\.(?:ya?ml|json) buildspec\.ya?ml jenkinsfile(?:\.[^/]*)? codemagic\.ya?ml
    bitrise\.ya?ml netlify\.toml vercel\.json

    \.devcontainer \.?devcontainer\.json \.gitpod(?:\.[^/]*)? \.idx \.codesandbox \.replit replit\.nix \.direnv
    \.envrc(?:\.[^/]*)? \.autoenv(?:\.[^/]*)? flake\.nix shell\.nix devenv\.(?:nix|ya?ml) \.mise
    \.?mise(?:\.[a-z]+)*\.toml \.tool-versions \.cargo rust-toolchain(?:\.toml)? \.mvn \.gradle
    init\.gradle(?:\.kts)? \.bazelrc [^/]*\.bazelrc \.bazeliskrc \.jvmopts \.sbtopts \.bundle \.npmrc \.yarn
    \.yarnrc(?:\.yml)? \.pnp\.[a-z.]+ \.pnpmfile\.[a-z]+ \.?bunfig\.toml sitecustomize\.py usercustomize\.py
    [^/]*\.pth pyvenv\.cfg

    \.(?:bash|zsh)[a-z_]* \.z?profile \.zlog(?:in|out) \.(?:k|c|tc|mk)shrc \.login \.inputrc \.screenrc
    \.tmux\.conf \.rprofile \.renviron \.pdbrc(?:\.py)? \.irbrc \.pryrc \.gdbinit \.lldbinit \.ghci \.iex\.exs
    \.ocamlinit \.sbclrc \.sqliterc \.psqlrc \.ripgreprc \.ackrc \.curlrc \.wgetrc
    """
)
_RESERVED_PLACES = _any_of(
    r"\.config/mise gradle/wrapper tools/bazel$ \.?venv/(?:bin|scripts)/. node_modules/\.bin/."
)
_RESERVED = re.compile(rf"(?:^|/)(?:{_RESERVED_NAMES}(?:/|$)|{_RESERVED_PLACES})")


@lru_cache(maxsize=4096)
def reserved_path(path: str) -> bool:
    """Is a path, written from the project's folder, one that agents, editors or tools obey?"""
    return len(path) > LONGEST or _RESERVED.search(_folded(path)) is not None


# --- what a project builds on ---------------------------------------------------------------------------------

# Public code and documentation outside of the project that reading it leads to. Nothing else below the home.
_SYSTEM = re.compile(
    r"/usr/(?:local/)?(?:include|share/(?:doc|man|info)|go/src|lib/(?:python3[.\d]*|node_modules|ruby|go[-.\d]*))(?:/|$)"
    r"|/opt/homebrew/(?:include|share/(?:doc|man|info))(?:/|$)"
    r"|/(?:etc|usr/lib)/os-release$|/etc/(?:lsb-release|debian_version)$"
    r"|/proc/(?:cpuinfo|meminfo|version|loadavg|uptime)$|/dev/(?:null|zero|u?random|tty|stdin|stdout|stderr|fd/[012])$"
)
_AT_HOME = re.compile(
    r"/(?:\.cargo/registry/src|go/pkg/mod/(?!cache(?:/|$))[^/]+|\.rustup/toolchains/[^/]+/lib/rustlib/src"
    r"|\.local/lib/python3[.\d]*/site-packages|\.pyenv/versions/[^/]+/lib/python3[.\d]*"
    r"|\.local/share/uv/python/[^/]+/lib/python3[.\d]*|\.nvm/versions/node/[^/]+/(?:include|lib/node_modules))(?:/|$)"
)


def is_dependency(path: str, home: str) -> bool:
    """Does a resolved path lie where the code that projects build on usually lies?"""
    if _SYSTEM.match(path):
        return True
    return bool(home) and path.startswith(home) and _AT_HOME.match(path[len(home) :]) is not None


# --- letters --------------------------------------------------------------------------------------------------


def _folded(path: str) -> str:
    """The path as a file system reads it that does not tell capitals from small letters; HFS+ also leaves out
    letters that draw nothing."""
    if not path.isascii():
        path = "".join(letter for letter in path if unicodedata.category(letter) != "Cf")
    return path.casefold()
