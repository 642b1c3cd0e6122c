"""python -m helpers: exit codes, one-sentence errors, and what the last line says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from helpers import doctor

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "helpers"]


def call(*arguments, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.fixture
def headlines(tmp_path):
    """Sixty rows of which a network can learn all."""
    path = tmp_path / "small.tsv"
    path.write_text("".join(f"good news number {n}\tpositive\nbad news number {n}\tnegative\n" for n in range(30)))
    return path


# doctor


def test_the_doctor_finds_this_machine_fit_and_is_quick():
    start = time.monotonic()
    done = call("doctor", "--json")
    assert time.monotonic() - start < 10
    assert done.returncode == 0, done.stdout
    report = json.loads(done.stdout)
    assert report["ok"]
    assert {"Python", "packages", "memory", "C++ compiler", "texts", "torch", "processor", "accelerator"} <= {
        check["part"] for check in report["checks"]
    }


def test_every_part_that_is_not_ok_has_a_remedy():
    for check in doctor.examine():
        assert check.status == "ok" or check.remedy


def test_a_missing_package_makes_the_doctor_fail_with_the_remedy(monkeypatch, capsys):
    from helpers.__main__ import main

    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: ["no-such-package>=1", "torch>=99"])
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no no-such-package" in out
    assert "is outside >=99" in out
    assert "pip install -r requirements.txt" in out


@pytest.mark.parametrize("name", ["psutil", "packaging.requirements", "pooch", "requests"])
def test_a_package_that_cannot_be_imported_is_a_line_with_a_remedy(name):
    program = (
        f"import sys; sys.modules[{name!r}] = None; from helpers import doctor\n"
        "print([check.remedy for check in doctor.examine() if check.status == 'missing'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "-r requirements.txt" in done.stdout


def test_a_broken_torch_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    missing = [check.part for check in doctor.examine() if check.status == "missing"]
    assert missing[:2] == ["torch", "processor"]


def test_no_compiler_is_a_note_and_no_failure(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    check = doctor._compiler()
    assert check.status == "note"
    assert "torch.compile" in check.remedy


def test_damaged_texts_are_found(monkeypatch, tmp_path):
    import helpers.corpora

    monkeypatch.setattr(helpers.corpora, "DATA", tmp_path)
    assert doctor._texts().status == "missing"


# read


def test_read_reports_as_json(headlines):
    headlines.write_bytes(headlines.read_bytes() + b"no label\n")
    done = call("read", headlines, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "kept": 60,
        "labels": {"negative": 30, "positive": 30},
        "rejected": [{"line": 61, "reason": "1 column where 2 are expected"}],
        "encoding": "utf-8",
        "warnings": [],
    }


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"a\tpositive\n", b"a\tpositive\nb\tnegative\n", None])
def test_a_file_that_nothing_can_be_trained_on_ends_with_2_and_one_sentence(tmp_path, content):
    path = tmp_path / "bad.tsv"
    if content is not None:
        path.write_bytes(content)
    for command in (["read", path], ["read", path, "--json"], ["train", "--data", path]):
        done = call(*command)
        assert done.returncode == 2
        (sentence,) = done.stderr.splitlines()
        assert sentence.startswith(str(path))
    assert "error" in json.loads(call("read", path, "--json").stdout)


def test_read_names_reasons_and_warnings_for_people(headlines):
    headlines.write_bytes(headlines.read_bytes() + b"no label\ngood news number 1\tpositive\n")
    out = call("read", headlines).stdout
    assert "kept 61 (negative 30, positive 31), rejected 1" in out
    assert "rejected 1, the first on line 61: 1 column" in out
    assert "warning: duplicates" in out


@pytest.mark.parametrize("encoding", ["1", "0"])
def test_reading_does_not_depend_on_the_locale(headlines, encoding):
    headlines.write_text("Café “opens”\tpositive\n" + headlines.read_text(), encoding="utf-8")
    done = call("read", headlines, "--json", PYTHONUTF8=encoding, LC_ALL="C")
    assert json.loads(done.stdout)["kept"] == 61


# train


def test_train_ends_in_a_line_of_results(headlines, tmp_path):
    done = call("train", "--data", headlines, "--epochs", 8, "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout.splitlines()[-1])
    assert set(result) == {
        "test_accuracy",
        "majority_accuracy",
        "bag_of_words_accuracy",
        "examples",
        "rejected",
        "seconds",
        "device",
    }
    assert result["test_accuracy"] == result["bag_of_words_accuracy"] == 1.0
    assert (result["majority_accuracy"], result["examples"], result["rejected"], result["device"]) == (
        0.5,
        60,
        0,
        "cpu",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "abacus"], "is no device"),
        (["--resume"], "needs --checkpoint"),
        (["--checkpoint", "helpers"], "is a folder: give a file"),
        (["--seed", "-1"], "no whole number from 0"),
        (["--seed", "1" * 20], "no whole number from 0"),
        (["--epochs", "0"], "1 or more"),
        (["--epochs", "many"], "1 or more"),
    ],
)
def test_wrong_options_end_with_2_and_say_what_is_right(headlines, options, message):
    done = call("train", "--data", headlines, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_checkpoint_that_cannot_be_written_is_one_line(headlines):
    done = call("train", "--data", headlines, "--epochs", 1, "--checkpoint", "/dev/full/checkpoint")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("give another --checkpoint")
    assert "Traceback" not in done.stderr


def train(headlines, checkpoint, *options, epochs=6):
    return [
        *COMMAND,
        "train",
        "--data",
        str(headlines),
        "--epochs",
        str(epochs),
        "--device",
        "cpu",
        "--checkpoint",
        str(checkpoint),
        "--json",
        *options,
    ]


def weights(path):
    return torch.load(path, weights_only=True)["model"]


def stop_after_first_epoch(command, how):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    for line in process.stdout:
        if line.startswith("epoch 1/"):
            process.send_signal(how)
            break
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_run_resumes_to_the_same_weights_bit_for_bit(headlines, tmp_path):
    subprocess.run(train(headlines, tmp_path / "whole"), check=True, capture_output=True, cwd=ROOT)
    code, *_ = stop_after_first_epoch(train(headlines, tmp_path / "killed"), signal.SIGKILL)
    assert code == -signal.SIGKILL
    done = subprocess.run(
        train(headlines, tmp_path / "killed", "--resume"), check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert "resumed after epoch" in done.stdout
    whole, resumed = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert list(whole) == list(resumed)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C in another way")
def test_ctrl_c_ends_cleanly_and_keeps_the_checkpoint(headlines, tmp_path):
    code, _, err = stop_after_first_epoch(train(headlines, tmp_path / "run", epochs=500), signal.SIGINT)
    assert code == 130
    assert err.splitlines() == [f"stopped; go on with --checkpoint {tmp_path / 'run'} --resume"]
    assert len(torch.load(tmp_path / "run", weights_only=True)["history"]["train_loss"]) >= 1
    assert {path.name for path in tmp_path.iterdir()} <= {"run", "run.previous", "small.tsv"}


def test_a_checkpoint_of_before_is_kept_when_a_run_starts_anew(headlines, tmp_path):
    (tmp_path / "run").write_bytes(b"what was there")
    done = subprocess.run(
        train(headlines, tmp_path / "run", epochs=1), check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert (tmp_path / "run.earlier").read_bytes() == b"what was there"
    assert "is kept as" in done.stdout
    assert weights(tmp_path / "run")


def test_resuming_with_other_data_is_refused(headlines, tmp_path):
    subprocess.run(train(headlines, tmp_path / "run", epochs=1), check=True, capture_output=True, cwd=ROOT)
    headlines.write_text(headlines.read_text() + "new one\tpositive\n")
    done = subprocess.run(train(headlines, tmp_path / "run", "--resume"), capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "belongs to another run" in done.stderr
    assert len(done.stderr) < 400


def test_real_headlines_reach_the_bag_of_words(public_data):
    done = call("train", "--data", public_data("SEntFiN.csv"), "--json")
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["test_accuracy"] >= 0.88
    assert result["test_accuracy"] >= result["bag_of_words_accuracy"] - 0.02
    assert result["examples"] == 6056
    assert result["rejected"] == 4679
