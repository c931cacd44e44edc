"""Graphs as texts: of functions, as PyTorch prints them, and the same with other names or fewer types."""
import copy
import re

import torch


def readable(graph, name):
    """PyTorch prints what it cannot read: the '=' of nodes without outputs, scopes, functions that were inlined."""
    torch._C._jit_pass_dce(graph)
    text = re.sub(r"^( *) = ", r"\1", str(graph), flags=re.M)
    text = re.sub(r", scope: [^#\n]*", " ", text)
    return re.sub(r"# [^#\n]*?(:\d+:\d+)$", rf"# {name}.py\1", text, flags=re.M)


def as_printed(text):
    """The '=' back in its place: Lazuli reads what PyTorch prints."""
    return re.sub(r"^( *)(?=(?:aten|prim)::)", r"\1 = ", text, flags=re.M)


def scripted(fn, name):
    return readable(torch.jit.script(fn).inlined_graph, name)


def traced(fn, name, inputs, shapes=True):
    graph = torch.jit.trace(fn, copy.deepcopy(inputs), check_trace=False).inlined_graph
    if not shapes and "[value={" not in str(graph):  # such a constant needs its type
        torch._C._jit_pass_erase_shape_information(graph)
    return readable(graph, name)


def of_module(module, name, inputs, how):
    """A module's graph with its parameters as further inputs, and all inputs."""
    made = torch.jit.script(module) if how == "script" else torch.jit.trace(module, inputs, check_trace=False)
    graph = made.graph
    torch._C._jit_pass_inline(graph)
    graph, parameters = torch._C._jit_pass_lower_graph(graph, made._c)
    return readable(graph, name), inputs + tuple(p.detach() for p in parameters)


def without_comments(text, rng):
    return re.sub(r" # [^\"\n]*$", "", text, flags=re.M)


def without_types(text, rng):
    """A value without a type is a Tensor. Other types stay."""
    return re.sub(r"(%[\w.]+) : Tensor(?=[,) ])", r"\1", text)


def renamed(text, rng):
    names = list(dict.fromkeys(re.findall(r"%([\w.]+)", text)))
    form = rng.choice(["{0}_{1}.x", "{0}{1}", "{0}.{1}"])
    new = {old: form.format(rng.choice(["v", "t", "a.b", "Z_"]), i) for i, old in enumerate(names)}
    return re.sub(r"%([\w.]+)", lambda m: "%" + new[m[1]], text)


VARIANTS = [lambda text, rng: text, without_comments, without_types, renamed]


def parse(text):
    """A function of PyTorch's, made of a text; RuntimeError where it refuses the text."""
    return torch._C._create_function_from_graph("graph", torch._C.parse_ir(text, parse_tensor_constants=True))


def call(fn, inputs):
    """("output", value) or ("raises", message), from fresh inputs."""
    try:
        return "output", fn(*copy.deepcopy(inputs))
    except Exception as e:  # whatever PyTorch raises
        return "raises", str(e).strip().split("\n")[-1]
