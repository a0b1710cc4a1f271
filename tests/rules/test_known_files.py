"""Files known by name: those that hold secrets, and those that agents, editors and tools obey."""

from __future__ import annotations

import pytest
from shell_facts import facts, shell

from yourcall.model.action import Action
from yourcall.rules.effects.known_files import secrets_in
from yourcall.rules.effects.parts import secret_path
from yourcall.rules.policy import decide
from yourcall.rules.rule import RequestContext, Rule

SECRET = """
/h/.config/Signal/config.json
/h/.config/Signal/sql/db.sqlite
/h/.var/app/org.signal.Signal/config/Signal/config.json
/h/Library/Application Support/Signal/config.json
/h/.config/Bitwarden/data.json
/h/.config/Bitwarden CLI/data.json
/h/snap/bitwarden/current/.config/Bitwarden/data.json
/h/Library/Containers/com.bitwarden.desktop/Data/Library/Application Support/Bitwarden/data.json
/h/.config/1Password/settings/settings.json
/h/.config/op/config
/h/Library/Group Containers/2BUA8C4S2C.com.1password/Library/x.sqlite
/h/.config/keepassxc/keepassxc.ini
/h/Documents/passwords.kdbx
/h/Documents/Passwords.KDBX
/h/Documents/passwords.csv
/h/Documents/bitwarden_export_20250101.json
/etc/wireguard/wg0.conf
/h/wg0.conf
/h/vpn/wg-home.conf
/h/vpn/work.ovpn
/etc/openvpn/client/work.conf
/etc/ipsec.secrets
/etc/NetworkManager/system-connections/Home
/etc/netplan/50-cloud-init.yaml
/h/.config/solana/id.json
/h/.config/solana/cli/config.yml
/p/target/deploy/program-keypair.json
/h/.ethereum/keystore/UTC--2020-01-01T00-00-00.000000000Z--00000000219ab540356cbb839cbe05303d7705fa
/h/.foundry/keystores/deployer
/h/.brownie/accounts/main.json
/h/.bitcoin/wallet.dat
/h/.bitcoin/wallets/main/wallet.dat
/h/.electrum/wallets/default_wallet
/h/Monero/wallets/main/main.keys
/h/.bitmonero/bitmonero.conf
/h/.config/Exodus/exodus.wallet/seed.seco
/h/.near-credentials/mainnet/x.near.json
/h/gcp-key.json
/p/gcp_key.json
/p/keys/my-service-account.json
/p/serviceAccountKey.json
/p/firebase-adminsdk-abc12-0123456789.json
/p/config/prod-credentials.json
/h/.config/gcloud/application_default_credentials.json
/p/application_default_credentials.json
/h/.azure/msal_token_cache.json
/h/.azure/accessTokens.json
/p/azureauth.json
/p/local.settings.json
/h/.aws/credentials
/h/.aws/sso/cache/0123.json
/h/Downloads/rootkey.csv
/h/Downloads/deploy_accessKeys.csv
/h/.config/doctl/config.yaml
/h/.fly/config.yml
/h/.netrc
/h/.config/heroku/x.json
/h/.pgpass
/h/.my.cnf
/h/.mylogin.cnf
/h/.npmrc
/h/.config/pnpm/rc
/h/.pypirc
/h/.config/pypoetry/auth.toml
/h/.cargo/credentials
/h/.cargo/credentials.toml
/h/.gem/credentials
/h/.composer/auth.json
/h/.config/gh/hosts.yml
/h/.config/hub
/h/.docker/config.json
/h/.kube/config
/p/kubeconfig.yaml
/p/staging.kubeconfig
/etc/rancher/k3s/k3s.yaml
/h/.config/helm/registry/config.json
/p/infra/prod.tfvars
/p/infra/terraform.tfstate
/p/infra/terraform.tfstate.d/prod/x.tfstate
/h/.terraform.d/credentials.tfrc.json
/p/vault_password.txt
/p/.vault_pass
/p/group_vars/all/vault.yml
/h/.vault-token
/h/.config/rclone/rclone.conf
/p/rclone.conf
/h/.s3cfg
/h/.git-credentials
/h/.config/git/credentials
/h/.local/share/keyrings/login.keyring
/h/.local/share/kwalletd/kdewallet.kwl
/h/.config/google-chrome/Default/Login Data
/h/.config/google-chrome/Default/Cookies
/h/Library/Application Support/Google/Chrome/Default/Login Data
/h/.config/BraveSoftware/Brave-Browser/Default/Web Data
/h/snap/chromium/common/chromium/Default/Login Data
/h/.mozilla/firefox/x.default/cookies.sqlite
/h/snap/firefox/common/.mozilla/firefox/x.default/key4.db
/h/Library/Application Support/Firefox/Profiles/x/logins.json
/h/.thunderbird/x.default/prefs.js
/h/.local/share/TelegramDesktop/tdata/key_datas
/h/.config/Slack/Local Storage/leveldb/000005.ldb
/h/Library/Application Support/Slack/storage/root-state.json
/h/.config/discord/Local Storage/leveldb/000005.ldb
/h/.config/Microsoft/Microsoft Teams/Cookies
/h/.config/teams-for-linux/Cookies
/h/.config/Element/IndexedDB/x
/h/.bash_history
/h/.zsh_history
/h/.psql_history
/h/.python_history
/h/.node_repl_history
/h/.local/share/fish/fish_history
/h/.local/state/bash/history
/etc/ssh/ssh_host_ed25519_key
/etc/shadow
/etc/shadow-
/etc/sudoers
/etc/krb5.keytab
/etc/ssl/private/ssl-cert-snakeoil.key
/etc/letsencrypt/live/example.com/privkey.pem
/p/server.pem
/p/server.key
/p/cert.p12
/p/cert.pfx
/p/release.jks
/p/upload.keystore
/p/AuthKey_ABC123.p8
/p/putty.ppk
/h/.config/sops/age/keys.txt
/p/key.txt.age
/p/age-key.txt
/h/.gnupg/private-keys-v1.d/x.key
/h/.password-store/mail.gpg
/p/.env
/p/.env.local
/p/.env.production
/p/.ENV
/p/.Env.Local
/p/prod.env
/p/.envrc
/p/config/master.key
/p/config/credentials.yml.enc
/p/config/credentials/production.key
/p/config/secrets.yml
/p/app/secret_settings.py
/p/app/secrets.json
/p/wp-config.php
/p/appsettings.Production.json
/p/.streamlit/secrets.toml
/h/.claude/.credentials.json
/h/.claude.json
/h/.claude/projects/-p/x.jsonl
/h/.codex/auth.json
/h/.codex/sessions/2026/01/01/rollout.jsonl
/h/.gemini/oauth_creds.json
/h/.gemini/tmp/x/chats/session.json
/h/.local/share/opencode/auth.json
/h/.config/github-copilot/apps.json
/h/.copilot/config.json
/h/.qwen/oauth_creds.json
/h/.cursor/mcp.json
/h/.aider.chat.history.md
/h/.config/goose/secrets.yaml
/h/.yourcall/yourcall.db
/h/.yourcall/secrets.toml
/h/.yourcall/config.toml
/h/.yourcall/daemon.json
/h/.yourcall/api.sock
/h/Library/Keychains/login.keychain-db
/proc/1/environ
/proc/self/environ
/proc/1234/task/1/environ
/proc/1/mem
/proc/self/auxv
/tmp/tmux-1000/default
/tmp/ssh-XXXXabc/agent.123
/run/user/1000/keyring/ssh
/run/secrets/db
/var/run/docker.sock
/var/lib/docker/volumes/x
/h/.vnc/passwd
/h/.config/remmina/x.remmina
/h/.config/filezilla/sitemanager.xml
/h/.local/share/remmina/x.remmina
/h/.m2/settings.xml
/h/.gradle/gradle.properties
/h/.huggingface/token
/h/.cache/huggingface/token
/h/.config/wandb/settings
/h/.kaggle/kaggle.json
/h/.openai/auth.json
/h/.config/openai/key
/h/.expo/state.json
/h/.config/configstore/firebase-tools.json
/h/.vercel/auth.json
/h/.local/share/com.vercel.cli/auth.json
/h/.terraformrc
/h/.pulumi/credentials.json
/h/.config/hcloud/cli.toml
/h/.ansible/vault_pass.txt
/h/.purple/accounts.xml
/h/.weechat/sec.conf
/h/.config/weechat/sec.conf
/h/.irssi/config
/h/.mutt/muttrc
/h/.msmtprc
/h/.offlineimaprc
/h/.mbsyncrc
/h/.smbcredentials
/etc/samba/credentials
/etc/fstab.credentials
/h/.tsh/keys/x
/h/.local/share/containers/auth.json
/run/user/1000/containers/auth.json
/p/id_rsa
/p/deploy_key
/p/ci_id_ed25519
/p/secrets.tar.gz.gpg
/p/backup.sql.gpg
"""

