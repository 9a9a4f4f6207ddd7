"""The patterns that stories are told about: a family a hundred codes, and a sentence for each code that has one."""

from __future__ import annotations

import re

FAMILIES = {
    0: ("no family", "no pattern is known under this number"),
    1: ("function and ctx ownership", "a custom Function, its ctx and its grad node hold one another"),
    2: ("wrapper identity", "a Python object stands for a C++ one, and may be lost, made anew, or held by it"),
    3: ("saved tensors and hooks", "what a grad node saves for backward, and the callables around it"),
    4: ("graphs kept by training code", "a loss, an activation or retain_graph keeps a whole graph"),
    5: ("Python holders", "a cache, an exception, a closure, a global or a thread keeps an object"),
    6: ("modules and optimizers", "a module or an optimizer keeps more than its parameters and its state"),
    7: ("views and storages", "a small tensor keeps a large storage"),
    8: ("native references", "C++ code holds a Python object that nothing in Python shows"),
    9: ("devices and processes", "memory that another device or process holds"),
}

SENTENCES = {
    "GL000": "No known pattern: nothing in the trace is of a kind that is known to be a leak or not.",
    "GL101": "ctx keeps an output of its own Function, so output, grad node and ctx hold one another.",
    "GL102": "ctx keeps a result computed after its node, which leads back to the node through the graph.",
    "GL103": "An attribute of ctx lives as long as its node: backward releases saved tensors, not attributes.",
    "GL104": "A saved view of an output owns the output as its base, so the node holds what leads back to it.",
    "GL105": "A held grad_fn keeps what its node saved, or outlives the node and is an empty shell.",
    "GL106": "A node dies while the graph still needs it, so a gradient is lost or the graph is cut.",
    "GL107": "setup_context's return value is dropped without being released.",
    "GL108": "An instance of a legacy Function is its own ctx, so calls share it and it lives as long as its graph.",
    "GL109": "ctx is part of a cycle of plain Python objects, which only the cyclic collector frees.",
    "GL110": "At interpreter exit what C++ holds is left alone on purpose: its __del__ never runs.",
    "GL201": "What a wrapper carries is there later only if the very same wrapper is found again.",
    "GL202": "A wrapper that C++ owned outlives its tensor and is left empty.",
    "GL203": "An attribute of a tensor leads, through C++, back to the tensor: a cycle the collector cannot follow.",
    "GL204": "A tensor is in a cycle of its own wrapper; whether the collector sees it depends on who else owns it.",
    "GL205": "The grad accumulator holds its leaf, but is itself held only by graphs.",
    "GL206": "The collector knows of a tensor only if it has a wrapper.",
    "GL207": "Each tensor carries the one that it was made from, and so all before it.",
    "GL301": "An operation saves its own output and is never sent through backward.",
    "GL302": "A saved tensor was changed in place; only changes that the version counter sees are reported.",
    "GL303": "A tensor read from a saved slot keeps its graph; a handle to the slot keeps nothing.",
    "GL310": "What a pack hook returns, or what hooks close over, leads back to the output: no collector sees it.",
    "GL311": "Each saved slot owns both its hooks and what was packed, until it is released.",
    "GL312": "Packed data goes at an unexpected moment: in backward, in another thread, after an error, or never.",
    "GL313": "When each unpack hook runs decides how many unpacked tensors are alive at once.",
    "GL320": "Every activation of a segment is kept from its forward to its backward.",
    "GL321": "A checkpointed function closes over what its output is stored in: output and ctx hold one another.",
    "GL350": "A leaf's hook closes over the leaf: a cycle through the leaf's own hooks.",
    "GL351": "A tensor's hook closes over the tensor, whose node holds the hook.",
    "GL352": "A hook of a node closes over the output, the node or its ctx, which hold the node.",
    "GL353": "A weight's hook closes over a loss, and with it over the whole graph that leads to the weight.",
    "GL354": "A hook that runs after accumulation closes over its leaf: a cycle that C++ holds.",
    "GL355": "A hook is put on a weight at each step and never removed, with all that it closes over.",
    "GL356": "A hook on a grad accumulator goes when the last graph that uses the accumulator goes.",
    "GL357": "A hook over several tensors keeps the list of their nodes, which keep the hook.",
    "GL401": "retain_graph=True keeps every saved activation until the last name of the graph goes.",
    "GL402": "A list of losses keeps the graph of each.",
    "GL403": "A running total that is part of the graph chains every step to the next.",
    "GL404": "A recurrent state that is not detached keeps the graphs of all earlier steps.",
    "GL405": "backward(create_graph=True) stores gradients whose graph leads back to the parameters: a cycle.",
    "GL406": "An evaluation outside no_grad builds graphs that nobody uses.",
    "GL407": "A leaf outlives its last name because a graph still accumulates into it.",
    "GL408": "Weights replaced by a result of the former ones chain all updates in one graph.",
    "GL409": "The result of the last step is kept while the next is computed: two graphs at the peak.",
    "GL410": "In anomaly mode a node keeps the node whose backward made it, and that one its own.",
    "GL411": "A graph edge or a node kept as a handle keeps the graph behind it.",
    "GL501": "A kept exception keeps the frames of its traceback, and their locals.",
    "GL502": "A cache that lives longer than its objects has them among its keys.",
    "GL503": "An entry of a weak dictionary refers to its own key, which therefore never dies.",
    "GL504": "An inner function that calls itself is a ring, and keeps all that its closure knows.",
    "GL505": "An object keeps one of its own bound methods, which owns the object.",
    "GL506": "A class is made for each call: a ring by birth, which keeps the closures of its methods.",
    "GL507": "A suspended generator, coroutine or task keeps the locals of its frame.",
    "GL508": "A log record that waits in a buffer keeps the arguments that it will be written with.",
    "GL509": "A queue is filled faster than it is emptied, or by nobody.",
    "GL510": "An interactive session keeps what its cells displayed.",
    "GL511": "A dictionary gets an entry under a new key at each step, and none is removed.",
    "GL512": "A list, a deque or a set gets an item at each step, and none is removed.",
    "GL513": "A cache without a limit, or with a large one, keeps the result of every different call.",
    "GL516": "Objects refer to one another in a ring, which waits for the cyclic collector with all that hangs on it.",
    "GL517": "A kept frame object keeps the local variables of its call.",
    "GL518": "Each object of a chain keeps the one before it.",
    "GL519": "itertools.cycle and tee keep every item that went through them.",
    "GL520": "A mock keeps the arguments of every call that it records.",
    "GL521": "A callback that is registered for later keeps its arguments until then.",
    "GL522": "A context variable or a thread's local data live as long as their context or thread.",
    "GL523": "A thread keeps its target and its arguments until it ends.",
    "GL524": "A cache of torch.compile keeps what it compiled, guarded or traced.",
    "GL525": "An attribute or variable keeps the tensors of a finished step until the next one replaces them.",
    "GL526": "A handler or a filter is added to a logger at each use and never removed.",
    "GL527": "Each step gives something to objects that had none, and each of them keeps it.",
    "GL601": "An optimizer keeps parameters that its model has let go: in its groups, and as keys of its state.",
    "GL602": "A function kept on an optimizer closes over the optimizer, which owns all its parameters.",
    "GL603": "Gradients stay between steps, filled with zeros, or are new objects in each: the release decides.",
    "GL604": "A hook of a module closes over the module: a ring with all its parameters.",
    "GL605": "A hook is put on a module for each use and never removed, with the object that it belongs to.",
    "GL606": "What a hook wrote on a module stays there when the hook is removed.",
    "GL607": "A full backward hook of a module puts the module behind each of its outputs.",
    "GL608": "A child module keeps its parent, which owns the child.",
    "GL609": "A state dict shares the memory of the parameters that it was taken from.",
    "GL610": "A whole copy of the weights is kept for each epoch.",
    "GL612": "A hook is put on an optimizer again and again and never removed.",
    "GL613": "A learning rate scheduler and its optimizer refer to one another.",
    "GL614": "An iterator of a DataLoader that has not ended keeps the batches that wait in it.",
    "GL615": "A module gets a new child, parameter or buffer at each step.",
    "GL616": "A traced module, its graph and the graph's nodes refer to one another.",
    "GL701": "A view, an array or a saved slice keeps the whole memory that it is a part of.",
    "GL702": "A base carries a view of itself, which owns the base.",
    "GL703": "A storage carries its tensor, which owns the storage.",
    "GL704": "One tensor, or one array, is made longer at each step.",
    "GL801": "Native code took a reference and never gave it back: no object that can be seen holds it.",
    "GL802": "TorchScript keeps the constants of a compiled graph after the Python object is gone.",
    "GL803": "A container or a static variable of C++ code holds tensors that no Python object knows.",
    "GL804": "A profiler that is not closed keeps what it recorded.",
    "GL805": "A capsule owns a tensor for native code that never takes it.",
    "GL806": "Native code takes memory at each step, without an object, and gives none back.",
    "GL901": "Memory that was shared with another process stays registered.",
    "GL902": "The handle of an operation between processes keeps its tensors until it is waited for.",
    "GL903": "An object of a device's runtime keeps memory of the device: a captured graph, a pool, a stream.",
}


def is_code(text: str) -> bool:
    """Is this the code of a pattern?"""
    return re.fullmatch(r"GL\d{3}", text, re.IGNORECASE) is not None


def family(code: str) -> tuple[str, str]:
    """The family of a code: its name, and a sentence."""
    return FAMILIES.get(int(code[2]), ("no family", "no pattern is known under this number"))


def sentence(code: str) -> str:
    """What a pattern is, in one sentence; that of its family where it has none of its own."""
    name, told = family(code)
    return SENTENCES.get(code, f"{name[0].upper()}{name[1:]}: {told}.")
