"""`tfvk demo`: the judgement of its records, its refusals, and the whole command once."""
import copy
import io
import subprocess

from made_up import REFUSED
from tensorflow_vulkan import demo, placement

RECORD = {
    "means": [2.0 - 0.01 * i for i in range(25)],
    "losses": [2.0 - 0.01 * i for i in range(25)],
    "step_ms": [5.0] * 25,
    "epochs": [{"loss": 1.0, "accuracy": 0.5, "val_loss": 1.0, "val_accuracy": 0.5}],
    "placement": [["MatMul", "GPU", "float32", 3], ["StridedSlice", "CPU", "int32", 4], ["IteratorGetNext", "CPU", "float32,int64", 1]],
    "initial_weights": "a",
    "final_weights": "b",
    "devices": ["/physical_device:GPU:0"],
}


def failed(**changes):
    """The sentences of the failed checks when the first GPU run is changed so."""
    first = {**copy.deepcopy(RECORD), **changes}
    return [sentence for passed, sentence in demo.judge(first, RECORD if not changes else {**RECORD, **{k: v for k, v in changes.items() if k == "placement"}}, RECORD) if not passed]


def test_good_records_pass():
    assert failed() == []


def test_a_loss_that_is_off_fails():
    losses = list(RECORD["losses"])
    losses[7] *= 1.002
    assert "step 8" in failed(losses=losses)[0]
    losses = list(RECORD["losses"])
    losses[22] *= 1.002  # later than the steps that count
    assert failed(losses=losses) == []


def test_too_few_steps_fail():
    assert failed(losses=RECORD["losses"][:10])


def test_runs_that_differ_fail():
    means = list(RECORD["means"])
    means[3] += 1e-9
    assert "from step 4" in failed(means=means)[0]
    assert "in the weights" in failed(final_weights="c")[0]


def test_an_op_on_the_cpu_fails():
    assert "Softmax (float32) x2" in failed(placement=RECORD["placement"] + [["Softmax", "CPU", "float32", 2]])[0]
    assert any("ran on the GPU" in s for s in failed(placement=RECORD["placement"][1:]))


def test_host_work_is_int32_string_or_structure():
    assert placement.is_host_work("Pack", "int32") and placement.is_host_work("_Arg", "float32") and placement.is_host_work("Shape", "float32,int32") and placement.is_host_work("StringJoin", "string")
    assert not placement.is_host_work("Mean", "float32,int32") and not placement.is_host_work("LogicalAnd", "") and not placement.is_host_work("AddV2", "int64")


def test_no_usable_adapter_is_one_sentence(fake, capsys):
    fake([])
    assert demo.run(out=io.StringIO()) == 1
    assert capsys.readouterr().err.strip() == "No Vulkan driver was found: install your GPU's driver, or mesa-vulkan-drivers for a software one."
    fake([REFUSED])
    assert demo.run(out=io.StringIO()) == 1
    assert "lacks 8-bit storage" in capsys.readouterr().err


def test_the_command_trains_and_every_check_holds(tfvk, env):
    p = subprocess.run([tfvk, "demo", "--only", "cnn"], env=env, capture_output=True, text=True, timeout=600)
    assert p.returncode == 0, p.stdout[-4000:] + p.stderr[-2000:]
    assert "All checks hold." in p.stdout and "on the GPU: " in p.stdout and "ms a step" in p.stdout
    assert p.stdout.count("  ok      ") == 4


def test_the_command_refuses_without_a_device(tfvk, env):
    env["TFVK_VISIBLE_DEVICES"] = "-1"
    p = subprocess.run([tfvk, "demo"], env=env, capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and len(p.stderr.strip().splitlines()) == 1
