"""Do the grammar's tokens mean the same to a real shell? Checked letter by letter before its tree is believed.

Rule: every character of a command is either blank between tokens or inside a token whose text a shell cannot
read as anything else. Where the grammar and a shell could differ, the command counts as unread.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

# A model writes a whole script now and then; nobody reads more than this before saying yes.
LONGEST = 20_000
# Signs that the grammar branches at, and nodes of its tree: each costs time, and everybody waits. Three hundred
# commands have fewer of both.
MOST_SIGNS = 1_000
MOST_NODES = 1_500
MOST_KEYWORDS = 500
# Deeper than this nothing sensible is nested, and Python's own stack has an end.
DEEPEST = 60

# A line that goes on joins what stands around it, unless a blank keeps the two apart.
_BLANK = re.compile(rb"|(?=(?:\\\n)*[ \t\n])(?:[ \t\n]|\\\n)+")
_SAME_LINE = re.compile(rb"|(?=(?:\\\n)*[ \t])(?:[ \t]|\\\n)+")

# Within one of these a new line would begin another command.
_ON_ONE_LINE = frozenset(
    {"command", "file_redirect", "variable_assignment", "variable_assignments", "declaration_command"}
    | {"concatenation", "simple_expansion", "herestring_redirect", "negated_command", "unset_command"}
)

_LEAVES: dict[str, re.Pattern[bytes]] = {
    "word": re.compile(rb"(?:[^\s\\'\"`$;&|<>()#]|\\.)(?:[^\s\\'\"`$;&|<>()]|\\.)*", re.DOTALL),
    "extglob_pattern": re.compile(rb"(?:[^\s\\'\"`$;&|<>()#]|\\.)(?:[^\s\\'\"`$;&|<>()]|\\.)*", re.DOTALL),
    "number": re.compile(rb"-?[0-9]+"),
    "raw_string": re.compile(rb"'[^']*'"),
    "ansi_c_string": re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL),
    "string_content": re.compile(rb"(?:[^\"\\`$]|\\.)*", re.DOTALL),
    "variable_name": re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]"),
    "special_variable_name": re.compile(rb"[*@?!#$0_-]"),
    "comment": re.compile(rb"#[^\n]*"),
    "file_descriptor": re.compile(rb"[0-9]"),  # two digits are a word to zsh and dash
    "test_operator": re.compile(rb"-[a-zA-Z]{1,2}"),
    "regex": re.compile(rb"[^\s$`(){}'\"\\<>;&|]*"),  # the pattern of ${name%pattern}
    "heredoc_start": re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|'[A-Za-z_][A-Za-z0-9_]*'|\"[A-Za-z_][A-Za-z0-9_]*\""),
    "heredoc_end": re.compile(rb"[A-Za-z_][A-Za-z0-9_]*"),
    "heredoc_body": re.compile(rb".*", re.DOTALL),  # these two are compared with the shell's own rule below
    "heredoc_content": re.compile(rb".*", re.DOTALL),
}

_SIGNS = frozenset(
    (
        b"; ;; & && | || |& ! ( ) { } [ ] [[ ]] = == != += $ ${ $( ` <( >( < > >> >& <& &> &>> >| << <<- <<< - + "
        b'* " $(( )) :- :+ # ## % %% / // ^ ^^ , ,, if then elif else fi for in do done while until case esac '
        b"export"
    ).split()
) | {b"\n"}


_KEYWORDS = re.compile(r"\b(?:case|for|if|while|until|select|function)\b")
_UNUSUAL = re.compile(r"[^\n\t -~]")
# `cat > file <<'E'`, with nothing quoted before it: what follows is text up to the mark, to every shell.
_QUOTED_HERE = re.compile(r"[^'\"`\\#$()<\n]*<<-?[ ]?'([A-Za-z_]\w*)'[^'\"`\\#$()<\n]*\n")
_TESTS = frozenset({b"[", b"]", b"[[", b"]]"})
# What may stand right before or behind a word such as `then`; b"" is the beginning and the end.
_EDGES = (b"", *(bytes([each]) for each in b" \t\n;&|()<>`"))


def objection(text: str) -> str:
    """Why this text is not even looked at; empty if it may be."""
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST:,} characters"
    here = _QUOTED_HERE.match(text)
    body = text.find(f"\n{here[1]}\n", here.end() - 1) if here else -1
    counted = text if body < 0 or here is None else text[: here.end()] + text[body:]
    if sum(counted.count(sign) for sign in "$`|;&<>(){}[]") > MOST_SIGNS:
        return f"it has more than {MOST_SIGNS:,} signs of the shell's"
    if len(_KEYWORDS.findall(counted)) > MOST_KEYWORDS:
        return f"it has more than {MOST_KEYWORDS} words such as `if` and `case`"
    for letter in _UNUSUAL.findall(text):
        # Blanks that look like none, letters that turn the line around, half letters.
        if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}:
            return f"it holds an invisible or misleading character (U+{ord(letter):04X})"
    return ""


def disagreement(root: Node, source: bytes) -> str:
    """The first place where the grammar's tokens could be something else to a shell; empty if there is none."""
    if root.has_error:
        return "it is not the grammar of a shell, as far as can be told"
    if root.descendant_count > MOST_NODES:
        return f"it has more than {MOST_NODES:,} words and signs"
    at = 0
    stack: list[tuple[Node, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST:
            return "it is nested too deeply"
        if node.is_missing or node.is_error:
            return "a part of it is missing"
        if node.type in ("heredoc_body", "heredoc_end"):
            wrong = "" if node.type == "heredoc_end" else _here(node, source)
            if wrong:
                return wrong
        if node.type == "expansion" and _quotes_in_quotes(node):
            return "shells disagree about quotes in ${…} within quotes"
        if node.child_count:
            if node.type in _ON_ONE_LINE and not _one_line(node, source):
                return "a line ends in the middle of a command"
            if node.type in ("for_statement", "case_statement"):
                first, second = node.children[:2]
                if not _SAME_LINE.fullmatch(source, first.end_byte, second.start_byte):
                    return "a line ends in the middle of a command"
            stack.extend((child, depth + 1) for child in reversed(node.children))
            continue
        start, end = node.start_byte, node.end_byte
        if start < at:
            return "two parts of it overlap"
        if not _BLANK.fullmatch(source, at, start) and not _inside_here(node):
            return f"nobody knows what {_shown(source[at:start])} is for"
        text = source[start:end]
        if node.is_named:
            known = _LEAVES.get(node.type)
            if known is None or not known.fullmatch(text):
                return f"{_shown(text)} could mean something else to a shell"
            # `foo 0<<< x`: digits right before an arrow are its number, whatever the grammar says.
            arrow = text.isdigit() and source[end : end + 1] in (b"<", b">")
            if (arrow or node.type == "file_descriptor") != (
                node.type == "file_descriptor" and _is_descriptor(node, source)
            ):
                return "a number could be a word or a file"
            if node.type == "comment" and start and source[start - 1 : start] not in (b" ", b"\t", b"\n", b";"):
                return "a comment begins where a word may go on"
        elif text.strip(b" \t\n") not in _SIGNS and text not in _SIGNS:
            return f"{_shown(text)} is not understood here"
        elif text.isalpha() and not (source[start - 1 : start] in _EDGES and source[end : end + 1] in _EDGES):
            return f"{_shown(text)} could be a part of a longer word"
        elif text in _TESTS and node.parent is not None and node.parent.type == "test_command":
            before, after = source[start - 1 : start], source[end : end + 1]
            apart = (
                after in (b" ", b"\t") if text in (b"[", b"[[") else before in (b" ", b"\t") and after in _EDGES
            )
            if not apart or (text in (b"[", b"[[") and before not in _EDGES):
                return f"{_shown(text)} could be a part of a longer word"
        at = max(at, end)
    if not _BLANK.fullmatch(source, at, len(source)):
        return f"nobody knows what {_shown(source[at:])} is for"
    return ""


def _quotes_in_quotes(expansion: Node) -> bool:
    """`"${x-'}" ; rm a; echo "'}"`: one command to bash; to zsh and dash, where the quote is a letter, three."""
    if not any(sign in (expansion.text or b"") for sign in (b"'", b'"', b"\\")):
        return False
    above = expansion.parent
    while above is not None and above.type not in ("string", "heredoc_body", "command_substitution"):
        above = above.parent
    return above is not None and above.type != "command_substitution"


def _one_line(node: Node, source: bytes) -> bool:
    """Its parts stand on one line; and a command's words stand apart, or a shell would read them as one."""
    apart = node.type == "command"
    for before, after in zip(node.children, node.children[1:], strict=False):
        if not _SAME_LINE.fullmatch(source, before.end_byte, after.start_byte):
            return False
        touching = before.end_byte == after.start_byte
        if apart and touching and not after.type.endswith("_redirect"):
            return False
    return True


def _is_descriptor(node: Node, source: bytes) -> bool:
    """`2>`: digits that no word goes before, and the arrow right behind them."""
    before = source[node.start_byte - 1 : node.start_byte] if node.start_byte else b" "
    return before in b" \t\n;&|()" and source[node.end_byte : node.end_byte + 1] in (b"<", b">")


def _inside_here(node: Node) -> bool:
    """The text of a here-document is not tokens; where it begins and ends is checked by `_here`."""
    above = node
    while above is not None and above.type != "heredoc_body":
        above = above.parent
    return above is not None or node.type == "heredoc_end"


def _here(body: Node, source: bytes) -> str:
    """A shell takes whole lines, from the one after the `<<` up to the one that is the mark."""
    above = body.parent
    if above is None or above.type != "heredoc_redirect":
        return "a here-document stands where none can"
    starts = [child for child in above.children if child.type == "heredoc_start"]
    ends = [child for child in above.children if child.type == "heredoc_end"]
    arrows = [child for child in above.children if child.type in ("<<", "<<-")]
    if len(starts) != 1 or len(ends) != 1 or len(arrows) != 1:
        return "a here-document is not whole"
    line_end = source.find(b"\n", starts[0].end_byte)
    if line_end < 0 or source.count(b"<<", source.rfind(b"\n", 0, arrows[0].start_byte) + 1, line_end) > 1:
        return "two here-documents may begin on one line"
    if b"\\\n" in source[arrows[0].start_byte : line_end + 1] or source[line_end - 1 : line_end] == b"\\":
        return "the line of a here-document goes on"
    mark = starts[0].text or b""
    quoted = mark[:1] in (b"'", b'"')
    mark = mark.strip(b"'\"")
    at = line_end + 1
    while at < len(source):
        stop = source.find(b"\n", at)
        line = source[at : stop if stop >= 0 else len(source)]
        if (line.lstrip(b"\t") if arrows[0].type == "<<-" else line) == mark:
            inside = source[line_end + 1 : at]
            if not quoted and b"\\" in inside:
                return "a here-document with a backslash in it"
            same = body.start_byte >= line_end + 1 and body.end_byte <= at and ends[0].end_byte == at + len(line)
            expands = not quoted and (b"$" in inside or b"`" in inside)
            # Without quotes the shell expands it: the grammar must have seen every one of those.
            if expands and _expansions(body) != inside.count(b"$") + inside.count(b"`") // 2:
                return "not everything is seen that a here-document expands"
            return "" if same else "a here-document ends elsewhere for a shell"
        if stop < 0:
            break
        at = stop + 1
    return "a here-document does not end"


def _expansions(body: Node) -> int:
    """How many dollars and pairs of backticks the grammar has seen in it."""
    count = 0
    stack = [body]
    while stack:
        node = stack.pop()
        count += node.type in ("simple_expansion", "expansion", "command_substitution", "arithmetic_expansion")
        stack.extend(node.children)
    return count


def _shown(text: bytes) -> str:
    return repr(text[:30].decode("utf-8", "replace"))
