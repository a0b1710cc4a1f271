"""The options that git's subcommands are known to have.

Rule: as in `options`: one that does not stand here makes the command `unknown`. Left out on purpose is what runs a
program, writes elsewhere, takes its words from a file, or puts a tree below another folder (`-X subtree=`).
"""

from __future__ import annotations

from functools import lru_cache

from yourcall.rules.effects.options import Spec, spec, understood
from yourcall.rules.effects.table import words
from yourcall.rules.shell.words import Word

_DIFF = (
    "-pusRabwWzmc -U= -M? -C? -B? -D? -S= -G= -l= --patch --no-patch --unified= --raw --patch-with-raw "
    "--patch-with-stat --minimal --patience --histogram --anchored= --diff-algorithm= --stat? "
    "--compact-summary "
    "--numstat --shortstat --dirstat? --cumulative --dirstat-by-file? --summary --no-color --color? "
    "--color-moved? "
    "--no-color-moved --color-moved-ws= --color-words? --word-diff? --word-diff-regex= --no-renames --renames "
    "--rename-empty --no-rename-empty --check --ws-error-highlight= --full-index --binary --abbrev? "
    "--no-abbrev "
    "--break-rewrites? --find-renames? --find-copies? --find-copies-harder --irreversible-delete "
    "--diff-filter= "
    "--find-object= --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-cr-at-eol "
    "--ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines "
    "--ignore-matching-lines= "
    "--inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv "
    "--ignore-submodules? "
    "--submodule? --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= --name-only "
    "--name-status "
    "--cc --combined-all-paths --merge-base --cached --staged --skip-to= --rotate-to= -I="
)
_LOG = (
    f"{_DIFF} -gnitErFPqv0 -# -n= -L= -I= --follow --decorate? --no-decorate --decorate-refs= "
    "--decorate-refs-exclude= --source --mailmap --use-mailmap --log-size --max-count= --skip= --since= "
    "--after= "
    "--until= --before= --since-as-filter= --author= --committer= --grep= --grep-reflog= --all-match "
    "--invert-grep "
    "--regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp --remove-empty "
    "--merges "
    "--no-merges --min-parents= --max-parents= --first-parent --not --all --branches? --tags? --remotes? "
    "--glob= "
    "--exclude= --reflog --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only "
    "--cherry "
    "--walk-reflogs --merge --boundary --simplify-by-decoration --full-history --dense --sparse "
    "--simplify-merges "
    "--ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? "
    "--format= --abbrev-commit --no-abbrev-commit --oneline --encoding= --expand-tabs? --no-expand-tabs "
    "--notes? "
    "--no-notes --show-notes? --relative-date --date= --parents --children --left-right --graph --no-graph "
    "--show-linear-break? --show-pulls --no-min-parents --no-max-parents --diff-merges= --no-diff-merges "
    "--remerge-diff --dd --show-signature --no-show-signature --count --objects --timestamp --max-age= "
    "--min-age= "
    "--disk-usage? --no-commit-header --commit-header"
)
_LIST = (
    "--format= --sort= --contains? --no-contains? --merged? --no-merged? --points-at= --column? --no-column "
    "--color? "
    "--no-color --ignore-case --omit-empty"
)

