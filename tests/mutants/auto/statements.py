# SPDX-License-Identifier: GPL-2.0-only
"""C in the kernel's style, as far as mutation needs it: tokens, functions, statements.

Macros are not expanded: what stands in the source is what is mutated. The parser
knows statements only; expressions are lists of tokens. That each statement was
recognised is proved by the reach build (layers.py): it puts a marker before every
statement, must compile, and passes all tests.
"""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""
    (?P<space>\s+ | /\*.*?\*/ | //[^\n]* | (?<![^\n])[ \t]*\#(?:\\\n|[^\n])* | \\\n)
  | (?P<string>L?"(?:\\.|[^"\\])*")
  | (?P<char>'(?:\\.|[^'\\])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\.\.\.|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.X | re.S)

OPEN = {"(": ")", "[": "]", "{": "}"}
TYPES = set("""void char short int long unsigned signed bool const static volatile struct
    union enum u8 u16 u32 u64 s8 s16 s32 s64 __le16 __le32 __le64 __be16 __be32 __be64
    size_t ssize_t loff_t sector_t tid_t gfp_t ktime_t pgoff_t blk_opf_t errseq_t
    handle_t journal_t transaction_t DECLARE_BITMAP DEFINE_WAIT LIST_HEAD
    __maybe_unused extern register typeof""".split())


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    match: int = -1         # of a bracket: index of its partner


@dataclass
class Stmt:
    """first, last: its tokens, both inclusive."""
    kind: str               # expr decl if while do for loop switch block return ...
    first: int
    last: int
    cond: tuple = None      # tokens of the condition or of the value, inclusive
    body: list = field(default_factory=list)    # statements in it
    other: "Stmt" = None    # the else branch
    site: int = -1          # number of the marker before it
    parent: "Stmt" = None


@dataclass
class Function:
    name: str
    head: tuple             # tokens of its declaration
    body: Stmt
    text: str               # without comments, spaces one: what its hash is of


def tokenize(text):
    tokens, at, stack = [], 0, []
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise SyntaxError(f"no token at {text[at:at + 40]!r}")
        at = m.end()
        if m.lastgroup == "space":
            continue
        tokens.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
        if m.group() in OPEN:
            stack.append(len(tokens) - 1)
        elif m.group() in OPEN.values():
            if not stack or OPEN[tokens[stack[-1]].text] != m.group():
                raise SyntaxError(f"brackets do not match at {text[m.start():at + 40]!r}")
            tokens[-1].match = stack.pop()
            tokens[tokens[-1].match].match = len(tokens) - 1
    return tokens


