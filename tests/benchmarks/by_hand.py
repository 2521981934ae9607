"""The same workloads written by hand in eager PyTorch, as one would today: nn.Module, autograd, torch.optim.SGD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from . import networks
from .workloads import IMAGE, LSTM_BATCH

__all__ = ["BY_HAND"]

Step = Callable[[], Any]


class _Layer(nn.Module):
    def __init__(self, inputs: int, filters: int, kernel: int, stride: int, relu: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(filters)
        self.relu = relu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.bn(self.conv(x))
        return F.relu(x) if self.relu else x


class _Block(nn.Module):
    def __init__(self, inputs: int, size: int, stride: int, first: bool) -> None:
        super().__init__()
        self.inner = nn.Sequential(_Layer(inputs, size, 1, 1), _Layer(size, size, 3, stride), _Layer(size, 4 * size, 1, 1, relu=False))
        self.short = _Layer(inputs, 4 * size, 1, stride, relu=False) if first else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.inner(x) + self.short(x))


def _resnet(blocks: tuple[int, ...]) -> nn.Module:
    layers: list[nn.Module] = [_Layer(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(blocks):
        size = 64 * 2**stage
        for block in range(count):
            layers.append(_Block(inputs, size, 2 if stage and not block else 1, not block))
            inputs = 4 * size
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class _Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(networks.HIDDEN, networks.HIDDEN, networks.LAYERS)
        self.fc = nn.Linear(networks.HIDDEN, networks.VOCABULARY)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.lstm(x)[0].flatten(0, 1))


class _Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(networks.HIDDEN, networks.HIDDEN) for _ in range(networks.LAYERS))
        self.fc = nn.Linear(networks.HIDDEN, networks.VOCABULARY)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inputs = list(x.unbind(1))
        for cell in self.cells:
            state = (x.new_zeros(x.shape[0], networks.HIDDEN),) * 2
            for t, value in enumerate(inputs):
                state = cell(value, state)
                inputs[t] = state[0]
        return self.fc(torch.stack(inputs, 1).flatten(0, 1))


def _chain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(250):
        x = torch.tanh(x * 0.9 + 0.1) - 0.05
    return x


def _training(net: nn.Module, data: torch.Tensor, classes: int = 10) -> Step:
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    samples = int(net(data).shape[0])
    labels = torch.randint(0, classes, (samples,))

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(data), labels, reduction="sum").backward()
        optimizer.step()

    return step


def _inference(net: nn.Module, data: torch.Tensor) -> Step:
    net.eval()

    def step() -> None:
        with torch.inference_mode():
            net(data).softmax(-1)

    return step


def _mlp() -> Step:
    net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return _training(net, torch.randn(64, 784))


def _lenet() -> Step:
    net = nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(800, 500), nn.Tanh(), nn.Linear(500, 10),
    )  # fmt: skip
    return _training(net, torch.randn(64, 1, 28, 28))


def _chain_infer() -> Step:
    data = torch.randn(16, 16)

    def step() -> None:
        with torch.inference_mode():
            _chain(data)

    return step


def _chain_train() -> Step:
    data, head = torch.randn(16, 16, requires_grad=True), torch.ones(16, 16)

    def step() -> None:
        data.grad = None
        _chain(data).backward(head)

    return step


def _small_adds() -> Step:
    a, b = torch.ones(4, 4), torch.ones(4, 4)

    def step() -> None:
        for _ in range(1000):
            a + b

    return step


def _recorded() -> Step:
    x = torch.ones(16, 16, requires_grad=True)
    head = torch.ones(16, 16)

    def step() -> None:
        x.grad = None
        y = x
        for _ in range(50):
            y = torch.tanh(y * 0.9)
        y.backward(head)

    return step


BY_HAND: dict[str, Callable[[], Step]] = {
    "mlp_train": _mlp,
    "lenet_train": _lenet,
    "resnet50_train_4": lambda: _training(_resnet((3, 4, 6, 3)), torch.randn(4, 3, IMAGE, IMAGE)),
    "resnet50_infer_1": lambda: _inference(_resnet((3, 4, 6, 3)), torch.randn(1, 3, IMAGE, IMAGE)),
    "resnet50_infer_8": lambda: _inference(_resnet((3, 4, 6, 3)), torch.randn(8, 3, IMAGE, IMAGE)),
    "fused_lstm_train": lambda: _training(_Lstm(), torch.randn(networks.STEPS, LSTM_BATCH, networks.HIDDEN)),
    "unrolled_lstm_train": lambda: _training(_Cells(), torch.randn(LSTM_BATCH, networks.STEPS, networks.HIDDEN)),
    "chain_infer": _chain_infer,
    "chain_train": _chain_train,
    "small_adds_1000": _small_adds,
    "recorded_100": _recorded,
}
