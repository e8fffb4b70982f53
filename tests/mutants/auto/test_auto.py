# SPDX-License-Identifier: GPL-2.0-only
"""The mutator itself, on small sources; and that its list of equivalents is in order."""
import subprocess
import types

import auto
import layers
from statements import Source
from rules import Mutator

CODE = """
static int f(struct a *x, int n)
{
	int i = n ? 1 : 0;

	spin_lock(&x->lock);
	if (x->n > n && !x->done)
		g(x, n);
	x->n = i;
	spin_unlock(&x->lock);
	list_for_each_entry(x, &y, link)
		h(x);
	return -EIO;
}
"""


def mutants(code):
    source = Source("t.c", code)
    source.mark(0)
    return Mutator(source).run()


def texts(rule, code=CODE):
    return [m.new for m in mutants(code) if m.rule == rule]


def test_each_rule():
    assert texts("del") == [";"] * 4
    assert texts("rel") == [">="]
    assert sorted(texts("drop")) == ["1", "1"]
    assert texts("not") == [""]
    assert sorted(texts("neg")) == ["!(n)", "!(x->n > n && !x->done)"]
    assert sorted(texts("const")) == ["0", "1", "2"]
    assert texts("args") == ["n, x"]
    assert texts("ret") == ["((void)(-EIO), 0)"]
    assert len(texts("lock")) == 2 and len(texts("once")) == 1 and len(texts("cut")) == 2


def test_lines_stay():
    for m in mutants(CODE):
        assert m.apply(CODE).count("\n") == CODE.count("\n"), m.id


def test_ids_survive_edits_elsewhere():
    more = "int before(void)\n{\n\treturn 1;\n}\n" + CODE.replace("/* ", "/* x ")
    assert {m.id for m in mutants(CODE)} < {m.id for m in mutants(more)}
    assert not {m.id for m in mutants(CODE)} & \
        {m.id for m in mutants(CODE.replace("x->n = i", "x->n = n"))}


def test_classes():
    found = {m.old: m.kind for m in mutants(
        "void f(int n)\n{\n\tzj_count(&lane->stats.copies, 1);\n\tsmp_mb();\n"
        "\tif (WARN_ON_ONCE(n))\n\t\treturn;\n\tzj_err(zj, \"no\\n\");\n\tg(n);\n}\n")
        if m.rule in ("del", "cut")}
    assert list(found.values()) == ["stat", "order", "assert", "text", "logic"]


def kinds(rule, code):
    return [m.kind for m in mutants(code) if m.rule == rule]


def test_what_asserts_judges():
    """An assertion deleted, changed within, or whose failure is ignored; not what is beside."""
    code = """bool f(struct a *x)
{
	bool ok = ZJ_ASSERT(x, x->n > 0);

	ok &= ZJ_ASSERT(x, !x->m);
	ZJ_ASSERT(x, x->n || !x->m);
	if (!ZJ_ASSERT(x, x->n > 1))
		x->m = g(x, 1);
	while (x->n-- && ZJ_ASSERT(x, x->m))
		g(x, 2);
	if (ZJ_ASSERT(x, x->m))
		g(x, 3);
	return ok;
}
"""
    assert kinds("del", code) == ["assert", "assert", "logic"]
    assert kinds("rel", code) == ["assert"] * 2
    assert kinds("op", code) == ["assert", "logic"]
    assert kinds("not", code) == ["assert", "assert", "logic"]
    # Of a body with 1 or 2 in it, what is done where it fails; the loop's condition stays logic.
    assert {m.old: m.kind for m in mutants(code) if m.rule == "args"}["x, 1"] == "assert"
    assert {m.old: m.kind for m in mutants(code) if m.rule == "args"}["x, 3"] == "logic"
    found = {(m.rule, m.old): m.kind for m in mutants(code) if m.rule in ("cut", "drop")}
    assert found == {
        ("drop", "x->n"): "assert", ("drop", "!x->m"): "assert",
        ("cut", "!ZJ_ASSERT(x, x->n > 1)"): "assert",
        ("cut", "x->n-- && ZJ_ASSERT(x, x->m)"): "logic", ("drop", "x->n--"): "logic",
        ("drop", "ZJ_ASSERT(x, x->m)"): "assert", ("cut", "ZJ_ASSERT(x, x->m)"): "logic"}


