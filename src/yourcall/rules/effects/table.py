"""The programs whose effects are known, as data; everything else is `unknown`.

Rule: a program stands here only if, with any arguments but the ones named beside it, it does nothing else. An
option counts also when it is shortened (`--outp`) or clustered (`-ro`).
"""

from __future__ import annotations

from yourcall.rules.effects.parts import Effect


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nobody minds these: they compute, compare or say something.
NEUTRAL = words("true false : echo sleep seq basename dirname expr factor")
# And these, with numbers only: `jobs -x` runs a command, and to zsh `exit` calculates, which can run one too.
NUMBERED = words("exit return break continue wait jobs")

# Programs that read the files they are told; with which options, `options` says.
READERS = words(
    "cat tac nl head tail wc cut paste tr rev fold fmt expand unexpand column comm join diff "
    "cmp ls dir vdir stat du df pwd realpath readlink md5sum sha1sum sha224sum sha256sum "
    "sha384sum sha512sum b2sum cksum sum od hexdump strings base32 base64 grep egrep fgrep "
    "uname whoami id groups uptime nproc which whereis type tty cal free getconf locale "
    "ps pgrep numfmt pr tsort clear tput hexyl ncal users who w logname dircolors test "
    "lscpu lsblk pstree arch date file sort shuf rg ag fd fdfind tree yq jq lsof less more tokei scc"
)
# Of these, every word that is no option is a file, or for the first one a pattern: files that were found are read.
TAKES_FOUND = words(
    "cat tac nl head tail wc cut rev fold expand unexpand paste ls stat du realpath readlink md5sum sha1sum "
    "sha224sum "
    "sha256sum sha384sum sha512sum b2sum cksum sum od hexdump strings grep egrep fgrep rg file sort"
)
# They print what is packed, if they are told to.
UNPACKERS = words("zcat gzcat bzcat xzcat zstdcat lz4cat gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd")
# With these they follow every link that lies below a folder, wherever it leads.
FOLLOWERS: dict[str, str] = {
    **dict.fromkeys(words("grep egrep fgrep"), "-R -S --dereference-recursive"),
    "rg": "-L --follow",
    "ag": "-f --follow",
    **dict.fromkeys(words("fd fdfind"), "-L --follow"),
    "tree": "-l",
    "ls": "-L --dereference",
    "du": "-L --dereference",
    "diff": "-r --recursive",
}
# `+` in front of an argument gives a pager a command to run.
NO_PLUS = frozenset({"less", "more"})
# With a second file they write it.
ONE_FILE = frozenset({"uniq", "xxd"})

# Every path they name is written.
WRITERS = words("mkdir touch tee truncate cp mv mkfifo split csplit chmod ln install mktemp")
DELETERS = frozenset({"rm", "rmdir", "unlink", "shred", "trash", "trash-put"})

# What they do whatever they are told.
ALWAYS: dict[str, frozenset[Effect]] = {
    **dict.fromkeys(
        words(
        "sudo doas su pkexec runuser chroot mount umount systemctl service useradd userdel "
        "usermod groupadd passwd chpasswd visudo iptables ip6tables nft ufw sysctl modprobe "
        "insmod rmmod setcap crontab at batch launchctl reboot shutdown halt poweroff mkfs fdisk "
        "parted nsenter unshare chown chgrp setfacl swapon losetup hostnamectl timedatectl "
        "loginctl dpkg-reconfigure update-alternatives security defaults csrutil spctl kextload "
        "dscl setenforce auditctl capsh newgrp sg"
    ),
        frozenset[Effect]({"privilege", "unknown"}),
    ),
    **dict.fromkeys(
        words(
        "ssh scp sftp ftp telnet nc ncat netcat socat rsync mosh aws gcloud az kubectl helm "
        "terraform heroku fly flyctl vercel netlify wrangler firebase doctl ansible "
        "ansible-playbook docker podman nmap gsutil rclone s3cmd mc psql mysql mongosh redis-cli "
        "openssl xh http https aria2c yt-dlp lynx w3m links elinks websocat grpcurl"
    ),
        frozenset[Effect]({"network", "unknown"}),
    ),
    **dict.fromkeys(
        words(
        "npx bunx uvx pipx corepack apt apt-get aptitude dpkg rpm dnf yum pacman apk snap flatpak "
        "brew port easy_install nix-env nix mise asdf nvm rustup sdkmanager conda mamba gem "
        "bundle composer"
    ),
        frozenset[Effect]({"install", "network", "unknown"}),
    ),
    **dict.fromkeys(words("printenv pass"), frozenset[Effect]({"secrets"})),
    # `op run`, `sops exec-env`, `compgen -C` run what they are told; others write, or load a library.
    **dict.fromkeys(words("compgen op bw vault sops gpg gpg2 ssh-add ssh-keygen keyring"),
                    frozenset[Effect]({"secrets", "unknown"})),
}  # fmt: skip

