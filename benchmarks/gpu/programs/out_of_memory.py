"""Fill a device until a request fails, and print who owns its memory as JSON. Arguments: the device, the MB to keep free."""

import sys

import torch

import gradlife
from gradlife.model.device.codec import dumps

device, piece = sys.argv[1], int(sys.argv[2]) << 20
weights = torch.zeros(piece // 4, device=device)
activations = []
try:
    while True:
        activations.append(torch.zeros(piece // 4, device=device))
        if len(activations) % 3 == 0:
            activations[-2] = None  # a hole between two pieces
except torch.OutOfMemoryError:
    print(dumps(gradlife.device_memory()))
