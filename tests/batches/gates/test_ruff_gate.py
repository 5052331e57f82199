"""Each outcome, by a real ruff in a small tree."""


def test_a_tree_without_complaints_passes(project):
    (result,) = project.write("ruff.toml").write("a.py", "x = 1\n").run(["ruff"])
    assert (result.outcome, result.exit_code) == ("passed", 0)


def test_complaints_are_findings_with_file_line_and_code(project):
    project.write("ruff.toml").write("pkg/a b.py", "x = 1\nimport os\n").write("c.py", "x = (\n")
    (result,) = project.run(["ruff"])
    assert (result.outcome, result.summary) == ("failed", "2 complaints")
    found = {(finding.file, finding.line, finding.name) for finding in result.findings}
    assert found == {("pkg/a b.py", 2, "F401"), ("c.py", 2, "invalid-syntax")}
    assert "`os` imported but unused" in result.output_tail


def test_a_configuration_that_fixes_does_not_touch_the_tree(project):
    project.write("ruff.toml", "fix = true\n").write("a.py", "import os\n")
    before = project.listing()
    (result,) = project.run(["ruff"])
    assert (result.outcome, result.tree_changed) == ("failed", ())
    assert (project.tree / "a.py").read_text() == "import os\n"
    assert project.listing() == before


def test_a_configuration_ruff_cannot_read_is_an_error(project):
    (result,) = project.write("ruff.toml", "bogus = 1\n").run(["ruff"])
    assert (result.outcome, result.exit_code) == ("error", 2)


def test_no_file_to_check_is_nothing_collected(project):
    project.write("ruff.toml", "exclude = ['*']\n").write("a.py", "import os\n")
    (result,) = project.run(["ruff"])
    assert result.outcome == "nothing_collected"


def test_many_complaints_are_counted_and_the_first_are_listed(project):
    project.write("ruff.toml").write("a.py", "".join(f"import a{n}\n" for n in range(5000)))
    (result,) = project.run(["ruff"])
    assert result.summary == "5000 complaints"
    assert len(result.findings) == 200
    assert len(result.output_tail) <= 16 * 1024
