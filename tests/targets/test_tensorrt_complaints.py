import pytest
from onnx_text import model

from resizefix.runtimes.tensorrt import LiveError, builder_errors, of_the_whole, parser_errors

NODES = model("""(float[1,3,8,8] x, bool c) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
  [Relu_1] input = Relu (x)
  y_3 = Resize (input, , s)
  y = If (c) <then_branch = t () => (float[a,b,c,d] p) { [inner_1] p = Relu (y_3) },
              else_branch = e () => (float[a,b,c,d] q) { q = Neg (y_3) }>
}""").SerializeToString()


@pytest.mark.parametrize(
    ("message", "node", "output"),
    [
        ("Error Code 4: API Usage Error (Relu_1: first input has type UInt8. In checkType)", "Relu_1", "input"),
        ("Invalid Node - inner_1\nnobody knows", "inner_1", "p"),
        ("Error Code 4: (node_of_y_3: axis 1 with negative length)", "", "y_3"),
        ("First input x has shape [1,4] and second input y_3 has shape [8,8].", "", "y_3"),
        # `input`, `p` and `x` are tensors of the model, and words of any sentence
        ("the input of layer p must be x", None, None),
        ("Error Code 4: Shape Error (shapes differ)", None, None),
    ],
)
def test_a_complaint_of_the_builder_is_placed_where_it_names_a_node_or_a_tensor(message, node, output):
    (error,) = builder_errors([message], NODES)
    assert (error.node, error.output, error.message) == (node, output, message)


CUDA = "[checkMacros.cpp::catchCudaError::250] Error Code 1: Cuda Runtime (cudaError 35: CUDA driver version)"


def test_that_there_is_no_gpu_is_no_complaint_about_the_model():
    assert builder_errors([CUDA, f"too large\n{CUDA}"], NODES) == (of_the_whole("too large"),)
    error = {"op_type": "Relu", "name": "inner_1", "index": 0, "message": f"Invalid Node - inner_1\n{CUDA}"}
    assert parser_errors([error], NODES) == (LiveError("inner_1", "p", 0, "Relu", "Invalid Node - inner_1"),)


def test_a_complaint_that_says_nothing_else_is_kept():
    assert builder_errors([CUDA], NODES) == (of_the_whole(CUDA),)


def test_bytes_that_are_no_model_have_no_nodes_to_name():
    assert builder_errors(["(Relu_1: no)"], b"\xff\xff") == (of_the_whole("(Relu_1: no)"),)
