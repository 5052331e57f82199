import pytest

from batches.engines.template import CommandError, check_argv, fill, parse_command


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("agent --fast", ["agent", "--fast"]),
        ("agent 'two words' \"and three more\"", ["agent", "two words", "and three more"]),
        (r"agent a\ b ''", ["agent", "a b", ""]),
        ("sh -c 'a | b && c > d; e'", ["sh", "-c", "a | b && c > d; e"]),
        ("grep '|' \"&&\" \\; x", ["grep", "|", "&&", ";", "x"]),
        ("agent $HOME *.py # x", ["agent", "$HOME", "*.py", "#", "x"]),
        ("agent\n --lines\t2", ["agent", "--lines", "2"]),
    ],
)
def test_a_command_is_split_as_a_shell_splits_it_and_nothing_is_expanded(text, argv):
    assert parse_command(text) == argv


@pytest.mark.parametrize("text", ["a | b", "a && b", "a > out", "a; b", "a ; b", "a 2>&1", "a &"])
def test_shell_syntax_is_refused_with_the_way_to_have_it(text):
    with pytest.raises(CommandError, match=r"without a shell.*sh -c") as caught:
        parse_command(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("   ", "empty"), ("agent 'x", "split"), ('agent "x', "split")],
)
def test_a_command_that_is_no_command_is_refused(text, message):
    with pytest.raises(CommandError, match=message):
        parse_command(text)


def test_a_filled_word_stays_one_word():
    values = {"prompt": "a 'b' \"c\" $(d) {workspace}\n", "workspace": "/tree"}
    assert fill("--say={prompt}", values) == "--say=" + values["prompt"]
    assert fill("{workspace}/x{{prompt}}", values) == "/tree/x{prompt}"
    assert fill("{{{workspace}}}", values) == "{/tree}"


@pytest.mark.parametrize(
    "word", ["{promt}", "{task_id!r}", "{task_id:>9}", "{0}", "{}", "a{", "}b"]
)
def test_an_unknown_placeholder_is_refused_by_its_name(word):
    with pytest.raises(CommandError, match="not a placeholder") as caught:
        check_argv(["agent", word])
    assert repr(word) in str(caught.value)
    assert "{prompt_file}" in str(caught.value)


@pytest.mark.parametrize(
    "argv", [[], None, "agent", [""], [1], ["agent", None], ["agent", "a\0b"], ["./agent"],
             ["bin/agent"], ["~/agent"], ["{prompt}"], ["{workspace}{task_id}/x"]],
)  # fmt: skip
def test_an_argv_without_a_usable_program_is_refused(argv):
    with pytest.raises(CommandError):
        check_argv(argv)


@pytest.mark.parametrize(
    "argv", [["agent"], ["/opt/agent", "{prompt}"], ["{workspace}/tools/agent"], ("agent", "{{}}")]
)
def test_a_sound_argv_is_accepted(argv):
    check_argv(argv)