ORDINARY = """
/p/README.md
/p/src/main.py
/p/src/keyboard.py
/p/src/keys.ts
/p/src/key.py
/p/src/monkey.json
/p/src/tokens.ts
/p/src/token.rs
/p/src/tokenizer.json
/p/tests/test_tokens.py
/p/tests/test_secrets.py
/p/docs/secrets.md
/p/docs/credentials.rst
/p/docs/explanation/secrets/README.md
/p/src/secrets.ts
/p/src/credentials.go
/p/src/environment.ts
/p/src/environments/environment.prod.ts
/p/src/env.py
/p/environment.yml
/p/.env.example
/p/.env.sample
/p/.env.template
/p/.env.dist
/p/.env.test.example
/p/src/auth/login.ts
/p/src/auth.py
/p/src/wallet.ts
/p/src/history.ts
/p/CHANGELOG.md
/p/docs/history.md
/p/src/passwords.py
/p/src/password_reset.html
/p/src/signal.py
/p/src/Signal.swift
/p/src/signal/config.json
/p/packages/discord/index.ts
/p/packages/slack/src/index.ts
/p/src/cookies.ts
/p/src/Cookies.tsx
/p/package.json
/p/package-lock.json
/p/pyproject.toml
/p/tsconfig.json
/p/Cargo.toml
/p/go.mod
/p/config.json
/p/config/settings.yml
/p/config/database.yml.example
/p/appsettings.json
/p/data.json
/p/id.json
/p/src/id.ts
/p/nginx.conf
/p/.gitignore
/p/.editorconfig
/p/.eslintrc.json
/p/docker-compose.yml
/p/Dockerfile
/p/.github/workflows/ci.yml
/p/CLAUDE.md
/p/AGENTS.md
/p/.claude/settings.json
/p/.codex/config.toml
/p/.gemini/settings.json
/p/.vscode/settings.json
/p/keymap.json
/p/public.key.md
/p/certs/README.md
/p/schema.sql
/p/main.tf
/p/variables.tf
/p/terraform.tfvars.example
/p/node_modules/dotenv/lib/main.js
/p/.venv/lib/python3.12/site-packages/secrets.pyi
/p/target/debug/app
/p/src/vault.ts
/p/src/keystore.ts
/p/src/keystore/index.ts
/p/assets/keyboard.key.svg
/p/.yourcall/rules.toml
/p/src/shadow.css
/p/src/shadow/index.ts
/usr/include/stdio.h
/etc/os-release
/etc/ssh/ssh_config
"""


