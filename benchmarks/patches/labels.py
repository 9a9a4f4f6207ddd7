"""The first lines of the statements that store a leak, for each corpus case and each planted leak.

Two statements are right if the leak needs both, or if each alone is a fix.
"""

from __future__ import annotations

CORPUS: dict[str, tuple[str, ...]] = {
    "asyncio_pending_requests": ("task = asyncio.get_running_loop().create_task(handle(", "await reply.wait()"),
    "attributions_leave_module_attrs": ("module.output = output.detach()", "module.input = args[0].detach()"),
    "class_per_call_function": ("class Masked(torch.autograd.Function):",),
    "ctx_backward_cache_kept": ("ctx.backward_cache = (gathered, repeat)", "state.last_prediction = out"),
    "ctx_output_attribute": ("ctx.result = result",),
    "episode_buffer_with_graph": ("state.memory.append({",),
    "event_queue_without_consumer": ("self.events.put({",),
    "exception_in_local_variable": ("error = e if keep else str(e)",),
    "extension_extra_reference": ("_incref(out)",),
    "extractor_hooks_pile_up": ("self.handle = layer.register_forward_hook(self.capture)",),
    "failures_list_of_exceptions": ("state.failures.append(e)",),
    "forward_hook_uses_self": ("self.register_forward_hook(", "def rescale(module, args, output):"),
    "frozen_script_per_model": ("state.serving = torch.jit.freeze(",),
    "functional_sgd_keeps_graph": ("state.params = {k: p - 0.1 * g[k]",),
    "inner_loop_fast_weights": ("state.fast['w'] = _adapt(state, True)",),
    "log_records_buffered": ("state.logger.info(",),
    "loss_history_list": ("state.history.append(_train(state, i))",),
    "lru_cache_on_method": ("@functools.lru_cache(maxsize=None)",),
    "lstm_state_retain_graph": ("state.hidden = (h, c)",),
    "method_stored_on_self": ("self.impl = 'mean_pool' if by_name else self.mean_pool",),
    "notebook_output_history": ("ns['Out'][state.count] = result", "ns['_%d' % state.count] = result"),
    "one_row_of_each_activation": ("state.rows.append(activation[0])",),
    "optimizer_smoothing_closure": ("self.smooth = make_smoother_by_value(",),
    "pack_hook_identity_eval": ("with torch.autograd.graph.saved_tensors_hooks(pack, keep):",),
    "param_hook_captures_batch": ("handle = state.head.weight.register_hook(",),
    "penalty_backward_create_graph": ("state.critic(points).sum().backward(create_graph=True)",),
    "prepared_weights_by_data_ptr": ("_PREPARED[key] = packed",),
    "previous_loss_held": ("self.closure_result = ClosureResult(", "self.loss = loss"),
    "provenance_subclass_chain": ("out.parent = parent",),
    "pytree_leaf_predicate": ("leaves, spec = pytree.tree_flatten(batch, is_leaf=lambda x: x is not batch)",),
    "reentrant_checkpoint_captured_dict": ("features['out'] = out if keep_output else out.detach()",),
    "replaced_head_in_optimizer": ("state.opt.add_param_group(",),
    "running_total_loss": ("state.total_loss = state.total_loss + loss",),
    "snapshots_of_state_dict": ("state.record['states'][i] = copy.deepcopy(",),
    "traced_module_per_request": ("return torch.fx.symbolic_trace(", "traced = _build()"),
    "weak_keys_strong_values": ("profiles[model] = {'layers': list(model.modules())}",),
}

PROGRAMS: dict[str, tuple[str, ...]] = {
    "mlp-losses": ("self.losses.append(",),
    "mlp-total": ("self.total = self.total + (",),
    "mlp-hook": ("self.model[1].register_forward_hook(note)",),
    "cnn-failures": ("failures.append(error if",),
    "cnn-snapshots": ("snapshots.append({",),
    "cnn-gallery": ("gallery.append(model.features(",),
    "transformer-maps": ("self.maps.append(weights)",),
    "transformer-cache": ("@functools.lru_cache", "@lru_cache", "@functools.cache", "@cache"),
    "transformer-ctx": ("ctx.result = result",),
    "gan-samples": ("self.samples.append(fake[:8])",),
    "gan-penalty": ("self.critic(points).sum().backward(create_graph=True)",),
    "gan-score": ("self.score = 0.9 * self.score",),
    "rnn-carried": ("forecast, hidden = model(",),
    "rnn-timeline": ("timeline.append(hidden[0]",),
    "rnn-packed": ("with torch.autograd.graph.saved_tensors_hooks(pack,",),
    "ddpm-gallery": ("gallery['trajectories'].append(sample(model))",),
    "ddpm-schedules": ("_SCHEDULES[key] = kept(times)",),
    "ddpm-events": ("board.events.put(",),
    "dqn-memory": ("agent.memory.append(",),
    "dqn-retired": ("self.retired.append(self.target)",),
    "dqn-notes": ("self.notes[self.target] = {",),
    "lora-groups": ("optimizer.add_param_group(",),
    "lora-merges": ("model.merges.append(",),
    "lora-probe": ("self.reader = self.exact",),
    "checkpointing-closure": ("notes['output'] = checkpoint(",),
    "checkpointing-validation": ("run.validation = (model.exit(",),
    "checkpointing-seeds": ("run.seeds.append(",),
    "loader-seen": ("summary.seen[step if leak",),
    "loader-records": ("log.info('step %d of epoch %d: %s'",),
    "loader-pending": ("summary.pending.append(means)",),
}


def is_right(source: str, accepted: tuple[str, ...]) -> bool:
    """Whether a line begins like one of these statements. Quotes and blanks may differ."""
    return any(plain(source).startswith(plain(one)) for one in accepted)


def plain(text: str) -> str:
    """Normalize a line as formatters may change it."""
    return text.replace('"', "'").replace(" ", "")
