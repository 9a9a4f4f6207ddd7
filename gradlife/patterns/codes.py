"""The GL codes: one family per hundred, and a sentence for each code."""

from __future__ import annotations

import re

FAMILIES = {
    0: ("no family", "no pattern has this number"),
    1: ("function and ctx ownership", "a custom Function, its ctx and its grad node hold one another"),
    2: ("wrapper identity", "a Python wrapper of a C++ object may be lost, created again, or held by that object"),
    3: ("saved tensors and hooks", "what a grad node saves for backward, and its hooks"),
    4: ("graphs kept by training code", "a loss, an activation or retain_graph keeps a whole graph"),
    5: ("Python holders", "a cache, an exception, a closure, a global or a thread keeps an object"),
    6: ("modules and optimizers", "a module or an optimizer keeps more than its parameters and its state"),
    7: ("views and storages", "a small tensor keeps a large storage"),
    8: ("native references", "C++ code holds a Python object, and nothing in Python shows the holder"),
    9: ("devices and processes", "memory that another device or process holds"),
}

SENTENCES = {
    "GL000": "No known pattern: the trace matches none.",
    "GL101": "ctx keeps an output of its own Function: output, grad node and ctx hold one another.",
    "GL102": "ctx keeps a result computed after its node, which leads back to the node through the graph.",
    "GL103": "An attribute of ctx lives as long as its node: backward releases saved tensors, not attributes.",
    "GL104": "ctx saves a view of an output, and the view owns the output as its base: a cycle through C++.",
    "GL105": "A held grad_fn keeps what its node saved, or outlives its node as an empty shell.",
    "GL106": "A node dies while the graph still needs it: a gradient is lost or the graph is cut.",
    "GL107": "The return value of setup_context is never released.",
    "GL108": "An instance of a legacy Function is its own ctx: calls share it, and it lives as long as its graph.",
    "GL109": "ctx is part of a cycle of plain Python objects, which only the cyclic collector frees.",
    "GL110": "At interpreter exit PyTorch leaves Python objects held by C++ alone: their __del__ never runs.",
    "GL201": "Attributes of a wrapper are lost if the next read creates a new wrapper.",
    "GL202": "A wrapper that C++ owned outlives its tensor, and is empty.",
    "GL203": "An attribute of a tensor leads, through C++, back to the tensor: a cycle the collector cannot follow.",
    "GL204": "A tensor is in a cycle through its own attributes; the collector sees it only if nothing else owns the tensor.",
    "GL205": "The grad accumulator holds its leaf, and only graphs hold the accumulator.",
    "GL206": "The collector sees a tensor only if the tensor has a wrapper.",
    "GL207": "Each tensor has an attribute with the tensor it was made from: the newest keeps all earlier ones.",
    "GL301": "An operation saves its own output, and backward never runs.",
    "GL302": "A saved tensor was changed in place; the version counter does not see every such change.",
    "GL303": "A tensor read from a saved slot keeps its graph; a raw handle to the slot keeps nothing.",
    "GL310": "A pack hook's result, or a hook's closure, leads back to the output: a cycle that the collector does not see.",
    "GL311": "Each saved slot owns its two hooks and the packed value until it is released.",
    "GL312": "A packed value is freed at an unexpected time: in backward, in another thread, after an error, or never.",
    "GL313": "The order in which unpack hooks run decides how many unpacked tensors are alive at once.",
    "GL320": "A checkpoint keeps every activation of its segment: backward did not run, or stopped early.",
    "GL321": "A checkpointed function closes over the container of its output: output and ctx hold one another.",
    "GL350": "A leaf's hook closes over the leaf: leaf and hook hold one another.",
    "GL351": "A tensor's hook closes over the tensor, and the tensor's node holds the hook.",
    "GL352": "A node's hook closes over the output, the node or its ctx, and each of them holds the node.",
    "GL353": "A weight's hook closes over a loss, and the loss keeps the graph that leads to the weight.",
    "GL354": "A post-accumulate hook closes over its leaf: a cycle through C++.",
    "GL355": "Each step adds a hook to a weight and never removes it; the hook keeps its closure.",
    "GL356": "A hook on a grad accumulator is freed with the last graph that uses the accumulator.",
    "GL357": "A multi-grad hook keeps the list of its nodes, and the nodes keep the hook.",
    "GL401": "retain_graph=True keeps every saved activation until the last reference to the graph goes.",
    "GL402": "A list of losses keeps the graph of each.",
    "GL403": "A running total with a graph chains every step to the next.",
    "GL404": "A recurrent state that is not detached keeps the graphs of all earlier steps.",
    "GL405": "backward(create_graph=True) stores gradients whose graph leads back to the parameters: a cycle.",
    "GL406": "An evaluation outside no_grad builds graphs that it does not use.",
    "GL407": "A leaf outlives its last name because a graph still accumulates into it.",
    "GL408": "Weights computed from the previous weights chain all updates in one graph.",
    "GL409": "The last step's result is kept during the next forward: two graphs at the peak.",
    "GL410": "In anomaly mode each node keeps the node whose backward created it.",
    "GL411": "A kept GradientEdge or node keeps the graph behind it.",
    "GL501": "A kept exception keeps the frames of its traceback with their local variables.",
    "GL502": "A cache outlives its objects and has them among its keys.",
    "GL503": "The value of a weak dictionary's entry refers to its key: the key never dies.",
    "GL504": "An inner function that calls itself is in a cycle, and keeps its closure.",
    "GL505": "An object stores one of its own bound methods, and the method holds the object.",
    "GL506": "Each call creates a class. Every class is in a cycle, and keeps the closures of its methods.",
    "GL507": "A suspended generator, coroutine or task keeps the local variables of its frame.",
    "GL508": "A log record in a buffer keeps its arguments.",
    "GL509": "A queue is filled faster than it is emptied.",
    "GL510": "An interactive session keeps what its cells displayed.",
    "GL511": "Each step adds an entry under a new key to a dictionary, and none is removed.",
    "GL512": "Each step adds an item to a list, a deque or a set, and none is removed.",
    "GL513": "A cache with no limit, or a large one, keeps the result of every different call.",
    "GL516": "Objects form a reference cycle; it and everything it holds wait for the cyclic collector.",
    "GL517": "A kept frame object keeps the local variables of its call.",
    "GL518": "Each object of a chain keeps the one before it.",
    "GL519": "itertools.cycle or tee keeps every item that went through it.",
    "GL520": "A mock keeps the arguments of every call that it records.",
    "GL521": "A registered callback keeps its arguments until it is called.",
    "GL522": "A context variable or thread-local data lives as long as its context or thread.",
    "GL523": "A thread keeps its target and its arguments until it ends.",
    "GL524": "A cache of torch.compile keeps what it compiled, guarded or traced.",
    "GL525": "An attribute or variable keeps tensors of a finished step until the next step replaces them.",
    "GL526": "Each use adds a handler or a filter to a logger and never removes it.",
    "GL527": "Each step stores something on objects that had nothing, and each of them keeps it.",
    "GL601": "An optimizer keeps parameters that its model no longer has, in its groups and as keys of its state.",
    "GL602": "A function stored on an optimizer closes over the optimizer with all its parameters.",
    "GL603": "Between steps gradients are zeroed and kept, or freed and created again, depending on the release.",
    "GL604": "A module's hook closes over the module: a cycle with all its parameters.",
    "GL605": "Each use adds a hook to a module and never removes it; the hook keeps its owner.",
    "GL606": "An attribute that a hook set on a module stays after the hook is removed.",
    "GL607": "A full backward hook makes each output of a module keep the module.",
    "GL608": "A child module keeps its parent, and the parent owns the child.",
    "GL609": "A state dict shares the memory of its model's parameters.",
    "GL610": "A copy of all weights is kept for each epoch.",
    "GL612": "Hooks are added to an optimizer again and again and never removed.",
    "GL613": "A learning rate scheduler and its optimizer refer to one another.",
    "GL614": "An unfinished DataLoader iterator keeps the batches that wait in it.",
    "GL615": "Each step adds a child, parameter or buffer to a module.",
    "GL616": "A traced module, its graph and the graph's nodes refer to one another.",
    "GL701": "A view, an array or a saved slice keeps the whole storage that it is part of.",
    "GL702": "A tensor has an attribute with a view of itself, and the view owns the tensor.",
    "GL703": "A storage has an attribute with its tensor, and the tensor owns the storage.",
    "GL704": "Each step makes one tensor or array longer.",
    "GL801": "Native code took a reference and never released it; no visible object holds it.",
    "GL802": "TorchScript keeps the constants of a compiled graph after the Python object is gone.",
    "GL803": "A container or a static variable in C++ holds tensors that no Python object refers to.",
    "GL804": "An open profiler keeps what it recorded.",
    "GL805": "A capsule owns a tensor that native code never takes over.",
    "GL806": "Native code allocates memory at each step, without a Python object, and frees none.",
    "GL901": "Memory shared with another process stays registered.",
    "GL902": "The handle of a distributed operation keeps its tensors until it is waited for.",
    "GL903": "A captured graph, a memory pool or a stream keeps device memory.",
}


def is_code(text: str) -> bool:
    """Whether the text is a code such as GL402."""
    return re.fullmatch(r"GL\d{3}", text, re.IGNORECASE) is not None


def family(code: str) -> tuple[str, str]:
    """Return the family of a code: its name, and a sentence about it."""
    return FAMILIES.get(int(code[2]), FAMILIES[0])


def sentence(code: str) -> str:
    """Return a code's sentence, or its family's."""
    name, about = family(code)
    return SENTENCES.get(code, f"{name[0].upper()}{name[1:]}: {about}.")
