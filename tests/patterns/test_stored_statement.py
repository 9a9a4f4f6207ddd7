from __future__ import annotations

import pytest

from gradlife.patterns.stored_statement import StoredStatement
from gradlife.patterns.wording import end_of_waiting, has_other_names


@pytest.mark.parametrize(
    ("source", "name", "change"),
    [
        ("self.losses.append(loss)", "number", "self.losses.append(loss.item())"),
        ("rows += [loss]", "detached", "rows += [loss.detach()]"),
        ("rows.append((loss, x))", "detached", "rows.append((loss.detach(), x.detach()))"),
        ("rows.append((loss, x))", "number", ""),
        ("total = total + loss", "detached", "total = total + loss.detach()"),
        ("total += loss if keep else 0", "detached", "total += loss.detach() if keep else 0"),
        ("rows = rows + [loss]", "detached", ""),
        ("a, b = f(x)", "detached", ""),
        ("state.hidden = (h, c)", "detached", "state.hidden = (h.detach(), c.detach())"),
        ("rows.extend(x.split(4))", "cloned", "rows.extend(one.clone() for one in x.split(4))"),
        ("rows.extend(outputs)", "detached", "rows.extend(one.detach() for one in outputs)"),
        ("state.fast = w - g", "leaf", "state.fast = (w - g).detach().requires_grad_()"),
        ("failures.append(e)", "forgotten", "failures.append(e.with_traceback(None))"),
        ("failures.append((step, e))", "forgotten", ""),
        ("cache[key] = x", "dropped", "cache.pop(key, None)"),
        ("cache.setdefault(key, x)", "dropped", "cache.pop(key, None)"),
        ("self.parent = parent", "weak", "self.parent = weakref.ref(parent)  # and self.parent() where you need it"),
        ("self.impl = self.pool", "named", 'self.impl = "pool"  # and getattr(self, self.impl)(...)'),
        (
            "self.seen = torch.cat([self.seen, x])",
            "shortened",
            "self.seen = torch.cat([self.seen, x])[-10_000:].clone()",
        ),
        ("b = torch.cat([x, b])", "shortened", "b = torch.cat([x, b])[:10_000].clone()"),
        ("k = torch.cat((k, x), dim=2)", "shortened", "k = torch.cat((k, x), dim=2)[:, :, -10_000:].clone()"),
        ("k = torch.cat([k, x], -1)", "shortened", "k = torch.cat([k, x], -1)[..., -10_000:].clone()"),
        ("k = torch.cat([k, x], dim=-2)", "shortened", "k = torch.cat([k, x], dim=-2)[..., -10_000:, :].clone()"),
        ("a = np.append(a, x)", "shortened_array", "a = np.append(a, x)[-10_000:].copy()"),
        ("atexit.register(print, loss)", "removal", "atexit.unregister(print)"),
        ("state.memory.append({", "detached", ""),
        ("@functools.cache", "once", ""),
        ("h = cell(x, h)", "carried", "h = cell(x, h.detach())"),
        ("h, c = cell(x, (h, c))", "carried", "h, c = cell(x, (h.detach(), c.detach()))"),
        ("y, h = rnn(x, h)", "carried", "y, h = rnn(x, h.detach())"),
        ("self.at = lambda t: self.x[t]", "as_method", "def at(self, t):\n    return self.x[t]"),
        ("self.at = lambda: self", "as_method", "def at(self):\n    return self"),
        ("self.at = lambda t, s=self: s.x", "as_method", ""),
        ("self.at = make(self)", "as_method", ""),
        (
            "self.shadow[name] = d * self.shadow[name] + (1 - d) * p",
            "carried",
            "self.shadow[name] = d * self.shadow[name].detach() + (1 - d) * p",
        ),
        ("state = new_state", "carried", "state = new_state.detach()"),
        ("rows.append(x)", "bounded", "rows.append(x)\ndel rows[:-100]  # keeps the last 100"),
        ("self.rows += new", "bounded", "self.rows += new\ndel self.rows[:-100]  # keeps the last 100"),
        (
            "heapq.heappush(self.best, (score, x))",
            "bounded",
            "heapq.heappush(self.best, (score, x))\n"
            "if len(self.best) > 100:\n    heapq.heappop(self.best)  # the smallest",
        ),
        ("bisect.insort(rows, x)", "bounded", "bisect.insort(rows, x)\ndel rows[:-100]  # the smallest"),
        ("make().append(x)", "bounded", ""),
        ("traced = trace(model)", "once", "traced = trace(model)  # once, before the loop"),
    ],
)
def test_an_advice_changes_the_statement_in_its_own_names(source: str, name: str, change: str) -> None:
    assert getattr(StoredStatement(source), name) == change


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("layer.register_forward_hook(note)", ["handle = layer.register_forward_hook(note)", "handle.remove()"]),
        ("kept.append(w.register_hook(note))", ["handle = w.register_hook(note)", "handle.remove()"]),
        ("self.h = layer.register_hook(self.f)", ["self.h = layer.register_hook(self.f)", "self.h.remove()"]),
        ("log.addHandler(h)", ["log.addHandler(h)", "log.removeHandler(h)"]),
        (
            "log.addHandler(StreamHandler())",
            ["handler = StreamHandler()", "log.addHandler(handler)", "log.removeHandler(handler)"],
        ),
        ("weakref.finalize(o, f)", ["finalizer = weakref.finalize(o, f)", "finalizer.detach()"]),
    ],
)
def test_what_is_registered_is_removed_by_its_own_name(source: str, lines: list[str]) -> None:
    assert [line for line in StoredStatement(source).removal.splitlines() if not line.startswith("...")] == lines