def test_the_tables_are_large() -> None:
    assert len(_lines(SECRET)) == len(set(_lines(SECRET))) >= 80
    assert len(_ordinary()) == len(set(_ordinary())) >= 40


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def _ordinary() -> list[str]:
    return _lines(ORDINARY)


@pytest.mark.parametrize("path", _lines(SECRET))
def test_a_file_that_people_keep_secrets_in_is_known(path: str) -> None:
    assert secret_path(path)
    assert secret_path(path.upper())
    assert secret_path(path.lower())


@pytest.mark.parametrize("path", _ordinary())
def test_an_ordinary_file_is_not_called_secret(path: str) -> None:
    assert not secret_path(path)


# --- files that agents obey, or that editors and tools run ---------------------------------------------------

RESERVED = _lines(
    """
CLAUDE.md
CLAUDE.local.md
AGENTS.md
AGENTS.override.md
AGENTS.local.md
AGENT.md
GEMINI.md
QWEN.md
WARP.md
CRUSH.md
SKILL.md
.goosehints
.cursorrules
.cursorignore
.cursor/rules/x.mdc
.windsurfrules
.windsurf/rules/x.md
.devin/rules/x.md
.clinerules
.clinerules/x.md
.roorules
.roorules-code
.roomodes
.roo/rules/x.md
.aider.conf.yml
.aiderignore
.geminiignore
.aiexclude
.rules
.aiassistant/rules/x.md
.github/copilot-instructions.md
.github/instructions/x.instructions.md
docs/copilot-instructions.md
docs/x.instructions.md
.github/workflows/ci.yml
.bsp/sbt.json
.bloop/x.json
shop.code-workspace
shop.sublime-project
.vscode/tasks.json
.vs/launch.vs.json
.idea/workspace.xml
.zed/settings.json
.fleet/run.json
.helix/languages.toml
.nvim/x.lua
.pylintrc
pylintrc
.flake8
.eslintrc.json
.eslintrc.cjs
eslint.config.mjs
.prettierrc
prettier.config.js
.stylelintrc.json
.rubocop.yml
.ycm_extra_conf.py
.mcp.json
.claude/settings.json
.claude/skills/x/SKILL.md
.claude-plugin/plugin.json
.codex/config.toml
.gemini/settings.json
.agents/skills/x/SKILL.md
.opencode/x
opencode.json
opencode.jsonc
crush.json
.kilocode/rules/x.md
.kilocodemodes
.envrc
.tool-versions
mise.toml
mise.local.toml
.mise.toml
.mise.local.toml
.config/mise/config.toml
flake.nix
shell.nix
devenv.nix
.npmrc
.yarnrc
.yarnrc.yml
.pnpmfile.cjs
.pnpmfile.mjs
bunfig.toml
.pre-commit-config.yaml
.pre-commit-hooks.yaml
.husky/pre-commit
.huskyrc.json
.githooks/pre-commit
.git/config
.git/hooks/post-checkout
.gitattributes
.gitmodules
.gitconfig
.lfsconfig
lefthook.yml
lefthook.toml
lefthook-local.yml
.lefthook/x
.lintstagedrc.json
lint-staged.config.js
commitlint.config.js
.gitlab-ci.yml
.gitlab/ci/x.yml
Jenkinsfile
Jenkinsfile.deploy
azure-pipelines.yml
.build.yml
.builds/x.yml
netlify.toml
vercel.json
.devcontainer/devcontainer.json
.devcontainer.json
devcontainer.json
.gitpod.yml
.idx/dev.nix
.replit
sitecustomize.py
usercustomize.py
src/evil.pth
.venv/lib/python3.12/site-packages/evil.pth
.venv/bin/python
venv/bin/activate
.venv/pyvenv.cfg
node_modules/.bin/tsc
.mvn/jvm.config
init.gradle
init.gradle.kts
gradle/wrapper/gradle-wrapper.properties
.cargo/config.toml
rust-toolchain
rust-toolchain.toml
build.rs
.bazelrc
.bazeliskrc
tools/bazel
.exrc
.vimrc
.nvimrc
.lvimrc
.nvim.lua
.dir-locals.el
.dir-locals-2.el
.gdbinit
.ghci
.iex.exs
.ackrc
.ripgreprc
.bashrc
.profile
.jvmopts
.yourcall/rules.toml
"""
)
WRITABLE = _lines(
    """
README.md
docs/claude.txt
docs/agents.rst
docs/how-to/use-agents.md
src/agents.py
src/claude/index.ts
src/gemini.ts
src/main.py
src/build.py
build.sh
Makefile
Dockerfile
docker-compose.yml
package.json
pyproject.toml
tsconfig.json
setup.py
Cargo.toml
tests/conftest.py
conftest.py
.editorconfig
.gitignore
.dockerignore
.prettierignore
.eslintignore
.nvmrc
.python-version
src/rules.ts
src/config.toml
src/settings.json
src/git/index.ts
git/config
vscode/settings.json
src/workspace.code
src/husky.ts
public/.well-known/x
src/mise.py
gradle/libs.versions.toml
tools/bazel.md
src/path.pth.py
docs/instructions.md
.storybook/main.ts
.changeset/x.md
.next/x
.cache/x
vite.config.ts
src/app.idea
"""
)

