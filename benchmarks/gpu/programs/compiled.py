"""Serves a model that torch.compile runs by CUDA graphs, and prints the report of the device's memory as JSON."""

import json
from dataclasses import asdict

import torch

import gradlife

model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda().eval()
fast = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        fast(torch.randn(64, 1024, device="cuda"))
print(json.dumps(asdict(gradlife.device_memory())))
