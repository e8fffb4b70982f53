# SPDX-License-Identifier: GPL-2.0-only
"""The rules by which src/ is mutated.

    del     a statement deleted
    cut     the body of an if or of a loop never run: an error path, a check, a walk
    neg     a condition negated
    rel     a comparison widened or narrowed by one, == and != exchanged
    drop    one operand of && or || left out
    not     a ! left out
    const   a constant one more or one less; true and false exchanged
    ret     another value returned: 0, NULL, the contrary
    op      + and -, ++ and --, << and >>, & and |, min and max exchanged
    args    adjacent arguments of a call exchanged
    swap    adjacent statements exchanged
    lock    the same where one of them takes or releases a lock: its scope narrower
    once    a loop left after its first round

A mutant belongs to one class. "logic" is what the tests are judged by. The others are
counted apart, as a test has little or nothing to say about them:

    stat    counters for /proc: zj_count(), fields of zj_lane_stats and zj_comp_stats
    text    messages, and what they tell
    assert  WARN_ON, lockdep and might_sleep, and what is done after a WARN; ZJ_ASSERT(),
            which tests/mutants/asserts.py judges, and what is done where one fails
    order   memory barriers and scheduling hints: the simulator keeps program order

Of ZJ_ASSERT() only what leaves all as it is while the assertion holds: deleted, changed
within, its failure ignored, exchanged with another one or with a plain store to a field
that it does not name. Any other exchange, and the condition around it, is logic.
"""
import hashlib
import re
from dataclasses import dataclass

from statements import TYPES, apply_edits

CLASSES = [
    ("assert", re.compile(r"\b(WARN\w*|lockdep_\w+|might_sleep|BUG_ON|"
                          r"static_assert|BUILD_BUG_ON|sparse_\w+)\b")),
    ("text", re.compile(r"^(zj_(err|warn|info|notice|say|note)|pr_\w+|printk|"
                        r"(\w+ -> )+ops -> msg)\b")),
    ("stat", re.compile(r"^(zj_count|count_\w+|zj_comp_count_\w+) \(|"
                        r"(\bstats \.|zj_comp_stats_of \( .* \) ->) \w+( \[ .* \])? "
                        r"(\+\+|\+=|--|-=|=)|^(st|sum) -> |\bstats \. max_\w+")),
    ("order", re.compile(r"^(smp_w?r?mb|smp_mb\w*|smp_acquire\w*|barrier|cond_resched|"
                         r"prefetch\w*|cpu_relax|blk_\w+_plug) \(")),
]
# Where an assertion is all of a statement: alone, noted, or "if it fails".
ASSERTS = re.compile(r"^(?:(?:bool )?\w+ &?= |! )?ZJ_ASSERT \(")
# Reads that take their arguments alone, and a store of what has no other call.
READS = set("atomic_read refcount_read list_empty READ_ONCE BIT ZJ_ASSERT".split())
PLAIN_STORE = re.compile(r"^(?:[\w>. -]+ -> |[\w>. -]+ \. )?(\w+) (?:[-+|&]?= |\+\+|--)")
LOCKS = re.compile(r"^(spin|mutex|rcu_read|read|write|bit_spin)_(un)?lock\w* \(")
# Calls that store into their first argument and do nothing else.
STORES = r"(?:INIT_LIST_HEAD|init_waitqueue_head|spin_lock_init|mutex_init|refcount_set|" \
    r"atomic_set|atomic_inc|atomic_dec|init_completion|xa_init|kv?free|memcpy|memset|" \
    r"timer_setup|list_del|list_del_init)"
# Each changes a bit of its own, or wakes a queue of its own.
BITS = re.compile(r"^(?:(?:clear|set)_buffer_(?P<bit>\w+) \( [\w>.\s-]+ \)|"
                  r"zj_part_(?:set|clear) \( [\w>.\s-]+ , BIT \( (?P<part>\w+) \) \)|"
                  r"wake_up\w* \( .* \)) ;$")