GENEROUS = (
    Rule("reading", "allow", effect=("read",)),
    Rule("writing", "allow", effect=("read", "write_inside")),
    Rule("edits", "allow", tool=("Write", "Edit", "apply_patch")),
    Rule("deleting", "allow", effect=("read", "write_inside", "delete")),
)
SCENE = RequestContext(agent="claude", root="/p", home="/h")


def ruled(asked: Action, *rules: Rule) -> str:
    return decide(rules or GENEROUS, asked, facts(asked), SCENE).do


def writes(path: str) -> list[Action]:
    """The ways a file gets written: by an agent's own tools, and by a shell."""
    tools = [Action("Write", "write", paths=(f"/p/{path}",)), Action("Edit", "write", paths=(path,))]
    patch = Action("apply_patch", "write", paths=("/p/src/a.py", f"/p/{path}"))
    commands = (
        f"echo x > {path}",
        f"echo x >> ./{path}",
        f"tee {path} < src/a",
        f"cp src/a {path}",
        f"cp -r src/a {path}",
        f"mv src/a {path}",
        f"ln -s ../src/a {path}",
        f"ln src/a {path}",
        f"sed -i s/a/b/ {path}",
        f"touch {path}",
        f"dd if=src/a of={path}",
        f"install src/a {path}",
        f"mkdir -p {path}",
        f"truncate -s 0 {path}",
        f"git mv src/a {path}",
        f"git checkout HEAD~1 -- {path}",
        f"rm {path}",
        f"cp -l {path} src/b",
        f"ln {path} src/b",
        f"mv {path} src/b",
    )
    return [*tools, patch, *map(shell, commands)]


