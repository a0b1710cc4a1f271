"""A shell command, taken apart: every simple command, redirection and assignment that running it could perform.

Rule: parsed with a real grammar, which is believed only where its tokens cannot mean anything else to a shell
(`shell_tokens`); a construct that is not named here makes the whole text `Unread`. Nothing is ever left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from yourcall.rules.shell import tokens
from yourcall.rules.shell import words as shell_words
from yourcall.rules.shell.items import (
    HERE,
    After,
    Assign,
    Item,
    Places,
    Redirect,
    Script,
    Simple,
    Test,
    Unread,
    both,
    moved,
)
from yourcall.rules.shell.nodes import CannotRead, assigned, inside, spelled_out, text_of
from yourcall.rules.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported when the first command is looked at: a daemon without rules never pays for it.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@lru_cache(maxsize=256)
def parse(text: str, places: Places = HERE) -> Script | Unread:
    strange = tokens.objection(text)
    if strange:
        return Unread(strange)
    source = text.encode()
    root = _parser().parse(source).root_node
    wrong = tokens.disagreement(root, source)
    if wrong:
        return Unread(wrong)
    walk = _Walk(source, root)
    try:
        walk.statements(root.children, places)
    except CannotRead as error:
        return Unread(str(error))
    return Script(tuple(walk.items), walk.loops)


# What sh, dash, ash, ksh and busybox read otherwise than bash and zsh, or not at all.
_BASHISM = re.compile(rb"\$'|\[\[\s|[<>]\(|&>|\|&|<<<|\$\{[^}]*[/^,]")


@lru_cache(maxsize=64)
def only_bash_reads(text: str) -> bool:
    """Might sh, dash or busybox read it otherwise than bash and zsh? Single quotes are the same to all."""
    source = text.encode(errors="surrogatepass")
    if not _BASHISM.search(source):
        return False
    if tokens.objection(text):
        return True
    root = _parser().parse(source).root_node
    if tokens.disagreement(root, source):
        return True
    plain = bytearray(source)
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "raw_string":
            plain[node.start_byte : node.end_byte] = b"x" * (node.end_byte - node.start_byte)
        stack.extend(node.children)
    return _BASHISM.search(bytes(plain)) is not None


# What fish reads otherwise: `\x2e` is a dot, `\'` goes on within single quotes, `$((…))` runs a command.
_SAME_IN_FISH = frozenset({"raw_string", "string_content", "comment", "heredoc_body", "heredoc_content"})
_FISH_ESCAPE = re.compile(rb"\\(?:\n|([abefnrtvxXuUc0-7])|.)", re.DOTALL)


@lru_cache(maxsize=64)
def fish_reads_otherwise(text: str) -> bool:
    """Might fish make other words of it than bash does?"""
    if "\\" not in text and "$((" not in text:
        return False
    if tokens.objection(text):
        return True
    source = text.encode()
    stack = [_parser().parse(source).root_node]
    while stack:
        node = stack.pop()
        inside = source[node.start_byte : node.end_byte]
        if node.type == "raw_string" and (b"\\\\" in inside or inside.endswith(b"\\'")):
            return True
        if node.type in ("arithmetic_expansion", "ERROR"):
            return True
        if not node.child_count and node.type not in _SAME_IN_FISH:
            escapes = _FISH_ESCAPE.finditer(inside)
            if any(escape[1] for escape in escapes):
                return True
        stack.extend(node.children)
    return False


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DATA = frozenset({"regex", "extglob_pattern", "variable_name", "special_variable_name", "heredoc_content"})
_TRIM = frozenset({":-", "-", ":+", "+", "#", "##", "%", "%%", "/", "//", "^", "^^", ",", ",,"})
_LITERAL = frozenset({"word", "number", "raw_string", "ansi_c_string", "string_content"})
_KEYWORDS = _set("if then elif else fi for in do done while until case esac ; &") | {"\n"}
_ARROWS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_COMPARES = frozenset({"=", "==", "!=", "!"})
_TESTS = _set("-a -b -c -d -e -f -g -h -k -n -o -p -r -s -t -u -w -x -z -G -L -N -O -S -nt -ot -ef")
# `$y[x]`, `$#y[x]`: x is calculated, and what it holds may run commands.
_SUBSCRIPT = re.compile(rb"\$[#+^=~:]*(?:\w+|[*@?!$#-])?\[")
# `_` is what the last command ended with, whatever a loop says; names in capitals may be the shell's own.
_LOOPED = re.compile(r"[a-z][a-z0-9_]*")
# How often the words of a loop are looked at with what its variable is; beyond that, it is anything.
MOST_ROUNDS = 8
# Beyond this nobody reads it, and each is looked at again for every rule.
MOST_ITEMS = 400
_RANGE = re.compile(r"[0-9]*-[0-9]*")
_CUT = re.compile(r"[\s*?\[#^~]|^$")
NUMBERS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class _Walk:
    def __init__(self, source: bytes, root: Node) -> None:
        self.items: list[Item] = []
        self.loops = False
        self.strayed = False
        self._source = source
        self._root = root
        self._assigned: dict[str, int] | None = None
        self._values: dict[str, Word] = {}
        self._rounds = 1

    # -- statements

    def statements(self, nodes: list[Node], places: Places) -> After:
        """One after the other, whatever becomes of each."""
        now = After(places, places)
        for at, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                if node.type not in (";", "&", "\n", "comment"):
                    raise CannotRead(f"a {node.type!r} stands where none is expected")
                continue
            behind = at + 1 < len(nodes) and nodes[at + 1].type == "&"
            after = self.statement(node, now.any)
            now = now if behind else after  # what runs behind moves nobody else
        return now

    def statement(self, node: Node, places: Places, piped: bool = False) -> After:
        still = After(places, places)
        if len(self.items) > MOST_ITEMS:
            raise CannotRead(f"it does more than {MOST_ITEMS} things")
        match node.type:
            case "command":
                return self._command(node, places, piped)
            case "list":
                return self._list(node, places)
            case "pipeline":
                return self._pipeline(node, places, piped)
            case "redirected_statement":
                return self._redirected(node, places, piped)
            case "subshell":
                self.statements(inside(node, "(", ")"), places)
                return still
            case "compound_statement":
                if node.children[0].type != "{":
                    raise CannotRead("arithmetic can run commands")
                return self.statements(inside(node, "{", "}"), places)
            case "negated_command":
                after = self.statement(node.children[-1], places, piped)
                return After(after.any, after.any)
            case "if_statement" | "while_statement" | "for_statement" | "case_statement":
                return self._compound(node, places)
            case "test_command":
                self._test(node, places)
                return still
            case "variable_assignment":
                self._assign(node, places, lasting=True)
                return still
            case "variable_assignments":
                for child in node.children:
                    self._assign(child, places, lasting=True)
                return still
            case "declaration_command":
                if node.children[0].type != "export" or len(node.children) == 1:
                    raise CannotRead("only `export NAME=value` is understood of declarations")
                for child in node.children[1:]:
                    if child.type != "variable_assignment":
                        raise CannotRead("an export without a value")
                    self._assign(child, places, lasting=True, exported=True)
                return still
            case _:
                raise CannotRead(f"it holds a {node.type.replace('_', ' ')}")

    def _list(self, node: Node, places: Places) -> After:
        left, sign, right = self._three(node)
        before = self.statement(left, places)
        if sign == "&&":
            after = self.statement(right, before.ok)
            return After(after.ok, both(before.any, after.any))
        if sign == "||":
            after = self.statement(right, before.any)
            return After(both(before.ok, after.ok), both(before.any, after.any))
        raise CannotRead(f"{sign!r} joins two commands")

    def _three(self, node: Node) -> tuple[Node, str, Node]:
        children = [child for child in node.children if child.type not in ("\n", "comment")]
        if len(children) != 3:
            raise CannotRead("a list of commands is not whole")
        return children[0], children[1].type, children[2]

    def _pipeline(self, node: Node, places: Places, piped: bool) -> After:
        last = places
        before: Node | None = None
        for child in node.children:
            if child.type in ("|", "|&", "comment", "\n"):
                before = None if child.type == "|&" else before
                continue
            count = len(self.items)
            last = self.statement(child, places, piped).any
            fresh = self.items[count:]
            plain = child.type == "command" and not any(each.type in _ARROWS for each in child.children)
            if before is not None and plain and fresh and isinstance(fresh[-1], Simple):
                self.items[-1] = replace(fresh[-1], source=self._written(before, places))
            piped, before = True, child
        # To zsh, the last one runs in the shell itself, and a `cd` there moves it.
        maybe = both(places, last)
        return After(maybe, maybe)

    def _written(self, node: Node, places: Places) -> tuple[Word, ...]:
        """The words of a command in a pipe, if it alone writes there: only its errors may go to nowhere."""
        if node.type == "redirected_statement":
            node, *arrows = node.children
            if any(text_of(arrow).replace(" ", "") != "2>/dev/null" for arrow in arrows):
                return ()
        if node.type != "command" or node.children[0].type != "command_name":
            return ()
        kept, self.items = self.items, []
        try:
            words = [
                self.word(child.children[0] if child.type == "command_name" and child.children else child, places)
                for child in node.children
            ]
        finally:
            again, self.items = self.items, kept
        return () if again else tuple(words)

    def _redirected(self, node: Node, places: Places, piped: bool) -> After:
        arrows = [child for child in node.children if child.type in _ARROWS]
        bodies = [child for child in node.children if child.type not in _ARROWS]
        if len(bodies) > 1:
            raise CannotRead("a redirection with two commands")
        if not bodies:
            if [word for arrow in arrows for word in self._redirect(arrow, places)]:
                raise CannotRead("a command begins with a redirection")
            return After(places, places)
        (body,) = bodies
        if body.type == "command":
            more = [word for arrow in arrows for word in self._redirect(arrow, places)]
            after = self._command(body, places, piped, more)
        else:
            # `cd x && echo > y`: the grammar hangs the arrow on both, a shell on the last, wherever that runs.
            count = len(self.items)
            after = self.statement(body, places, piped)
            if any("<" in text_of(arrow) for arrow in arrows):
                # `find | xargs < f`: what the last one reads may come from the file.
                fresh = self.items[count:]
                self.items[count:] = [replace(e, source=()) if isinstance(e, Simple) else e for e in fresh]
            if [word for arrow in arrows for word in self._redirect(arrow, both(places, after.any))]:
                raise CannotRead("words follow a redirection")
        strayed, self.strayed = self.strayed, False
        return After((None,), (None,)) if strayed else after

    def _redirect(self, node: Node, places: Places) -> list[Word]:
        """Note it; what else stands in the node: further words of the command (`> file word`)."""
        parts = [child for child in node.children if child.type != "file_descriptor"]
        if node.type == "heredoc_redirect":
            return self._here(parts, places)
        if node.type == "herestring_redirect":
            self._mention(self.word(parts[-1], places))
            return []
        op, *words = parts
        if not words:
            raise CannotRead("a redirection to nowhere")
        found = [self.word(each, places) for each in words]
        if found[0].text.startswith("!"):
            raise CannotRead("`>!` is one arrow to zsh")
        if op.type == "<" and _RANGE.fullmatch(found[0].text):
            raise CannotRead("`<1-9>` is a pattern to zsh")
        self.items.append(Redirect(op.type, found[0], places))
        return found[1:]

    def _here(self, parts: list[Node], places: Places) -> list[Word]:
        more: list[Word] = []
        quoted = any(p.type == "heredoc_start" and (p.text or b"")[:1] in (b"'", b'"') for p in parts)
        for part in parts:
            match part.type:
                case "<<" | "<<-" | "heredoc_start" | "heredoc_end":
                    continue
                case "heredoc_body":
                    if not quoted:
                        self._mention(shell_words.unknown("<<", self._expand_all(part, places)))
                case "file_redirect" | "herestring_redirect":
                    more += self._redirect(part, places)
                case "pipeline":
                    self.strayed |= self._pipeline(part, places, piped=True).any != places
                case "&&" | "||":
                    continue
                case "command" | "list" | "subshell" | "redirected_statement":
                    self.statement(part, (None,))
                    self.strayed = True  # `cat <<E && cd x`: it stands behind the mark, and runs after the command
                case "word" | "raw_string" | "string" | "concatenation" | "number" | "simple_expansion":
                    more.append(self.word(part, places))
                case other:
                    raise CannotRead(f"a {other.replace('_', ' ')} behind a here-document")
        return more

    def _mention(self, word: Word) -> None:
        """A word that is no command's: what its variables hold is used all the same."""
        if word.names:
            self.items.append(Assign("_", word, lasting=True))

    def _compound(self, node: Node, places: Places) -> After:
        """if, while, until, for, select, case: every branch may run, or none; a loop runs any number of times."""
        loops = node.type in ("while_statement", "for_statement")
        self.loops = self.loops or loops
        reached = self._branches(node, places)
        if loops and reached != places:
            # Where the second round begins depends on the first: only what needs no place stays known.
            self._branches(node, (None,))
            return After((None,), (None,))
        return After(reached, reached)

    def _branches(self, node: Node, places: Places) -> Places:
        now = places
        turns = self._turns(node, places) if node.type == "for_statement" else []
        for child in node.children:
            match child.type:
                case "do_group" if turns:
                    now = both(now, self._in_turn(node, child, turns, now))
                case "do_group" | "elif_clause" | "else_clause":
                    now = both(now, self._branches(child, now))
                case "case_item":
                    now = both(now, self._case(child, now))
                case "variable_name":
                    self.items.append(Assign(text_of(child), shell_words.unknown(text_of(child)), lasting=True))
                case "comment":
                    continue
                case kind if not child.is_named:
                    if kind in ("((", "))"):
                        raise CannotRead("arithmetic can run commands")
                    if kind not in _KEYWORDS:
                        raise CannotRead(f"a {kind!r} stands where none is expected")
                case kind if kind in _WORDS:
                    self._mention(self.word(child, now))
                case _:
                    now = both(now, self.statement(child, now).any)
        return now

    def _turns(self, node: Node, places: Places) -> list[Word]:
        """What the variable of a `for` is, one after the other; nothing if that cannot be told for sure."""
        name = next((text_of(child) for child in node.children if child.type == "variable_name"), "")
        listed = [child for child in node.children if child.type in _WORDS]
        if (
            not _LOOPED.fullmatch(name)
            or not listed
            or len(listed) * self._rounds > MOST_ROUNDS
            or self._times(name) != 1
        ):
            return []
        if any(child.type not in ("word", "number", "raw_string", "concatenation") for child in listed):
            return []
        words = [self.word(child, places) for child in listed]
        return [] if any(word.value is None for word in words) else words

    def _times(self, name: str) -> int:
        if self._assigned is None:
            self._assigned = assigned(self._root)
        return self._assigned.get(name, 0)

    def _in_turn(self, node: Node, body: Node, turns: list[Word], places: Places) -> Places:
        name = next(text_of(child) for child in node.children if child.type == "variable_name")
        now = places
        self._rounds *= len(turns)
        for word in turns:
            self._values[name] = word
            now = both(now, self._branches(body, now))
        del self._values[name]
        self._rounds //= len(turns)
        return now

    def _held(self, node: Node) -> Word | None:
        """What `$f` or `${f}` is in this round of a loop."""
        names = [text_of(child) for child in node.children if child.is_named]
        if node.type not in ("simple_expansion", "expansion") or len(names) != 1:
            return None
        if text_of(node) not in (f"${names[0]}", f"${{{names[0]}}}"):
            return None
        if self._source[node.end_byte : node.end_byte + 1] == b":":
            return None  # to zsh, `$f:h` is the folder of it
        return self._values.get(names[0])

    def _case(self, node: Node, places: Places) -> Places:
        """A pattern, then statements: only what stands before the `)` is a pattern."""
        now, pattern = places, True
        for child in node.children:
            if child.type == ")":
                pattern = False
            elif pattern and child.is_named:
                if child.type not in _DATA:
                    self._mention(self.word(child, now))
            elif child.is_named and child.type != "comment":
                now = both(now, self.statement(child, now).any)
            elif child.type not in ("|", ";", ";;", "(", "\n", "comment", "&"):
                raise CannotRead("a case falls through")
        return now

    # -- commands

    def _command(self, node: Node, places: Places, piped: bool, more: list[Word] | None = None) -> After:
        words: list[Word] = []
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    if words:
                        raise CannotRead("an assignment behind a command's name")
                    self._assign(child, places, lasting=False)
                case "command_name":
                    (inner,) = child.children or [child]
                    words.append(self.word(inner, places))
                case "file_redirect" | "herestring_redirect":
                    words += self._redirect(child, places)
                case _:
                    words.append(self.word(child, places))
        words += more or []
        if not words:
            raise CannotRead("a command without a name")
        simple = Simple(tuple(words), text_of(node), places, piped)
        self.items.append(simple)
        return moved(simple)

    def _assign(self, node: Node, places: Places, lasting: bool, exported: bool = False) -> None:
        name, *rest = node.children
        if node.type != "variable_assignment" or name.type != "variable_name":
            raise CannotRead("an assignment to a part of a list")
        if rest and rest[0].type == "+=":
            raise CannotRead("`+=` is a part of a program's name to some shells")
        values = [child for child in rest if child.is_named]
        if any(child.type == "array" for child in values) or len(values) > 1:
            raise CannotRead("an assignment of a list")
        value = self.word(values[0], places) if values else Word("", "")
        self.items.append(Assign(text_of(name), value, lasting and not exported))

    def _test(self, node: Node, places: Places) -> None:
        """`[` is a command like any other to a shell: what the grammar reads into it must be words to both."""
        double = node.children[0].type == "[["
        words: list[Word] = []
        plain = True
        stack = list(reversed(node.children[1:-1]))
        while stack:
            child = stack.pop()
            if child.type in ("unary_expression", "binary_expression", "parenthesized_expression"):
                signs = {c.type if not c.is_named else text_of(c) for c in child.children}
                operands = [c for c in child.children if c.is_named and c.type != "test_operator"]
                # [[ x -eq y ]] calculates, and calculating can run commands; to zsh, [ ] and -t do too.
                odd = any(c.type != "number" and text_of(c) not in ("$?", "$#", '"$#"') for c in operands)
                if signs & (NUMBERS | {"-t"}) and odd:
                    plain = False
                stack.extend(reversed(child.children))
            elif child.type in ("test_operator",) or not child.is_named:
                sign = text_of(child)
                if sign in ("&&", "||", "(", ")", "<", ">") and not double:
                    raise CannotRead(f"{sign} inside of [ ]")
                if sign not in _COMPARES | _TESTS | NUMBERS | {"&&", "||", "(", ")", "<", ">"}:
                    plain = False
            elif child.type in ("extglob_pattern", "regex"):
                plain = plain and child.type != "regex"
            else:
                word = self.word(child, places)
                plain = plain and (double or child.type in ("string", "raw_string", "word", "number"))
                # Without quotes it may become several words, an operator among them.
                plain = plain and (double or not word.glob or child.type == "string")
                words.append(word)
        self.items.append(Test(text_of(node), plain, tuple(words), places))

    # -- words

    def word(self, node: Node, places: Places) -> Word:
        text = text_of(node)
        match node.type:
            case "word" | "number":
                if text in ("{", "}") and (node.parent is None or node.parent.type != "concatenation"):
                    raise CannotRead("a brace among words ends or begins a group to zsh")
                return shell_words.plain(text)
            case "raw_string":
                return shell_words.single_quoted(text)
            case "ansi_c_string":
                return shell_words.ansi_quoted(text)
            case "string":
                if all(child.type in ('"', "string_content") for child in node.children):
                    return shell_words.double_quoted(text)
                told = self._filled(node, text)
                if told is not None:
                    return told
                wording = spelled_out(node, self._source)
                if wording is not None:
                    self._expand_all(node, places)
                    return Word(text, wording)
                return shell_words.unknown(text, self._expand_all(node, places))
            case "concatenation":
                parts = [self.word(child, places) for child in node.children]
                return shell_words.joined(text, parts)
            case "process_substitution" if text.startswith("<("):
                return Word(text, None, names=self._expand(node, places), stream=True)
            case "simple_expansion" | "expansion" | "command_substitution" | "process_substitution":
                names = self._expand(node, places)
                held = self._held(node)
                # Without quotes, bash cuts what it holds at blanks, and looks for patterns in it.
                if held is not None and not held.glob and not _CUT.search(held.value or " "):
                    return replace(held, text=text, names=names)
                return shell_words.unknown(text, names)
            case "arithmetic_expansion":
                return self._arithmetic(node)
            case _:
                raise CannotRead(f"it holds a {node.type.replace('_', ' ')}")

    def _filled(self, node: Node, text: str) -> Word | None:
        """`"$f"`, or a text around it, where a loop says what f is."""
        inner = [child for child in node.children if child.type != '"']
        held = [self._held(child) if child.type != "string_content" else None for child in inner]
        if any(word is None and child.type != "string_content" for word, child in zip(held, inner, strict=True)):
            return None
        if sum(child.end_byte - child.start_byte for child in inner) != node.end_byte - node.start_byte - 2:
            return None  # the grammar leaves out blanks between two of them
        names = tuple(text_of(c) for child in inner for c in child.children if c.type == "variable_name")
        if len(inner) == 1 and held[0] is not None:
            return replace(held[0], text=text, names=names)
        if any(word is not None and (word.glob or word.tilde) for word in held):
            return None  # files that are called otherwise than what the pattern finds
        parts = [word.value if word is not None else None for word in held]
        said = [
            shell_words.double_quoted(f'"{text_of(c)}"').value if p is None else p
            for p, c in zip(parts, inner, strict=True)
        ]
        return Word(text, "".join(each or "" for each in said), names=names)

    def _expand_all(self, node: Node, places: Places) -> tuple[str, ...]:
        """Everything that is expanded inside of a string or a here-document."""
        names: list[str] = []
        for child in node.children:
            if child.type in _LITERAL or child.type in ('"', "heredoc_content"):
                continue
            names += self._expand(child, places) if child.type != "arithmetic_expansion" else ()
            if child.type == "arithmetic_expansion":
                self._arithmetic(child)
        return tuple(names)

    def _expand(self, node: Node, places: Places) -> tuple[str, ...]:
        match node.type:
            case "simple_expansion":
                if _SUBSCRIPT.match(self._source, node.start_byte):
                    raise CannotRead("zsh calculates with what stands in brackets behind a variable")
                return tuple(text_of(child) for child in node.children if child.is_named)
            case "command_substitution" | "process_substitution":
                first, last = node.children[0], node.children[-1]
                text = text_of(node)
                if first.type == "`" and ("\\" in text or text.count("`") != 2):
                    raise CannotRead("backticks within backticks")
                inner = node.children[1:-1]
                if any(child.type == "file_redirect" for child in inner):
                    if len(inner) != 1 or self._redirect(inner[0], places):
                        raise CannotRead("a substitution that begins with a redirection")
                else:
                    self.statements(inner, places)
                if last.type not in (")", "`"):
                    raise CannotRead("a substitution does not end")
                return ()
            case "expansion":
                return self._parameter(node, places)
            case _:
                raise CannotRead(f"it expands a {node.type.replace('_', ' ')}")

    def _parameter(self, node: Node, places: Places) -> tuple[str, ...]:
        """`${NAME}`, with a default or a pattern; nothing that calculates, points elsewhere or evaluates."""
        names: list[str] = []
        for child in node.children[1:-1]:
            match child.type:
                case "variable_name" | "special_variable_name":
                    names.append(text_of(child))
                case "regex" | "string_content":
                    continue
                case kind if not child.is_named:
                    if kind not in _TRIM:
                        raise CannotRead(f"an expansion with {kind}")
                case _:
                    names += self.word(child, places).names
        if text_of(node).startswith("${!"):
            raise CannotRead("an expansion that points elsewhere")
        return tuple(names)

    def _arithmetic(self, node: Node) -> Word:
        """Only numbers: a name could hold text that runs commands when it is calculated with."""
        text = text_of(node)
        if not all(letter in "0123456789+-*/%() $" for letter in text):
            raise CannotRead("arithmetic with names can run commands")
        return shell_words.unknown(text)


_WORDS = frozenset(
    {"word", "number", "raw_string", "ansi_c_string", "string", "concatenation", "simple_expansion", "expansion"}
    | {"command_substitution", "process_substitution", "arithmetic_expansion"}
)
