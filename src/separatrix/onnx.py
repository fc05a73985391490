"""Linear models as ONNX graphs, for programs that run without Python."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import separatrix
from separatrix.estimators.base import BoundaryClustering

__all__ = ["register_onnx_converters"]


def register_onnx_converters() -> None:
    """Let skl2onnx convert clusterers with linear boundaries.

    Call it once before `skl2onnx.to_onnx`. The graph has two outputs: `label`, which is what
    `predict` returns, and `scores`, which is what `decision_function` returns, in the precision
    of the input. Pipelines work where skl2onnx knows the other steps. It needs the extra `onnx`.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    See Also
    --------
    skops_trusted_types : Types to trust when a model is loaded in Python.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError(
            "Conversion to ONNX needs skl2onnx: pip install 'separatrix[onnx]'."
        ) from error

    for name, public in separatrix._REGISTRY.items():
        # only clusterers have a short name, and only their modules are imported
        cls = getattr(separatrix, name) if public.short_name else None
        if cls is not None and issubclass(cls, BoundaryClustering):
            update_registered_converter(
                cls, f"Separatrix{name}", _shapes, _convert, parser=_outputs
            )


def _outputs(scope, model, inputs, custom_parsers=None):
    """Declare what the graph of a model returns."""
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(f"Separatrix{type(model).__name__}", model)
    operator.inputs = list(inputs)
    label = scope.declare_local_variable("label", Int64TensorType())
    scores = scope.declare_local_variable("scores", guess_tensor_type(inputs[0].type))
    operator.outputs.extend([label, scores])
    return operator.outputs


def _shapes(operator):
    """Shapes of the outputs, after a check that the model is linear."""
    model: Any = operator.raw_operator
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        kernel = getattr(model, "kernel", None)
        raise ValueError(
            f"{type(model).__name__} with kernel={kernel!r} has no linear boundaries; only linear "
            "ones can be converted to ONNX: fit it with kernel='linear', or save it with skops."
        )
    n_rows, n_clusters = operator.inputs[0].type.shape[0], model.boundary_sides_.shape[1]
    label, scores = operator.outputs
    label.type.shape = [n_rows]
    scores.type.shape = [n_rows] if n_clusters <= 2 else [n_rows, n_clusters]


def _convert(scope, operator, container):
    """Add the nodes of a model to a graph."""
    graph = _Graph(scope, container, operator)
    model = operator.raw_operator
    coef, intercept, sides = (
        np.asarray(value) for value in (model.coef_, model.intercept_, model.boundary_sides_)
    )
    n_clusters = sides.shape[1]
    label, scores = (output.full_name for output in operator.outputs)
    X = operator.inputs[0].full_name
    if n_clusters == 1:
        first = graph.node("Gather", X, graph.integers([0]), axis=1)
        nothing = graph.node("Sub", first, first)
        graph.node("Reshape", nothing, graph.integers([-1]), to=scores)
        graph.node("Cast", scores, to=label, to_type="INT64")
        return
    products = graph.node("MatMul", X, graph.reals(coef.T))
    values = graph.node("Add", products, graph.reals(intercept))
    if n_clusters == 2:
        graph.node("Reshape", values, graph.integers([-1]), to=scores)
        positive = graph.node("Greater", scores, graph.reals([0]))
        graph.node("Cast", positive, to=label, to_type="INT64")
        return
    if model._model.is_one_vs_rest:
        graph.node("Identity", values, to=scores)
    else:
        columns = _smallest_margins(graph, values, sides)
        graph.node("Concat", *columns, to=scores, axis=1)
    graph.node("ArgMax", scores, to=label, axis=1, keepdims=0)


def _smallest_margins(graph, values, sides):
    """Columns of scores from the values of boundaries, as `Boundaries` computes them."""
    tiny = np.finfo(graph.dtype).smallest_normal
    on_boundary = graph.node("Equal", values, graph.reals([0]))
    values = graph.node("Where", on_boundary, graph.reals([-tiny]), values)
    for cluster, side in enumerate(sides.T):
        involved = np.flatnonzero(side)
        if involved.size == 0:  # never split off; the first holds its place
            column = graph.node("Gather", values, graph.integers([0]), axis=1)
            nothing = graph.node("Sub", column, column)
            yield graph.node("Add", nothing, graph.reals([0 if cluster == 0 else -np.inf]))
            continue
        margins = graph.node("Gather", values, graph.integers(involved), axis=1)
        margins = graph.node("Mul", margins, graph.reals(side[involved]))
        yield graph.minimum(margins)


class _Graph:
    """Nodes and constants, each under a name of its own."""

    def __init__(self, scope, container, operator):
        from onnx import TensorProto
        from skl2onnx.common.data_types import guess_proto_type

        self._scope, self._container = scope, container
        self._types = TensorProto
        self._proto = guess_proto_type(operator.inputs[0].type)
        self.dtype = np.float64 if self._proto == TensorProto.DOUBLE else np.float32

    def reals(self, values):
        return self._constant(self._proto, np.asarray(values, dtype=self.dtype))

    def integers(self, values):
        return self._constant(self._types.INT64, np.asarray(values, dtype=np.int64))

    def _constant(self, kind, values):
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(values.shape), values.ravel())
        return name

    def node(self, kind, *inputs, to=None, to_type=None, **attributes):
        """Add a node and return the name of its output."""
        output = to or self._scope.get_unique_variable_name("value")
        if to_type is not None:
            attributes["to"] = getattr(self._types, to_type)
        name = self._scope.get_unique_operator_name(kind)
        self._container.add_node(kind, list(inputs), output, name=name, **attributes)
        return output

    def minimum(self, values):
        """Smallest value of each row, as a column; axes became an input in opset 18."""
        if self._container.target_opset_any_domain("") >= 18:
            return self.node("ReduceMin", values, self.integers([1]), keepdims=1)
        return self.node("ReduceMin", values, axes=[1], keepdims=1)