@pytest.mark.parametrize("path", RESERVED)
def test_what_is_obeyed_is_not_written_as_a_file_of_the_project(path: str) -> None:
    for way in (path, path.upper(), path.lower(), f"packages/a/{path}"):
        passed = [each.command or each.tool for each in writes(way) if ruled(each) == "allow"]
        assert not passed


@pytest.mark.parametrize("path", WRITABLE)
def test_an_ordinary_file_of_the_project_is_written(path: str) -> None:
    assert ruled(Action("Write", "write", paths=(f"/p/{path}",))) == "allow"
    assert ruled(Action("Edit", "write", paths=(f"/p/packages/a/{path}",))) == "allow"
    assert ruled(shell(f"echo x > {path}")) == "allow"
    assert ruled(shell(f"rm {path}")) == "allow"


@pytest.mark.parametrize("path", ["/p/.g\u200cit/config", "/p/CLAUDE\u2060.md", "/p/.vſcode/tasks.json"])
def test_letters_that_a_file_system_does_not_tell_apart_do_not_hide_a_name(path: str) -> None:
    assert ruled(Action("Write", "write", paths=(path,))) != "allow"


def test_files_of_one_folder_are_known_as_each_of_them_is() -> None:
    """The quick way for whole folders says the same as the slow one."""
    more = (".ssh", "tdata", "id_rsa", "a.py", ".env", ".ENV", "credentials.go")
    paths = [*_lines(SECRET), *_ordinary(), *(f"/x/{name}" for name in more)]
    for path in paths:
        folder, _, name = path.rpartition("/")
        assert secrets_in(folder or "/")(name) == secret_path(f"{folder}/{name}"), path