def test_code_that_cannot_be_pasted_is_an_example() -> None:
    assert has_other_names("state.history.append(result.item())", {"state"})
    assert not has_other_names("handle = layer.register_hook(note)\nhandle.remove()", {"layer", "note"})
    assert not has_other_names("@functools.lru_cache(maxsize=32)", set())
    assert has_other_names("%reset -f out", set())


def test_a_thread_is_ended_where_it_waits() -> None:
    assert end_of_waiting("done.wait()") == "Call `done.set()` when it may end."
    assert end_of_waiting("item = self.jobs.get()") == (
        "Put a sentinel into `self.jobs`, such as None, and return when it comes."
    )
    assert end_of_waiting("").startswith("Let its function return")


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("y, h = rnn(x, h)", "y, h = rnn(x, h and tuple(one.detach() for one in h))"),
        ("h = (*h, x)", ""),
        ("h = h + (x,)", ""),
    ],
)
def test_a_state_that_is_a_tuple_is_detached_part_by_part_where_a_call_is_given_it(source: str, change: str) -> None:
    changed = StoredStatement(source, frozenset({"h"})).carried
    assert changed == change or (not change and ".detach() for" not in changed)


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("history.append(metrics)", ""),
        ('history.append({"loss": loss})', None),
        ("history.append(loss)", ""),
    ],
)
def test_a_record_has_no_method_of_a_tensor(source: str, number: str | None) -> None:
    """The advice was `history.append(metrics.item())`, of a dict."""
    stored = StoredStatement(source, types=("list", "dict", "torch.Tensor"))
    assert stored.number == (StoredStatement(source).number if number is None else number)
    assert ".detach()" not in stored.detached or number is None


@pytest.mark.parametrize(
    ("source", "types", "is_record"),
    [
        ("rows.append(row)", ("list", "dict", "torch.Tensor"), True),
        ("rows[key].append(loss)", ("dict", "list", "torch.Tensor"), False),
        ("self.rows.setdefault(key, []).append(loss)", ("dict", "list", "torch.Tensor"), False),
        ("rows[key] = row", ("dict", "list", "torch.Tensor"), True),
        ("rows[key][name] = loss", ("dict", "dict", "torch.Tensor"), False),
        ('state["history"].append(row)', ("dict", "list", "dict", "torch.Tensor"), True),
        ("rows.append(loss)", (), False),
    ],
)
def test_what_a_statement_stores_is_as_deep_in_its_container_as_it_says(
    source: str, types: tuple[str, ...], is_record: bool
) -> None:
    """`kept[number // 10].append(loss)` got the advice of an example."""
    assert StoredStatement(source, types=types).is_record == is_record
