"""What a worker process sends back arrives whole."""

import pickle

import pytest
from fixture_models import SRCNN

import resizefix
from resizefix.runtimes.ort_session import CannotRunError


def there_and_back(thing):
    return pickle.loads(pickle.dumps(thing))


def test_a_document_travels_as_its_light_model_and_its_path(tmp_path):
    result = there_and_back(resizefix.promote_scales(SRCNN, input_name="s"))
    result.model.save(tmp_path / "out.onnx")
    assert resizefix.verify(SRCNN, tmp_path / "out.onnx", feed={"s": [1, 1, 3, 3]}).passed


def test_a_document_whose_file_changed_meanwhile_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(SRCNN.read_bytes())
    sent = pickle.dumps(resizefix.promote_scales(path, verify=False).model)
    path.write_bytes((SRCNN.parent / "unet_nearest_opset11.onnx").read_bytes())
    with pytest.raises(resizefix.UnreadableModelError, match="modified"):
        pickle.loads(sent)


def test_verdicts_and_errors_travel():
    verdict = there_and_back(resizefix.check(SRCNN, target="tensorrt-7.0"))
    assert verdict.target.name == "tensorrt-7.0"
    assert not verdict.accepted
    error = there_and_back(CannotRunError("it broke", reason="size", node="add"))
    assert (str(error), error.reason, error.node) == ("it broke", "size", "add")