# Package managers: what installs; everything else they do runs somebody's scripts.
PACKAGES: dict[str, frozenset[str]] = {
    "npm": words("install i add ci update upgrade exec x init create uninstall remove link rebuild"),
    "pnpm": words("install i add update up dlx exec create remove rebuild link"),
    "yarn": words("install add upgrade up dlx create remove link"),
    "bun": words("install i add update x create remove link"),
    "pip": frozenset(["install", "uninstall", "download", "wheel"]),
    "pip3": frozenset(["install", "uninstall", "download", "wheel"]),
    "uv": words("add sync pip tool run lock python"),
    "poetry": frozenset(["install", "add", "update", "remove", "self"]),
    "pdm": frozenset(["install", "add", "update", "sync", "remove"]),
    "cargo": frozenset(["install", "add", "update", "fetch", "uninstall"]),
    "go": frozenset(["install", "get", "mod"]),
    "deno": frozenset(["install", "add", "cache"]),
}

# These run what they have got.
RUNNING_VERBS = words("exec x dlx create init tool run link self python")
# How something is installed, and nothing about what or where.
INSTALL_OPTIONS = words(
    "-D -E -O -P -S -U -q -y -v -r -c -e --save --save-dev --save-exact --save-optional --save-peer --no-save "
    "--dev --yes --quiet --silent --verbose --frozen-lockfile --no-frozen-lockfile --immutable --no-audit "
    "--no-fund --legacy-peer-deps --prefer-offline --offline --ignore-scripts --production --omit --include "
    "--no-optional --upgrade --requirement --constraint --editable --no-cache-dir --no-deps --pre --group "
    "--extra --all-extras --locked --frozen --no-dev --features --all-features --release --no-input "
    "--no-progress --disable-pip-version-check"
)

# Asked only for their version or their options, these say them; each in its own words: `bash -v` runs what it
# reads, `node version` a file of that name, `pytest -v` the tests.
_ASKED_LONG = words(
    "python python3 node ruby perl php java javac cargo rustc npm pnpm yarn bun deno pip pip3 uv poetry make "
    "gcc "
    "clang cmake git docker kubectl terraform gh bash zsh curl wget jq rg fd tsc eslint prettier ruff mypy "
    "black "
    "isort gradle mvn dotnet swift"
)
VERSION_WORDS: dict[str, frozenset[str]] = {
    "--version": _ASKED_LONG,  # not pytest: up to 8 it runs the project's conftest.py first
    "--help": _ASKED_LONG,
    "-V": words("python python3 pip pip3 curl wget rg fd rustc cargo uv ruff mypy tmux"),
    "-v": words("node npm pnpm yarn bun gcc clang perl ruby php make tsc eslint git"),
    "version": words("go cargo git gh terraform"),
}
# Files of a project that choose which program answers even then: a jar to load, a release to fetch, a toolchain.
CHOSEN_BY: dict[str, tuple[str, ...]] = {
    "mvn": (".mvn",),
    "gradle": ("gradle.properties", "gradle", "settings.gradle", "settings.gradle.kts"),
    "yarn": (".yarnrc", ".yarnrc.yml", ".npmrc", "package.json#packageManager"),
    "pnpm": (".npmrc", "pnpm-workspace.yaml", "package.json#packageManager"),
    "npm": (".npmrc", "package.json#packageManager"),
    "cargo": ("rust-toolchain", "rust-toolchain.toml"),
    "rustc": ("rust-toolchain", "rust-toolchain.toml"),
    "dotnet": ("global.json",),
    "poetry": ("pyproject.toml", "poetry.toml"),
    "terraform": (".terraform-version", ".terraform"),
    "swift": (".swift-version",),
    "go": ("go.mod#toolchain", "go.work#toolchain"),
    # Some releases of version managers follow a path in these.
    **dict.fromkeys(("python", "python3", "pip", "pip3"), (".python-version#/",)),
    "ruby": (".ruby-version#/",),
    "node": (".node-version#/", ".nvmrc#/"),
}
# Version managers that stand in for any of them.
CHOSEN = (".tool-versions", "mise.toml", ".mise.toml", ".mise", ".config/mise.toml")

