import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batches.web.diff.highlight import highlight
from batches.web.diff.parse import parse
from batches.web.diff.reading import side_by_side

PATCH = b"""diff --git a/app.py b/app.py
index 1..2 100644
--- a/app.py
+++ b/app.py
@@ -1,3 +1,3 @@ def f
 def f():
-    return "<a>"
+    return "<b>"
 # end
\\ No newline at end of file
diff --git a/a b/c.txt b/a b/c.txt
new file mode 100755
--- /dev/null
+++ b/a b/c.txt
@@ -0,0 +1 @@
+--- not a header
diff --git "a/\\303\\244\\"\\n.txt" "b/\\303\\244\\"\\n.txt"
deleted file mode 100644
--- "a/\\303\\244\\"\\n.txt"
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/logo.png b/logo.png
index 1..2 100644
GIT binary patch
literal 3
+ab

"""


def test_a_patch_is_taken_apart() -> None:
    app, added, deleted, binary = parse(PATCH)
    assert (app.path, app.added, app.deleted, app.change) == ("app.py", 1, 1, "changed")
    lines = [(line.kind, line.old, line.new) for line in app.hunks[0].lines]
    assert lines == [
        ("same", 1, 1),
        ("deleted", 2, None),
        ("added", None, 2),
        ("same", 3, 3),
        ("note", None, None),
    ]
    assert (added.path, added.change) == ("a b/c.txt", "added")
    assert added.notes == ["new file mode 100755"]
    assert added.hunks[0].lines[0].text == "--- not a header"
    assert (deleted.path, deleted.change) == ('ä" .txt', "deleted")
    assert (binary.path, binary.binary, binary.hunks) == ("logo.png", True, [])


def test_code_is_coloured_and_always_escaped() -> None:
    app, *_ = files = parse(PATCH)
    highlight(files)
    new = app.hunks[0].lines[2]
    assert '<span class="t-keyword">return</span>' in new.html
    assert "&lt;b&gt;" in new.html
    assert "<b>" not in new.html


def test_lines_that_a_lexer_would_join_stay_apart() -> None:
    data = b'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,3 @@\n+"""a\n+b\n+c"""\n'
    files = parse(data)
    highlight(files)
    assert [line.html for line in files[0].hunks[0].lines] == [
        '<span class="t-string">&quot;&quot;&quot;a</span>',
        '<span class="t-string">b</span>',
        '<span class="t-string">c&quot;&quot;&quot;</span>',
    ]


def test_old_and_new_stand_side_by_side() -> None:
    app, *_ = parse(PATCH)
    pairs = [
        (old.text if old else None, new.text if new else None)
        for old, new in side_by_side(app.hunks[0])
    ]
    assert pairs[1] == ('    return "<a>"', '    return "<b>"')
    assert pairs[0] == ("def f():", "def f():")


@pytest.mark.parametrize("name", ["x.py", "x.html", "x.js", "x.unknown", "Makefile"])
@settings(deadline=None, max_examples=50)
@given(text=st.text(max_size=200))
def test_whatever_stands_in_a_file_only_ever_is_text(name: str, text: str) -> None:
    body = "".join(f"+{line}\n" for line in text.split("\n"))
    data = f"diff --git a/{name} b/{name}\n@@ -0,0 +1 @@\n{body}".encode("utf-8", "replace")
    files = parse(data)
    highlight(files)
    for line in files[0].hunks[0].lines:
        plain = line.html.replace("</span>", "")
        assert plain.count("<") == plain.count('<span class="t-')


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_are_too_odd(data: bytes) -> None:
    parse(data)
    parse(b"diff --git " + data)
    parse(b"diff --git a/x b/x\n@@ -1 +1 @@\n" + data)