_VERBS: dict[str, str] = {
    "status": "-sbvz -u? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? "
        "--ignored? "
    "--ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames "
    "--find-renames?",
    **dict.fromkeys(("diff", "diff-tree", "diff-index", "diff-files"), f"{_DIFF} -r0123 --no-index --root "
        f"--always --base --ours --theirs"),
    **dict.fromkeys(("log", "show", "whatchanged", "shortlog", "rev-list", "reflog", "cherry", "range-diff"),
        f"{_LOG} -esN -w? --email --summary --numbered --group= --no-dual-color --creation-factor= --expire= "
    f"--rewrite --updateref --dry-run --verbose --header"),
    **dict.fromkeys(("blame", "annotate"), "-bcflnpstwe -L= -S= -M? -C? -# --root --show-stats --reverse= "
        "--first-parent --porcelain --line-porcelain --encoding= --incremental --date= --color-lines "
        "--color-by-age --show-name --show-number --show-email --abbrev= --ignore-rev= --contents="),
    "rev-parse": "-q --abbrev-ref? --symbolic --symbolic-full-name --short? --verify --quiet --all "
        "--branches? --tags? --remotes? --show-toplevel --show-prefix --show-cdup "
        "--show-superproject-working-tree --git-dir --absolute-git-dir --git-common-dir "
        "--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --git-path= "
        "--show-object-format? --path-format= --revs-only --no-revs --flags --no-flags --default= --since= "
        "--until= --not --sq --shared-index-path --disambiguate= --local-env-vars",
    "ls-files": "-cdmosuktvfz -x= -X= --cached --deleted --others --ignored --stage --directory "
        "--no-empty-directory --unmerged --killed --modified --resolve-undo --exclude= --exclude-from= "
        "--exclude-per-directory= --exclude-standard --error-unmatch --full-name --recurse-submodules "
        "--abbrev? --debug --deduplicate --eol --sparse --format=",
    "ls-tree": "-drtlz --name-only --name-status --object-only --full-name --full-tree --abbrev? --format= "
        "--long",
    "describe": "--dirty? --broken? --all --tags --contains --abbrev= --candidates= --exact-match --debug "
        "--long --match= --exclude= --always --first-parent",
    "cat-file": "-ptse --follow-symlinks --allow-unknown-type",
    "name-rev": "--tags --refs= --exclude= --all --name-only --no-undefined --always --annotate-stdin",
    "merge-base": "-a --all --octopus --is-ancestor --independent --fork-point",
    "grep": "-aIirvwhHEGPFnlLzocpWq -e= -A= -B= -C= -m= -# --cached --untracked --no-index "
        "--no-exclude-standard --exclude-standard --recurse-submodules --text --no-textconv --ignore-case "
        "--max-depth= --recursive --no-recursive --word-regexp --invert-match --full-name --extended-regexp "
        "--basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches "
        "--name-only --files-without-match --null --only-matching --count --color? --no-color --break "
        "--heading --show-function --context= --after-context= --before-context= --function-context "
        "--max-count= --threads= --and --or --not --all-match --quiet",
    "for-each-ref": f"-spq --count= --shell --perl --python --tcl --exclude= --include-root-refs {_LIST}",
    "show-ref": "-dhqs --head --heads --branches --tags --dereference --hash? --verify --abbrev? --quiet "
        "--exists",
    "count-objects": "-vH --verbose --human-readable",
    "check-ignore": "-qvnz --quiet --verbose --non-matching --no-index",
    "check-attr": "-az --all --cached --source=",
    "check-ref-format": "--allow-onelevel --no-allow-onelevel --refspec-pattern --normalize --branch",
    "show-branch": "-arg --all --remotes --current --topo-order --date-order --sparse --more= --list "
        "--merge-base --independent --no-name --sha1-name --topics --reflog? --color? --no-color",
    "version": "--build-options",
    "help": "-ag --all --guides",
    "fsck": "-v --tags --root --unreachable --cache --no-reflogs --full --no-full --connectivity-only "
        "--strict --verbose --dangling --no-dangling --progress --no-progress --name-objects",
    "ls-remote": "-htbq --heads --tags --branches --refs --quiet --exit-code --get-url --sort= --symref",
    **dict.fromkeys(("add", "stage"), "-nvfAuN --dry-run --verbose --force --all --no-all --ignore-removal "
        "--no-ignore-removal --update --intent-to-add --refresh --ignore-errors --ignore-missing "
        "--renormalize --chmod= --sparse"),
    "commit": "-aqsvzoi -m= -F= -C= -c= -t= -u? --all --message= --file= --amend --no-edit --signoff "
        "--no-signoff --allow-empty --allow-empty-message --quiet --verbose --author= --date= --reset-author "
        "--dry-run --short --branch --porcelain --long --null --fixup= --squash= --only --include --cleanup= "
        "--status --no-status --trailer= --reuse-message= --reedit-message= --template= --no-gpg-sign "
        "--untracked-files? --verify",
    "mv": "-fknv --force --dry-run --verbose --sparse",
    "rm": "-fnrq --force --dry-run --cached --quiet --ignore-unmatch --sparse",
    "switch": "-qdfm -C= -c= -t? --create= --force-create= --detach --guess --no-guess --force "
        "--discard-changes --merge --conflict= --quiet --progress --no-progress --track? --no-track "
        "--orphan= --ignore-other-worktrees",
    "checkout": "-qfdml23 -b= -B= -t? --quiet --force --ours --theirs --detach --track? --no-track --orphan= "
        "--merge --conflict= --guess --no-guess --progress --no-progress --ignore-skip-worktree-bits "
        "--overlay --no-overlay --ignore-other-worktrees",
    "restore": "-qmWS -s= --source= --staged --worktree --quiet --progress --no-progress --ours --theirs "
        "--merge --conflict= --ignore-unmerged --overlay --no-overlay --ignore-skip-worktree-bits",
    "merge": "-nqv -m= -F= -X= --no-commit --commit --no-edit --ff --no-ff --ff-only --squash --no-squash "
        "--stat --no-stat --log? --no-log --signoff --no-signoff --message= --file= --quiet --verbose "
        "--progress --no-progress --abort --continue --quit --autostash --no-autostash --strategy-option= "
        "--no-gpg-sign --allow-unrelated-histories --cleanup= --compact-summary --rerere-autoupdate "
        "--verify-signatures",
    **dict.fromkeys(("cherry-pick", "revert"), "-nxs -m= -X= --no-commit --no-edit --mainline= --signoff "
        "--ff --allow-empty --allow-empty-message --keep-redundant-commits --abort --continue --quit --skip "
        "--strategy-option= --no-gpg-sign --cleanup= --empty= --reference --rerere-autoupdate"),
    "rebase": "-fnqvkm -X= -C= --onto= --continue --abort --quit --skip --keep-base --root --autosquash "
        "--no-autosquash --autostash --no-autostash --update-refs --no-update-refs --force-rebase --no-ff "
        "--quiet --verbose --stat --no-stat --strategy-option= --rebase-merges? --no-rebase-merges "
        "--fork-point --no-fork-point --empty= --keep-empty --no-keep-empty --reapply-cherry-picks "
        "--no-gpg-sign --show-current-patch --signoff --committer-date-is-author-date --reset-author-date "
        "--ignore-date --merge --apply --whitespace=",
    "pull": "-qvanfktpr46 -X= -j= --quiet --verbose --all --append --ff --ff-only --no-ff --rebase? "
        "--no-rebase --autostash --no-autostash --no-edit --commit --no-commit --squash --stat --no-stat "
        "--log? --no-log --signoff --strategy-option= --depth= --deepen= --unshallow --update-shallow --tags "
        "--no-tags --prune --force --keep --jobs= --progress --no-progress --dry-run --set-upstream --ipv4 "
        "--ipv6 --allow-unrelated-histories --no-recurse-submodules --shallow-since= --no-gpg-sign "
        "--no-verify-signatures --verify-signatures",
    "fetch": "-qvanfktpPum46 -j= -o= --quiet --verbose --all --append --atomic --depth= --deepen= "
        "--unshallow --update-shallow --dry-run --force --keep --multiple --prune --prune-tags --no-tags "
        "--tags --jobs= --progress --no-progress --set-upstream --ipv4 --ipv6 --shallow-since= "
        "--shallow-exclude= --refmap= --negotiation-tip= --filter= --no-recurse-submodules --update-head-ok "
        "--write-fetch-head --no-write-fetch-head --show-forced-updates --no-show-forced-updates --porcelain "
        "--no-auto-gc --no-auto-maintenance",
    "push": "-qvandfu46 -o= --quiet --verbose --all --branches --atomic --delete --dry-run --force "
        "--force-with-lease? --no-force-with-lease --force-if-includes --follow-tags --no-follow-tags --tags "
        "--porcelain --progress --no-progress --prune --set-upstream --thin --no-thin --ipv4 --ipv6 "
        "--signed? --no-signed --no-recurse-submodules --push-option=",
    "clone": "-qvnls46 -b= -o= -j= --quiet --verbose --progress --no-progress --no-checkout --local "
        "--no-hardlinks --shared --branch= --origin= --depth= --single-branch --no-single-branch --no-tags "
        "--shallow-since= --shallow-exclude= --filter= --sparse --jobs= --no-recurse-submodules --ipv4 "
        "--ipv6 --revision=",
    "init": "-q -b= --quiet --initial-branch= --object-format= --ref-format=",
    "stash": "-aukqSp -m= --all --include-untracked --keep-index --no-keep-index --quiet --staged --message= "
        "--index --only-untracked --patch-with-stat --stat? --name-only --name-status --oneline --format= "
        "--pretty? --numstat -# --patch",
    "branch": f"-avrldDmMcCftqi -u= --all --verbose --remotes --list --delete --move --copy --force --track? "
        f"--no-track --quiet --show-current --set-upstream-to= --unset-upstream --create-reflog --abbrev? "
        f"--no-abbrev {_LIST}",
    "tag": f"-aldfi -m= -F= -n? --annotate --list --delete --force --message= --file= --cleanup= --no-sign "
        f"--create-reflog --trailer= {_LIST}",
    "remote": "-vnfp --verbose --all --push --prune --tags --no-tags --dry-run",
    "reset": "-qN --soft --mixed --hard --merge --keep --quiet --no-quiet --intent-to-add --refresh "
        "--no-refresh",
    "clean": "-dfnqxX -e= --force --dry-run --quiet --exclude=",
    "bisect": "--no-checkout --first-parent --term-old= --term-new= --term-good= --term-bad=",
    "notes": "-fqnv -m= -F= -C= --message= --file= --force --reuse-message= --allow-empty --ref= "
        "--ignore-missing",
    "sparse-checkout": "--cone --no-cone --sparse-index --no-sparse-index",
    "config": "-lz -f= --list --get --get-all --get-regexp --local --global --system --worktree "
        "--show-origin --show-scope --name-only --null --type= --bool --int --path --default= --file= "
        "--no-includes --all --value= --regexp",
    "worktree": "-vz --porcelain --verbose --expire=",
    "gc": "-q --quiet --auto --aggressive --prune? --no-prune --force --keep-largest-pack",
    "prune": "-nv --dry-run --verbose --progress --expire=",
    "repack": "-aAdflnqkb --window= --depth= --threads= --max-pack-size= --write-midx --quiet",
    "verify-commit": "-v --verbose --raw",
    "verify-tag": "-v --verbose --raw --format=",
    "credential": "", "credential-store": "", "credential-cache": "",
}  # fmt: skip
# What a merge may be told about a conflict; `subtree=…` moves a tree to another folder.
_STRATEGY = words(
    "ours theirs patience minimal histogram ignore-space-change ignore-all-space ignore-space-at-eol "
    "ignore-cr-at-eol renormalize no-renormalize find-renames no-renames"
)


@lru_cache(maxsize=128)
def of(verb: str) -> Spec | None:
    text = _VERBS.get(verb)
    return None if text is None else spec(text)


def known(verb: str, args: list[Word]) -> bool:
    """Is every option of this subcommand known?"""
    found = of(verb)
    if found is None or not understood(found, args):
        return False
    return verb not in ("merge", "cherry-pick", "revert", "rebase", "pull") or _strategies(args)


def _strategies(args: list[Word]) -> bool:
    for at, word in enumerate(args):
        value = word.value or ""
        after = (args[at + 1].value or "") if at + 1 < len(args) else ""
        if value in ("-X", "--strategy-option"):
            text = after
        elif value.startswith("-X"):
            text = value[2:]
        elif value.startswith("--strategy-option="):
            text = value.partition("=")[2]
        elif value.startswith("-") and not value.startswith("--") and "X" in value:
            return False  # clustered: `-nXsubtree=x`
        else:
            continue
        if text not in _STRATEGY:
            return False
    return True
