# SPDX-License-Identifier: GPL-2.0-only
"""A small explorer of litmus tests of the kernel's memory model, for machines without herd7.

It takes tests in herd's C format as the kernel has them (tools/memory-model), and tries all that
each thread may read. Of the executions that satisfy the "exists" clause it looks for one that the
model's axioms allow: coherence, atomicity, happens-before, propagation and RCU. There is no SRCU,
no loop and no data race in it.
"""
import itertools
import re

TOKEN = re.compile(r"\s*(?:(\d+|0x[0-9a-f]+)|([A-Za-z_]\w*)|(/\\|\\/|==|!=|<=|>=|&&|\|\||[-+<>!&*(){};,=~:?|]))")
FENCES = {"smp_mb": "mb", "smp_rmb": "rmb", "smp_wmb": "wmb", "rcu_read_lock": "lock", "rcu_read_unlock": "unlock",
          "synchronize_rcu": "gp", "smp_mb__after_spinlock": "after-spinlock"}
BINARY = [("||",), ("&&",), ("==", "!=", "<", ">", "<=", ">="), ("+", "-", "&", "|")]


class Refused(Exception):
    """The test uses what the explorer does not know."""


# ---- parser ----

class Parser:
    def __init__(self, text):
        text = re.sub(r"\(\*\s.*?\*\)|/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
        # The first line is the name.
        _, _, text = text.rstrip().partition("\n")
        self.tokens, at = [], 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise Refused(f"cannot read {text[at:at + 20]!r}")
            self.tokens.append(match[1] or match[2] or match[3])
            at = match.end()
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, want=None):
        token = self.peek()
        if want is not None and token != want:
            raise Refused(f"{want!r} expected, not {token!r}")
        self.at += 1
        return token

    def maybe(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    # An expression is a nested tuple: ("int", 1), ("reg", "r0"), ("load", e, tags), ("call", name, [e]), ("+", a, b).
    def expression(self, level=0):
        if level == len(BINARY):
            return self.unary()
        left = self.expression(level + 1)
        while self.peek() in BINARY[level]:
            left = (self.take(), left, self.expression(level + 1))
        return left

    def unary(self):
        if self.maybe("!"):
            return ("!", self.unary())
        if self.maybe("-"):
            return ("-", ("int", 0), self.unary())
        if self.maybe("*"):
            return ("load", self.unary(), "plain")
        if self.maybe("&"):
            return self.unary()
        if self.maybe("("):
            inner = self.expression()
            self.take(")")
            return inner
        token = self.take()
        if token.isdigit() or token.startswith("0x"):
            return ("int", int(token, 0))
        if not self.maybe("("):
            return ("reg", token)
        arguments = []
        while not self.maybe(")"):
            arguments.append(self.expression())
            self.maybe(",")
        return ("call", token, arguments)

    def block(self):
        if self.maybe("{"):
            body = []
            while not self.maybe("}"):
                body += self.statement()
            return body
        return self.statement()

    def statement(self):
        if self.maybe(";"):
            return []
        if self.peek() == "{":
            return self.block()
        if self.maybe("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.block()
            return [("if", condition, then, self.block() if self.maybe("else") else [])]
        if self.peek() in ("int", "long", "unsigned", "spinlock_t", "u64", "atomic_t"):
            return self.declaration()
        if self.peek() == "*":
            self.take()
            where = self.unary()
            self.take("=")
            found = ("store", where, self.expression(), "plain")
        else:
            first = self.expression()
            found = ("set", first[1], self.expression()) if self.maybe("=") else ("do", first)
        self.take(";")
        return [found]

    def declaration(self):
        while re.match(r"\w", self.peek(1) or ";") or self.peek(1) == "*":
            if self.take() not in ("int", "long", "unsigned", "spinlock_t", "u64", "atomic_t", "*"):
                raise Refused("a declaration")
        found = []
        while True:
            name = self.take()
            if self.maybe("="):
                found.append(("set", name, self.expression()))
            if not self.maybe(","):
                break
            while self.maybe("*"):
                pass
        self.take(";")
        return found

    def test(self):
        self.take("{")
        start = {}
        while not self.maybe("}"):
            while self.peek(1) not in ("=", ";"):
                self.take()
            name = self.take()
            start[name] = self.expression() if self.maybe("=") else ("int", 0)
            self.take(";")
        threads = []
        while re.match(r"P\d+$", self.peek()):
            self.take()
            self.take("(")
            parameters = []
            while not self.maybe(")"):
                if self.peek(1) in (",", ")"):
                    parameters.append(self.peek())
                self.take()
            threads.append((parameters, self.block()))
        self.take("exists")
        return start, threads, self.condition()

    def condition(self):
        left = self.conjunction()
        while self.maybe("\\/"):
            left = ("or", left, self.conjunction())
        return left

    def conjunction(self):
        left = self.literal()
        while self.maybe("/\\"):
            left = ("and", left, self.literal())
        return left

    def literal(self):
        if self.maybe("~"):
            return ("not", self.literal())
        if self.maybe("("):
            inner = self.condition()
            self.take(")")
            return inner
        name = self.take()
        if self.maybe(":"):
            name = (int(name), self.take())
        self.take("=")
        return ("is", name, self.expression())


# ---- one thread ----

class Event:
    def __init__(self, thread, kind, loc, val, tags, addr=frozenset(), data=frozenset(), ctrl=frozenset()):
        self.thread, self.kind, self.loc, self.val, self.tags = thread, kind, loc, val, tags
        self.addr, self.data, self.ctrl = addr, data, ctrl
        self.rmw = None			# of a write: its read


class Choice(Exception):
    """A read needs a value that was not chosen yet."""


class Run:
    """One thread, whose reads return the values that were chosen for them."""

    def __init__(self, index, names, chosen, domain):
        self.index, self.names, self.chosen, self.domain = index, names, list(chosen), domain
        self.events, self.registers, self.taint, self.control = [], {}, {}, frozenset()

    def read(self, loc, tags, addr, wanted=None):
        options = sorted(self.domain.get(loc, {0}), key=str)
        if wanted is not None:
            options = [value for value in options if value in wanted]
        if not self.chosen:
            raise Choice(options)
        val = self.chosen.pop(0)
        event = Event(self.index, "R", loc, val, tags, addr=addr, ctrl=self.control)
        self.events.append(event)
        return event

    def write(self, loc, val, tags, addr, data):
        event = Event(self.index, "W", loc, val, tags, addr, data, self.control)
        self.events.append(event)
        return event

    def fence(self, kind):
        if kind:
            self.events.append(Event(self.index, "F", None, None, {kind}))

    def modify(self, loc, addr, order, new, expected=None):
        """A read and a write in one step; returns the read."""
        # Like herd: a full barrier on both sides, if it changes anything.
        at = len(self.events)
        read = self.read(loc, {"acquire"} if order == "acquire" else {"once"}, addr)
        if expected is not None and read.val != expected[0]:
            read.tags = {"once"}
            return read
        if order == "mb":
            self.events.insert(at, Event(self.index, "F", None, None, {"mb"}))
        val, data = new(read)
        write = self.write(loc, val, {"release"} if order == "release" else {"once"}, addr, data)
        write.rmw = read
        if order == "mb":
            self.fence("mb")
        return read

    def call(self, name, args):
        order = re.match(r"(?:cmpxchg|xchg)(?:_(\w+))?$", name)
        if name in FENCES:
            self.fence(FENCES[name])
            return 0, frozenset()
        if name in ("READ_ONCE", "rcu_dereference", "WRITE_ONCE", "rcu_assign_pointer"):
            where = args[0][1] if args[0][0] == "load" else args[0]
        else:
            where = args[1 if "_return" in name else 0]
        loc, addr = self.value(where)
        if name in ("READ_ONCE", "rcu_dereference", "smp_load_acquire"):
            read = self.read(loc, {"acquire"} if "acquire" in name else {"once"}, addr)
            return read.val, frozenset([read])
        if name in ("WRITE_ONCE", "rcu_assign_pointer", "smp_store_release"):
            val, data = self.value(args[1])
            self.write(loc, val, {"once"} if name == "WRITE_ONCE" else {"release"}, addr, data)
            return 0, frozenset()
        if name == "spin_lock":
            read = self.read(loc, {"acquire", "LKR"}, addr, wanted={0})
            self.write(loc, 1, {"once", "LKW"}, addr, frozenset()).rmw = read
            return 0, frozenset()
        if name == "spin_unlock":
            self.write(loc, 0, {"release", "UL"}, addr, frozenset())
            return 0, frozenset()
        counted = re.match(r"atomic_(?:(dec_and_test)|(inc|dec)|(?:sub|add)_return(?:_(\w+))?)$", name)
        if counted:
            return self.count(name, counted, args)
        if name in ("atomic_read", "atomic_read_acquire"):
            read = self.read(loc, {"acquire" if "acquire" in name else "once"}, addr)
            return read.val, frozenset([read])
        if order:
            kind = {None: "mb", "relaxed": "once"}.get(order[1], order[1])
            expected = self.value(args[1]) if name.startswith("cmpxchg") else None
            new = self.value(args[-1])
            read = self.modify(loc, addr, kind, lambda _: new, expected)
            return read.val, frozenset([read])
        raise Refused(f"{name}()")

    def count(self, name, how, args):
        loc, addr = self.value(args[1] if "_return" in name else args[0])
        by = self.value(args[0])[0] if "_return" in name else 1
        by = -by if "sub" in name or "dec" in name else by
        kind = "mb" if how[1] else "once" if how[2] else {None: "mb", "relaxed": "once"}.get(how[3], how[3])
        read = self.modify(loc, addr, kind, lambda read: (read.val + by, frozenset([read])))
        if how[2]:
            read.tags = read.tags | {"noreturn"}
        return int(read.val + by == 0) if how[1] else read.val + by, frozenset([read])

    def value(self, e):
        """Value and the reads that it comes from."""
        if e[0] == "int":
            return e[1], frozenset()
        if e[0] == "reg":
            if e[1] in self.registers:
                return self.registers[e[1]], self.taint[e[1]]
            return e[1], frozenset()
        if e[0] == "load":
            loc, addr = self.value(e[1])
            read = self.read(loc, {"plain"}, addr)
            return read.val, frozenset([read])
        if e[0] == "call":
            return self.call(e[1], e[2])
        if e[0] == "!":
            val, taint = self.value(e[1])
            return int(not val), taint
        (a, one), (b, two) = self.value(e[1]), self.value(e[2])
        result = {"==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, ">": lambda: a > b, "<=": lambda: a <= b,
                  ">=": lambda: a >= b, "+": lambda: a + b, "-": lambda: a - b, "&": lambda: a & b, "|": lambda: a | b,
                  "&&": lambda: a and b, "||": lambda: a or b}[e[0]]()
        return int(result) if isinstance(result, bool) else result, one | two

    def execute(self, body):
        for s in body:
            if s[0] == "set":
                self.registers[s[1]], self.taint[s[1]] = self.value(s[2])
            elif s[0] == "store":
                loc, addr = self.value(s[1])
                val, data = self.value(s[2])
                self.write(loc, val, {"plain"}, addr, data)
            elif s[0] == "do":
                self.value(s[1])
            else:
                val, taint = self.value(s[1])
                outer, self.control = self.control, self.control | taint
                self.execute(s[2] if val else s[3])
                self.control = outer


def runs(index, thread, domain):
    """All runs of a thread whose reads return values of the domain."""
    todo = [[]]
    while todo:
        chosen = todo.pop()
        run = Run(index, thread[0], chosen, domain)
        try:
            run.execute(thread[1])
            yield run
        except Choice as choice:
            todo += [chosen + [value] for value in choice.args[0]]


# ---- relations: a list of bit masks, of the events that each event is related to ----

def bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def join(*relations):
    """One after the other."""
    result = relations[0]
    for relation in relations[1:]:
        made = []
        for mask in result:
            out = 0
            for bit in bits(mask):
                out |= relation[bit]
            made.append(out)
        result = made
    return result


def either(*relations):
    return [x if len(row) == 1 else _or(row) for row in zip(*relations) for x in (row[0],)]


def _or(row):
    out = 0
    for mask in row:
        out |= mask
    return out


def both(one, two):
    return [a & b for a, b in zip(one, two)]


def maybe(relation):
    return [mask | 1 << i for i, mask in enumerate(relation)]


def transitive(relation):
    result = list(relation)
    for k in range(len(result)):
        for i, mask in enumerate(result):
            if mask >> k & 1:
                result[i] |= result[k]
    return result


def acyclic(relation):
    return not any(mask >> i & 1 for i, mask in enumerate(transitive(relation)))


class Execution:
    """The events of all threads, and what the model says of them."""

    def __init__(self, start, chosen):
        self.events = [Event(-1, "W", loc, val, {"once", "initial"}) for loc, val in start.items()]
        self.events += [event for run in chosen for event in run.events]
        self.number = {event: i for i, event in enumerate(self.events)}
        n = len(self.events)
        self.po = [0] * n
        for i, a in enumerate(self.events):
            for j in range(i + 1, n):
                if a.thread >= 0 and a.thread == self.events[j].thread:
                    self.po[i] |= 1 << j
        self.same = [sum(1 << j for j, b in enumerate(self.events) if b.thread == a.thread and b.thread >= 0)
                     for a in self.events]
        self.all = (1 << n) - 1
        self.int = self.same
        self.ext = [self.all & ~mask for mask in self.same]

    def only(self, test):
        """The identity of the events that pass."""
        return [(1 << i) if test(event) else 0 for i, event in enumerate(self.events)]

    def from_sets(self, name):
        """The dependencies: from reads to the event that has them in a set."""
        result = [0] * len(self.events)
        for i, event in enumerate(self.events):
            for read in getattr(event, name):
                result[self.number[read]] |= 1 << i
        return result

    def fenced(self, kind, before="RW", after="RW"):
        first = self.only(lambda e: e.kind in before)
        last = self.only(lambda e: e.kind in after)
        fence = self.only(lambda e: e.kind == "F" and kind in e.tags)
        return join(first, self.po, fence, self.po, last)

    def fixed(self):
        """What does not depend on who reads from whom."""
        tag = lambda *names: self.only(lambda e: e.kind != "F" and any(n in e.tags for n in names))  # noqa: E731
        self.memory = self.only(lambda e: e.kind != "F")
        self.marked = self.only(lambda e: e.kind != "F" and "plain" not in e.tags)
        self.reads, self.writes = self.only(lambda e: e.kind == "R"), self.only(lambda e: e.kind == "W")
        self.acquire_po = join(tag("acquire"), self.po, self.memory)
        self.po_release = join(self.memory, self.po, tag("release"))
        after_lock = join(self.memory, maybe(self.po), tag("LKW"), self.po,
                          self.only(lambda e: "after-spinlock" in e.tags), self.po, self.memory)
        self.grace = self.only(lambda e: e.kind == "F" and "gp" in e.tags)
        self.strong = either(self.fenced("mb"), after_lock, join(self.po, self.grace, maybe(self.po)))
        self.wmb = self.fenced("wmb", "W", "W")
        returning = self.only(lambda e: e.kind == "R" and "noreturn" not in e.tags)
        self.rmb = join(returning, self.fenced("rmb", "R", "R"), returning)
        self.fixed_rcu()
        self.addr, self.data, self.ctrl = (self.from_sets(name) for name in ("addr", "data", "ctrl"))
        self.rmw = [0] * len(self.events)
        for i, event in enumerate(self.events):
            if event.rmw:
                self.rmw[self.number[event.rmw]] |= 1 << i
        self.unlock, self.lock_read = tag("UL"), tag("LKR")
        self.plain = tag("plain")
        by_loc = {}
        for i, event in enumerate(self.events):
            by_loc.setdefault(event.loc, []).append(i)
        self.same_loc = [0] * len(self.events)
        for loc, members in by_loc.items():
            mask = sum(1 << i for i in members)
            for i in members if loc is not None else ():
                self.same_loc[i] = mask

    def fixed_rcu(self):
        """From each end of a read section to its beginning."""
        self.section = [0] * len(self.events)
        for i, event in enumerate(self.events):
            if event.kind == "F" and "unlock" in event.tags:
                begin = max(j for j in range(i) if self.po[j] >> i & 1 and "lock" in self.events[j].tags)
                self.section[i] |= 1 << begin

    def sources(self):
        """All ways in which each read can read a write, and in which the writes of each location follow each other."""
        reads = [i for i, e in enumerate(self.events) if e.kind == "R"]
        writers = [[j for j, w in enumerate(self.events) if w.kind == "W" and w.loc == self.events[i].loc
                    and w.val == self.events[i].val] for i in reads]
        orders = []
        for loc in sorted({e.loc for e in self.events if e.kind == "W"}, key=str):
            first = [i for i, e in enumerate(self.events) if e.kind == "W" and e.loc == loc and e.thread < 0]
            rest = [i for i, e in enumerate(self.events) if e.kind == "W" and e.loc == loc and e.thread >= 0]
            orders.append([tuple(first) + order for order in itertools.permutations(rest)])
        for order in itertools.product(*orders):
            for sources in itertools.product(*writers):
                yield order, list(zip(sources, reads))

    def allowed(self, order, sources):
        n = len(self.events)
        rf, co, fr = [0] * n, [0] * n, [0] * n
        for writer, reader in sources:
            rf[writer] |= 1 << reader
        for line in order:
            for k, i in enumerate(line):
                co[i] = sum(1 << j for j in line[k + 1:])
        for writer, reader in sources:
            fr[reader] = co[writer] & ~(1 << reader)
        if not acyclic(either(both(self.po, self.same_loc), rf, co, fr)):
            return False
        fre, coe = both(fr, self.ext), both(co, self.ext)
        if any(both(self.rmw, join(fre, coe))):
            return False
        return self.ordered(rf, co, fr)

    def ordered(self, rf, co, fr):
        rfe, rfi = both(rf, self.ext), both(rf, self.int)
        handed_on = join(self.po, self.unlock, either(self.po, rf), self.lock_read, self.po)
        fence = either(self.strong, self.po_release, self.acquire_po, self.wmb, self.rmb)
        overwrite = either(co, fr)
        dep = either(self.addr, self.data)
        to_write = either(join(either(dep, self.ctrl), self.writes), both(overwrite, self.int),
                          join(self.addr, self.plain, self.wmb))
        to_read = either(join(self.addr, self.reads), join(dep, self.marked, rfi))
        ppo = either(to_read, to_write, both(fence, self.int), both(handed_on, self.int))
        seen_first = maybe(join(rfe, self.marked))
        sequence = maybe(transitive(join(rf, self.rmw)))
        cumulative = join(self.marked, either(join(seen_first, either(self.strong, self.po_release)), self.wmb, handed_on),
                          self.marked, sequence)
        prop = join(self.marked, maybe(both(overwrite, self.ext)), maybe(transitive(cumulative)), self.marked, maybe(rfe),
                    self.marked)
        inside = [mask & same & ~(1 << i) for i, (mask, same) in enumerate(zip(prop, self.int))]
        hb = join(self.marked, either(ppo, rfe, inside), self.marked)
        if not acyclic(hb):
            return False
        hb = maybe(transitive(hb))
        pb = join(prop, self.strong, hb, self.marked)
        return acyclic(pb) and self.rcu_allows(prop, hb, maybe(transitive(pb)))

    def rcu_allows(self, prop, hb, pb):
        """At least as many grace periods as read sections in a row are as a strong fence."""
        if not any(self.grace):
            return True
        link = join(maybe(self.po), hb, pb, prop, self.po)
        order, before = self.grace, None
        while order != before:
            before = order
            ends = either(link, join(link, order, link))
            order = either(order, join(self.grace, ends, self.section), join(self.section, ends, self.grace),
                           join(order, link, order))
        fence = join(self.po, order, maybe(self.po))
        cycle = join(prop, fence, hb, pb, self.marked)
        return not any(mask >> i & 1 for i, mask in enumerate(cycle))


# ---- the whole test ----

def holds(condition, chosen, last):
    kind = condition[0]
    if kind == "is":
        name, wanted = condition[1], condition[2][1]
        have = chosen[name[0]].registers.get(name[1], 0) if isinstance(name, tuple) else last[name]
        return have == wanted
    if kind == "not":
        return not holds(condition[1], chosen, last)
    sides = [holds(part, chosen, last) for part in condition[1:]]
    return all(sides) if kind == "and" else any(sides)


def names_memory(condition):
    if condition[0] == "is":
        return not isinstance(condition[1], tuple)
    return any(names_memory(part) for part in condition[1:])


def explore(text):
    """Does the model allow an execution after which the test's "exists" clause holds?"""
    begin, threads, condition = Parser(text).test()
    start = {name: e[1] for name, e in begin.items()}
    for parameters, _ in threads:
        for name in parameters:
            start.setdefault(name, 0)
    domain = {name: {val} for name, val in start.items()}
    # A chain of counts is no longer than there are writes.
    for _ in range(1 + text.count("(")):
        found = [list(runs(i, thread, domain)) for i, thread in enumerate(threads)]
        more = {(e.loc, e.val) for thread in found for run in thread for e in run.events if e.kind == "W"}
        if all(val in domain.get(loc, ()) for loc, val in more):
            break
        for loc, val in more:
            domain.setdefault(loc, {0}).add(val)
    for chosen in itertools.product(*found):
        if not names_memory(condition) and not holds(condition, chosen, {}):
            continue
        execution = Execution({**dict.fromkeys(domain, 0), **start}, chosen)
        execution.fixed()
        for order, sources in execution.sources():
            last = {execution.events[line[-1]].loc: execution.events[line[-1]].val for line in order}
            if holds(condition, chosen, last) and execution.allowed(order, sources):
                return True
    return False