class Source:
    """One file, with its functions."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.tok = tokenize(text)
        self.functions = list(self._functions())

    def slice(self, first, last):
        return self.text[self.tok[first].start:self.tok[last].end]

    def line(self, token):
        return self.text.count("\n", 0, self.tok[token].start) + 1

    def normal(self, first, last):
        return " ".join(t.text for t in self.tok[first:last + 1])

    def _functions(self):
        i, begin = 0, 0
        while i < len(self.tok):
            text = self.tok[i].text
            if text == "{":
                end = self.tok[i].match
                if self.tok[i - 1].text == ")" and "=" not in \
                        [t.text for t in self.tok[begin:i]]:
                    yield self._function(begin, i)
                i = end
                if i + 1 < len(self.tok) and self.tok[i + 1].text != ";":
                    begin = i + 1
            elif text == ";":
                begin = i + 1
            elif text in "([":
                i = self.tok[i].match
            i += 1

    def _function(self, begin, brace):
        name = begin
        while self.tok[name + 1].text != "(":
            name += 1
        body, after = self._stmt(brace)
        assert after == self.tok[brace].match + 1
        return Function(self.tok[name].text, (begin, brace - 1), body,
                        self.normal(begin, after - 1))

    # ---- statements ----

    def _stmt(self, i):
        """The statement that begins at token i, and the token after it."""
        stmt, after = self._parse(i)
        for inner in stmt.body + ([stmt.other] if stmt.other else []):
            inner.parent = stmt
        return stmt, after

    def _parse(self, i):
        tok, word = self.tok, self.tok[i].text
        if word == "{":
            body, at = [], i + 1
            while at < tok[i].match:
                inner, at = self._stmt(at)
                body.append(inner)
            return Stmt("block", i, at, body=body), at + 1
        if word == ";":
            return Stmt("empty", i, i), i + 1
        if word in ("if", "for", "while", "switch") or self._is_loop(i):
            return self._controlled(i, word)
        if word == "do":
            inner, at = self._stmt(i + 1)
            close = tok[at + 1].match
            return Stmt("do", i, close + 1, (at + 2, close - 1), [inner]), close + 2
        if word in ("case", "default") or (tok[i].kind == "word" and
                                           tok[i + 1].text == ":"):
            at = i
            while tok[at].text != ":":
                at += 1
            return Stmt("label", i, at), at + 1
        end = i
        while tok[end].text != ";":
            end = tok[end].match + 1 if tok[end].text in OPEN else end + 1
        if word == "return":
            return Stmt("return", i, end, (i + 1, end - 1) if end > i + 1 else None), end + 1
        if word in ("goto", "break", "continue"):
            return Stmt(word, i, end), end + 1
        return Stmt("decl" if self._is_decl(i) else "expr", i, end, (i, end - 1)), end + 1

    def _controlled(self, i, word):
        tok = self.tok
        close = tok[i + 1].match
        inner, at = self._stmt(close + 1)
        kind = word if word in ("if", "for", "while", "switch") else "loop"
        stmt = Stmt(kind, i, at - 1, (i + 2, close - 1), [inner])
        if word == "if" and at < len(tok) and tok[at].text == "else":
            stmt.other, at = self._stmt(at + 1)
            stmt.last = at - 1
        return stmt, at

    def _is_loop(self, i):
        """A macro that loops: list_for_each_entry(...) statement."""
        return self.tok[i].kind == "word" and "for_each" in self.tok[i].text and \
            self.tok[i + 1].text == "(" and self.tok[self.tok[i + 1].match + 1].text != ";"

    def _is_decl(self, i):
        tok = self.tok
        if tok[i].text in TYPES:
            return True
        if tok[i].kind != "word":
            return False
        at = i + 1
        while tok[at].text == "*":
            at += 1
        return tok[at].kind == "word" and (at == i + 1 or tok[at + 1].text in "=;,[")

    # ---- walks ----

    def statements(self, stmt):
        yield stmt
        for inner in stmt.body + ([stmt.other] if stmt.other else []):
            yield from self.statements(inner)

    def mark(self, first_site):
        """
        Number the statements and return the text with ZJ_REACH(number) before each,
        and the next number. Declarations have the number of the block around them, and
        so has the block of a switch, whose beginning nobody reaches.
        """
        edits, site = [], first_site
        for function in self.functions:
            for stmt in self.statements(function.body):
                stmt.site = site
                if stmt.kind in ("decl", "label", "empty") or \
                        stmt.parent and stmt.parent.kind == "switch":
                    stmt.site = stmt.parent.site
                    continue
                here, marker = self.tok[stmt.first], f"ZJ_REACH({site});"
                if stmt.kind == "block":
                    edits.append((here.end, here.end, marker))
                elif stmt.parent.kind == "block":
                    edits.append((here.start, here.start, marker + " "))
                else:
                    edits.append((here.start, here.start, "{ " + marker + " "))
                    end = self.tok[stmt.last].end
                    edits.append((end, end, " }"))
                site += 1
        return apply_edits(self.text, edits), site


def apply_edits(text, edits):
    """(start, end, new) each; those at one place keep their order."""
    out, at = [], 0
    for start, end, new in sorted(edits, key=lambda e: e[:2]):
        assert start >= at
        out += [text[at:start], new]
        at = end
    return "".join(out) + text[at:]