# Their words are things to do, one after the other: a rule for one of them is not one for the next.
TARGETED = words(
    "make gmake just task go-task gradle gradlew ./gradlew mvn mvnw ./mvnw ninja rake ant invoke inv nox "
    "doit bazel bazelisk "
    "buck buck2 gulp grunt mage sbt mill scons waf meson turbo nx lerna moon earthly fastlane poe lein rails "
    "hatch pants "
    "run-s run-p npm-run-all cake jake psake nuke dagger melos tox"
)

# Programs that run a project's own checks: options that only say how, and those that have a value beside them.
HOW: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "pytest": (
        words(
            "-q -qq -v -vv -vvv -x -s -l -ra -rA --lf --ff --sw --last-failed --failed-first --exitfirst "
            "--no-header --no-summary --verbose --quiet --collect-only --co --stepwise"
        ),
        words("-k -m -n --maxfail --tb --durations --timeout --color"),
    ),
    "make": (words("-k -s -B -n --silent --dry-run --keep-going --always-make"), words("-j --jobs")),
    "cargo": (
        words(
            "-q -v --quiet --verbose --release --all --workspace --all-targets --all-features --no-fail-fast "
            "--lib --bins --tests --doc --locked --offline --no-run"
        ),
        words("-p -j --package --test --bin --features --jobs"),
    ),
    "go": (words("-v -race -short -cover -failfast"), words("-run -count -timeout -parallel -bench")),
    **dict.fromkeys(
        words("npm pnpm yarn bun"), (words("-s --silent --if-present --workspaces"), words("-w --workspace"))
    ),
    "tsc": (words("--noEmit --pretty --skipLibCheck --strict"), frozenset()),
}

# Variables that change only how a program looks or talks.
HARMLESS_VARIABLES = words(
    "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI TERM COLUMNS LINES "
    "NODE_ENV RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE "
    "GIT_TERMINAL_PROMPT DEBIAN_FRONTEND"
)
# Agents say `GIT_PAGER=cat`, and any other value is a program that runs.
PAGERS = words("PAGER GIT_PAGER MANPAGER GH_PAGER")
# Small letters, and still read by programs or by zsh.
TIED = words(
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy path fpath cdpath manpath mailpath "
    "module_path prompt psvar watch status signals histchars argv pipestatus fignore dirstack aliases "
    "galiases saliases "
    "functions commands options parameters modules nameddirs userdirs auto_resume zsh_eval_context match "
    "mbegin mend reply history historywords jobtexts jobdirs jobstates builtins reswords widgets mapfile "
    "termcap terminfo errnos sysparams zsh_scheduled_events region_highlight"
)

# Programs that run what follows them: their options without a value, and those that take one. Any other option
# could swallow the name of what really runs.
WRAPPERS: dict[str, tuple[str, str]] = {
    "nohup": ("", ""),
    "setsid": ("-w -f -c --wait --fork --ctty", ""),
    "nice": ("", "-n --adjustment"),
    "ionice": ("-t", "-c -n --class --classdata"),
    "stdbuf": ("", "-i -o -e --input --output --error"),
    "timeout": ("--preserve-status --foreground -v --verbose", "-s -k --signal --kill-after"),
    "time": ("-p", ""),
    "command": ("-p", ""),
    "exec": ("-c -l", ""),  # not -a: of many programs in one file (busybox, uutils) that name chooses another
    "sudo": ("-n -E -H -k -S -b -A --non-interactive --preserve-env", "-u -g -p --user --group --prompt"),
    "doas": ("-n", "-u"),
    "xargs": ("", ""),  # it has rules of its own: rules/effects/piping.py
    "caffeinate": ("-d -i -m -s -u", "-t -w"),
    "busybox": ("", ""),
}
# What busybox does as the programs of these names do. Its others have options of their own: its `grep -r` follows
# every link below a folder, and what its `sed`, `awk`, `find` and `xargs` know differs by how it was built.
BUSYBOX = words(
    "cat head tail wc cut tr rev nl fold paste tac sort md5sum sha1sum sha256sum sha512sum cksum echo true "
    "false sleep seq basename dirname pwd uname whoami id ls stat du df realpath readlink cmp od sh ash rm "
    "mkdir touch"
)
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})