def test_exchanges_with_an_assertion():
    """Of the assertion only if the other statement cannot change whether it holds."""
    code = """void f(struct a *x)
{
	ZJ_ASSERT(x, x->n);
	%s
}
"""
    for other, kind in (("x->m = NULL;", "assert"), ("x->all.m++;", "assert"),
                        ("ZJ_ASSERT(x, x->m);", "assert"),
                        ("x->n = 1;", "logic"), ("g(x);", "logic"), ("x->m = g(x);", "logic"),
                        ("list_del(&x->link);", "logic"), ("x->m = ++x->k;", "logic")):
        assert kinds("swap", code % other) == [kind], other
    assert kinds("swap", code.replace("x->n", "g(x)") % "x->m = 1;") == ["logic"]
    assert kinds("lock", "void f(struct a *x)\n{\n\tspin_lock(&x->lock);\n"
                         "\tZJ_ASSERT(x, x->n);\n}\n") == ["logic"]


def test_stores_are_not_exchanged():
    code = """void f(struct a *x)
{
	INIT_LIST_HEAD(&x->one);
	INIT_LIST_HEAD(&x->two);
	x->n = 1;
	g(x);
	wake_up(&x->wait);
}
"""
    assert texts("swap", code) == ["g(x); x->n = 1;", "wake_up(&x->wait); g(x);"]


def test_all_of_src():
    """Every function's text is covered, every id is another, and those listed are of src/."""
    every = [m for path in sorted((layers.TOP / "src").glob("*/*.[ch]"))
             for m in mutants_of(path)]
    assert len(every) > 10000
    ids = {m.id for m in every}
    assert len(ids) == len(every)
    stale = sorted(set(auto.reviewed()) - ids)
    assert not stale, f"equivalent.txt: the function has changed; is it still so? {stale}"


def mutants_of(path):
    text = path.read_text()
    source = Source(path.name, text)
    source.mark(0)
    out = Mutator(source).run()
    for m in out:
        assert m.apply(text) != text, m.id
    return out


def test_quick_takes_the_cheapest():
    layer = layers.Layer("core", None, ["slow", "quick", "other", "huge"])
    layer.took = {"slow": 0.5, "quick": 0.1, "other": 0.0, "huge": 5.0}
    layer.reached = {"slow": {7}, "quick": {7}, "other": {8}, "huge": {7, 9}}
    mutant = mutants(CODE)[0]
    mutant.site = 7
    assert layer.tests_for(mutant) == ["quick", "slow", "huge"]
    layer.seconds = 1
    assert layer.tests_for(mutant) == ["quick", "slow"]
    mutant.site = 9
    assert layer.tests_for(mutant) == ["huge"]


def test_equivalents_say_why():
    for name, why in auto.reviewed().items():
        assert len(why) > 20, name


def test_markers_compile(tmp_path):
    """The parser sees statements where the compiler does."""
    site = 0
    for path in sorted((layers.TOP / "src").glob("*/*.[ch]")):
        text, site = Source(path.name, path.read_text()).mark(site)
        copy = tmp_path / path.relative_to(layers.TOP / "src")
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text)
    assert site < layers.MAX_SITES
    include = [f"-I{layers.TOP}/{d}" for d in ("tests/runtime/include", "tests/runtime/sim",
                                                "user/include", "include")]
    include.append(f"-I{tmp_path}")
    for path in tmp_path.glob("*/*.c"):
        subprocess.run(["cc", "-fsyntax-only", "-w", "-std=gnu11", "-D_GNU_SOURCE", *include,
                        "-include", layers.HERE / "reach.h", path], check=True)


def test_parts_of_a_sample_add_up():
    """Files one after the other, and again until nothing is left: the sample of all."""
    made = [m for i in range(40) for m in mutants(CODE.replace("f(", f"f{i}("))]
    for i, m in enumerate(made):
        m.file = "ab"[i % 2] + ".c"
    args = types.SimpleNamespace(seed="1", sample=60, file=[], function=None, rule=None, only=[])
    results = {}

    def left(*files):
        args.file = list(files)
        chosen = auto.chosen_of(made, args, results, {})
        return [m for m in auto.in_order(chosen, args) if m.id not in results]

    both = ["src/b.c", "src/a.c"]
    assert [m.file for m in left(*both)] == sorted((m.file for m in left()), reverse=True)
    for name in both * 20:
        for m in left(name):
            status = "invalid" if m.rule == "swap" or m.rule == "del" else "caught"
            results[m.id] = {"status": status}
    assert not left(*both)
    args.file = []
    whole = auto.chosen_of(made, args, results, {})
    assert sum(results[m.id]["status"] == "caught" for m in whole) == args.sample
    assert whole == auto.shuffled(made, "1")[:len(whole)] and len(whole) > args.sample + 10