# They add these two up.
SUMS = {"zj_nvm_records": "nr_revokes", "zj_chunk_tags": "nr_revokes",
        "zj_nvm_info_bytes": "nr_revokes"}
LIST_ADD = re.compile(r"^(?:list_add|list_add_tail|list_move|list_move_tail) "
                      r"\( &?([\w>. -]+?) , &?([\w>. -]+?) \) ;$")
NOT_CALLS = set("if while for switch return sizeof typeof min max min_t max_t __acquires "
                "__releases __must_hold swap container_of READ_ONCE BIT DECLARE_BITMAP "
                "offsetof".split())
EXCHANGED = {"+": "-", "-": "+", "++": "--", "--": "++", "+=": "-=", "-=": "+=",
             "<<": ">>", ">>": "<<", "&": "|", "|": "&", "|=": "&=", "&=": "|=",
             "min": "max", "max": "min", "min_t": "max_t", "max_t": "min_t"}
RELATED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


@dataclass
class Mutant:
    id: str
    file: str
    function: str
    rule: str
    kind: str               # its class
    line: int
    site: int               # of the statement it is in
    edits: list
    old: str
    new: str

    def apply(self, text):
        return apply_edits(text, self.edits)


class Mutator:
    """All mutants of one source whose statements are numbered."""

    def __init__(self, source):
        self.s, self.tok = source, source.tok
        self.mutants = []

    def run(self):
        for function in self.s.functions:
            self.function = function
            self.hash, self.count = self._hash(), {}
            self.by_count = self.function.name.startswith("count_")
            for stmt in self.s.statements(self.function.body):
                self._statement(stmt)
        return self.mutants

    def _hash(self):
        name, text = self.function.name, self.function.text
        twins = [f for f in self.s.functions if f.name == name]
        salt = twins.index(self.function) if len(twins) > 1 else ""
        return hashlib.sha1(f"{salt}{text}".encode()).hexdigest()[:8]

    # ---- one mutant ----

    def _class(self, stmt, first, last):
        inside = self.s.normal(first, last)
        if stmt.kind in ("expr", "decl", "return"):
            whole = self.s.normal(stmt.first, stmt.last)
        elif stmt.kind == "block":
            whole = inside
        else:
            whole = self.s.normal(stmt.first, stmt.cond[1]) if stmt.cond else inside
        if self._in_message(first):
            return "text"
        guard = stmt.parent
        while guard and guard.kind == "block":
            guard = guard.parent
        if self._asserts(stmt, first, last) or guard and guard.kind == "if" and \
                self._is_failed(*guard.cond):
            return "assert"
        for name, pattern in CLASSES:
            if pattern.search(whole) or pattern.search(inside):
                return name
        if self.by_count:
            return "stat"
        if guard and guard.kind == "if" and CLASSES[0][1].search(
                self.s.normal(*guard.cond)):
            return "assert"
        return "logic"

    def _is_assert(self, first, last):
        """These tokens are one ZJ_ASSERT() and no more."""
        if self.tok[last].text == ";":
            last -= 1
        found = ASSERTS.match(self.s.normal(first, last))
        return bool(found) and self.tok[last].match == first + found.group().count(" ")

    def _is_failed(self, first, last):
        """A condition that asks only whether an assertion failed."""
        return self.tok[first].text == "!" and self._is_assert(first, last)

    def _asserts(self, stmt, first, last):
        """It is an assertion, or part of one, that is changed."""
        if stmt.kind in ("expr", "decl") and stmt.first <= first <= last <= stmt.last and \
                self._is_assert(stmt.first, stmt.last):
            return True
        if stmt.kind in ("if", "while") and stmt.cond == (first, last):
            return self._is_failed(first, last)
        return self._is_assert(first, last) or any(
            self.tok[i].text == "ZJ_ASSERT" and i + 1 < first and
            last < self.tok[i + 1].match for i in range(stmt.first, first))

    def _in_message(self, first):
        """Among the arguments of a call that has a text, or of a call in these."""
        depth = 0
        for i in range(first - 1, -1, -1):
            text = self.tok[i].text
            if text in (";", "{", "}"):
                return False
            depth += (text in ")]") - (text in "([")
            if depth < 0:
                depth = 0
                if text == "(" and self._has_text(i):
                    return True
        return False

    def _has_text(self, i):
        inside = range(i + 1, self.tok[i].match)
        return any(self.tok[k].kind == "string" for k in self._top(inside[0], inside[-1])) \
            if inside else False

    def _add(self, rule, stmt, first, last, new, extra=(), kind=None):
        """Tokens first..last become new; the number of lines stays."""
        start, end = self.tok[first].start, self.tok[last].end
        old = self.s.text[start:end]
        new_lines = old.count("\n") - new.count("\n")
        edits = [(start, end, new + "\n" * max(new_lines, 0)), *extra]
        n = self.count[rule] = self.count.get(rule, -1) + 1
        self.mutants.append(Mutant(
            f"{self.s.name}:{self.function.name}:{self.hash}:{rule}:{n}",
            self.s.name, self.function.name, rule, kind or self._class(stmt, first, last),
            self.s.line(first), stmt.site, edits, " ".join(old.split()),
            " ".join(new.split())))

    # ---- statements ----

    def _statement(self, stmt):
        alone = stmt.parent and stmt.parent.kind == "if"
        if stmt.kind == "expr" and not alone:
            self._add("del", stmt, stmt.first, stmt.last, ";")
        elif stmt.kind in ("goto", "break", "continue") and not alone:
            self._add("del", stmt, stmt.first, stmt.last, ";")
        elif stmt.kind == "return":
            self._return(stmt, alone)
        elif stmt.kind in ("if", "while", "do"):
            self._condition(stmt)
        elif stmt.kind == "for":
            parts = self._split(*stmt.cond, ";")
            if len(parts) == 3 and parts[1]:
                self._wrap("cut", stmt, *parts[1], "({}) && 0")
        elif stmt.kind == "loop":
            self._add("cut", stmt, stmt.first, stmt.last, ";")
        if stmt.kind in ("for", "while", "loop"):
            self._once(stmt)
        if stmt.kind == "block":
            for one, two in zip(stmt.body, stmt.body[1:]):
                self._swap(one, two)
        if stmt.cond:
            self._expression(stmt, *stmt.cond)

    def _wrap(self, rule, stmt, first, last, form):
        self._add(rule, stmt, first, last, form.format(self.s.slice(first, last)))

    def _condition(self, stmt):
        first, last = stmt.cond
        if first > last:
            return
        if stmt.kind == "if" and stmt.other:
            self._wrap("cut", stmt, first, last, "({}) || 1")
        if stmt.kind != "do":
            self._wrap("cut", stmt, first, last, "({}) && 0")
        single = [i for i in self._top(first, last) if self.tok[i].text in ("==", "!=")]
        joined = [i for i in self._top(first, last)
                  if self.tok[i].text in ("&&", "||", "?")]
        plain_not = self.tok[first].text == "!" and not joined
        if not (plain_not or (single and not joined)):
            self._wrap("neg", stmt, first, last, "!({})")

    def _return(self, stmt, alone):
        if not stmt.cond:
            if not alone:
                self._add("del", stmt, stmt.first, stmt.last, ";")
            return
        first, last = stmt.cond
        value = self.s.slice(first, last)
        head = self.s.normal(*self.function.head).split(" " + self.function.name)[0]
        if "*" in head:
            if value != "NULL":
                self._add("ret", stmt, first, last, f"((void)({value}), NULL)")
        elif re.search(r"\bbool\b", head):
            if value not in ("true", "false") and self.tok[first].text != "!":
                self._add("ret", stmt, first, last, f"!({value})")
        elif value != "0":
            self._add("ret", stmt, first, last, f"((void)({value}), 0)")

    def _once(self, stmt):
        body = stmt.body[0]
        text = self.s.slice(body.first, body.last)
        if body.kind != "empty" and not re.search(r"(break|return[^;]*);\s*}?\s*$", text):
            self._add("once", stmt, body.first, body.last, "{ " + text + " break; }")

    def _swap(self, one, two):
        a, b = (self.s.normal(x.first, x.last) for x in (one, two))
        locks = [bool(LOCKS.match(x)) for x in (a, b)]
        if a == b:
            return
        if any(locks) and not all(locks):
            other = two if locks[0] else one
            if other.kind not in ("expr", "if", "while", "for", "loop", "do", "block"):
                return
            # Only what makes the scope narrower.
            if "unlock" in (b if locks[1] else a) if locks[0] else "unlock" not in b:
                return
            rule = "lock"
        elif one.kind == two.kind == "expr" and not self._independent(one, two):
            rule = "swap"
        else:
            return
        text = [self.s.slice(x.first, x.last) for x in (one, two)]
        between = self.s.text[self.tok[one.last].end:self.tok[two.first].start]
        # To exchange a counter, or a message, with anything says little about that.
        kinds = [self._class(x, x.first, x.last) for x in (one, two)]
        kind = next((k for k in kinds if k != "logic"), None) if rule == "swap" else None
        if rule == "swap" and "logic" in kinds and self._may_decide(one, two):
            kind = "logic"
        self._add(rule, two if rule == "lock" and locks[0] else one, one.first, two.last,
                  text[1] + between + text[0], kind=kind)

    def _may_decide(self, one, two):
        """One is an assertion, and the other one may change whether it holds."""
        asserts = [self._is_assert(x.first, x.last) for x in (one, two)]
        if not any(asserts) or all(asserts):
            return False
        other, checked = (self.s.normal(x.first, x.last) for x in
                          ((two, one) if asserts[0] else (one, two)))
        calls = set(re.findall(r"([A-Za-z_]\w*) \(", other + checked)) - READS
        store = PLAIN_STORE.match(other)
        return bool(calls) or not store or store.group(1) in checked.split() or \
            bool(re.search(r"\+\+|--", other[store.end():]))

    def _independent(self, one, two):
        """Two plain assignments, or one beside what does not name its target."""
        texts = [self.s.normal(x.first, x.last) for x in (one, two)]
        bits = [BITS.match(t) for t in texts]
        if all(bits):
            return bits[0].groups() != bits[1].groups() or not any(bits[0].groups())
        texts = self._without_lists(texts)
        if not texts:
            return False
        texts = [re.sub(rf"^{STORES} \( &?", "WRITE_ONCE ( ", t) for t in texts]
        calls = [re.search(r"\b(?!READ_ONCE|WRITE_ONCE|BIT|min|max|min_t|max_t|cpu_to_\w+|"
                           r"[lb]e\w+_to_cpu|sizeof|ktime_get_real_seconds)[A-Za-z_]\w* \(", t)
                 for t in texts]
        if all(calls):
            return False
        target = [re.match(r"(?:WRITE_ONCE \( )?([\w>.\[\] -]+?) "
                           r"(?:,|\)|=|[-+*/|&]=|<<=|>>=|\+\+|--)", t) for t in texts]
        if any(calls):
            # A local variable that the other does not name.
            i = 0 if calls[1] else 1
            return bool(target[i]) and "->" not in texts[i] and "*" not in texts[i] and \
                not self._names(texts[1 - i], target[i].group(1).strip())
        if not all(target):
            return False
        names = [t.group(1).strip() for t in target]
        return not self._names(texts[1], names[0]) and not self._names(texts[0], names[1])

    @staticmethod
    def _names(text, what):
        """Not as the beginning of a longer name."""
        return re.search(re.escape(what) + r"(?!\w)", text)

    @staticmethod
    def _without_lists(texts):
        """
        What goes on a list is a store into its link, if the other statement names neither
        that nor the list; else None.
        """
        out = list(texts)
        for i in (0, 1):
            found = LIST_ADD.match(texts[i])
            if not found:
                continue
            if found.group(2) in texts[1 - i] or found.group(1) in texts[1 - i]:
                return None
            out[i] = f"{found.group(1)} = 0 ;"
        return out

    # ---- expressions ----

    def _top(self, first, last):
        """Tokens outside of all brackets."""
        i = first
        while i <= last:
            yield i
            i = self.tok[i].match + 1 if self.tok[i].match > i else i + 1

    def _split(self, first, last, *marks):
        parts, begin = [], first
        for i in self._top(first, last):
            if self.tok[i].text in marks:
                parts.append((begin, i - 1) if i > begin else None)
                begin = i + 1
        parts.append((begin, last) if last >= begin else None)
        return parts

    def _binary(self, i):
        before = self.tok[i - 1]
        return before.kind in ("number", "word", "char") and before.text != "return" or \
            before.text in (")", "]")

    def _operands(self, stmt, first, last):
        """Leave out each operand of || and &&, in each expression on its own."""
        for part in self._split(first, last, "?", ":", ",", ";", "=", "|=", "&="):
            if not part:
                continue
            ors = self._split(*part, "||")
            if all(ors) and len(ors) > 1:
                for operand in ors:
                    self._add("drop", stmt, *operand, "0")
            for group in ors:
                ands = self._split(*group, "&&") if group else []
                if all(ands) and len(ands) > 1:
                    for operand in ands:
                        self._add("drop", stmt, *operand, "1")

    def _expression(self, stmt, first, last):
        if first > last:
            return
        self._operands(stmt, first, last)
        whole = stmt.kind in ("if", "while") and (first, last) == stmt.cond
        for i in range(first, last + 1):
            token = self.tok[i]
            if token.text in RELATED:
                self._add("rel", stmt, i, i, RELATED[token.text])
            elif token.text == "!":
                self._add("not", stmt, i, i, "")
            elif token.text == "?" and not whole:
                self._ternary(stmt, first, i)
            elif token.kind == "number":
                self._number(stmt, i)
            elif token.text in ("true", "false"):
                self._add("const", stmt, i, i,
                          "true" if token.text == "false" else "false")
            elif token.text in EXCHANGED:
                self._operator(stmt, i)
            elif token.text == "(" and i > first:
                self._operands(stmt, i + 1, token.match - 1)
                if self.tok[i - 1].kind == "word":
                    self._arguments(stmt, i)

    def _ternary(self, stmt, first, i):
        if self.tok[i + 1].text == ":":
            return
        begin = i
        while begin > first and self.tok[begin - 1].text not in ("=", "(", ",", "?", ":",
                                                                 "return", "|=", "+="):
            begin = self.tok[begin - 1].match if self.tok[begin - 1].text in ")]" \
                else begin - 1
        if begin < i and self.tok[begin].text != "!":
            self._wrap("neg", stmt, begin, i - 1, "!({})")

    def _number(self, stmt, i):
        digits = re.match(r"0[xX][0-9a-fA-F]+|\d+", self.tok[i].text).group()
        suffix, value = self.tok[i].text[len(digits):], int(digits, 0)
        self._add("const", stmt, i, i, f"{value + 1}{suffix}")
        if value:
            self._add("const", stmt, i, i, f"{value - 1}{suffix}")

    def _operator(self, stmt, i):
        text = self.tok[i].text
        if text in ("+", "-", "&") and not self._binary(i):
            return
        if text in ("min", "max", "min_t", "max_t") and self.tok[i + 1].text != "(":
            return
        self._add("op", stmt, i, i, EXCHANGED[text])

    def _arguments(self, stmt, i):
        name = self.tok[i - 1].text
        if name in NOT_CALLS or name in TYPES or "for_each" in name:
            return
        args = self._split(i + 1, self.tok[i].match - 1, ",")
        if not all(args):
            return
        for one, two in zip(args, args[1:]):
            a, b = self.s.slice(*one), self.s.slice(*two)
            if b.endswith(SUMS.get(name, " ")) and a.endswith("nr_deps"):
                continue
            if a != b and '"' not in a + b:
                self._add("args", stmt, one[0], two[1], f"{b}, {a}")
