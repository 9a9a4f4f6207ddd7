"""Frees memory of the driver's allocator, and prints the report of the device's memory as JSON."""

import json
import os
from dataclasses import asdict

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch

import gradlife

kept = torch.zeros(1 << 20, device="cuda")
freed = torch.zeros(64 << 20, device="cuda")
del freed
torch.cuda.synchronize()
print(json.dumps(asdict(gradlife.device_memory())))
