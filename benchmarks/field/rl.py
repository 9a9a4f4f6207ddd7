"""Reinforcement learning: buffers, environments, statistics of episodes."""

from __future__ import annotations

from benchmarks.field.entry import PATTERN, Entry
from benchmarks.twins.pair import Pair

ENTRIES = (
    Entry(
        Pair(
            "episode_history_in_a_callback",
            "hist_data",
            """\
class Episode:
    def __init__(self):
        self.hist_data = {}


class Monitor:
    def on_episode_step(self, episode, info):
        for key, value in info.items():
            episode.hist_data.setdefault(key, []).append(value)

    def on_train_result(self, episode):
        return {key: float(np.mean(values)) for key, values in episode.hist_data.items()}


episode, monitor = Episode(), Monitor()
for step in range(STEPS):
    train(batch())
    for _ in range(5):
        monitor.on_episode_step(episode, {f"metadata_{number}": random.random() for number in range(50)})
    monitor.on_train_result(episode)
""",
            (
                (
                    "for key, values in episode.hist_data.items()}\n",
                    "for key, values in episode.hist_data.items()} | (episode.hist_data.clear() or {})\n",
                ),
            ),
            "each value of each step is kept for statistics",
            "the values are cleared once they are averaged",
        ),
        "ray-project/ray#21041",
        "episode.hist_data.setdefault(",
    ),
    Entry(
        Pair(
            "infos_beside_a_ring_buffer",
            "infos",
            """\
class ReplayBuffer:
    def __init__(self, size):
        self.observations = torch.zeros(size, 64)
        self.size = size
        self.position = 0
        self.infos = []

    def add(self, observation, info):
        self.observations[self.position % self.size] = observation
        self.position += 1
        self.infos.append(info)

    def sample(self):
        return self.observations[torch.randint(0, self.size, (16,))]


buffer = ReplayBuffer(256)
for step in range(STEPS):
    observation = torch.randn(64)
    buffer.add(observation, {"step": step, "terminal_observation": observation.numpy()})
    train(buffer.sample())
""",
            (("        self.infos = []\n", "        self.infos = deque(maxlen=8)\n"),),
            "observations are overwritten, their infos are appended",
            "infos have a bound, too",
        ),
        PATTERN,
        "self.infos.append(",
    ),
    Entry(
        Pair(
            "environments_remade_and_not_closed",
            "viewers|Viewer",
            """\
class Viewer:
    viewers = {}

    def __init__(self, env):
        self.screen = np.zeros((64, 64, 3), dtype=np.uint8)
        Viewer.viewers[id(self)] = self

    def close(self):
        Viewer.viewers.pop(id(self), None)


class Env:
    def __init__(self):
        self.viewer = Viewer(self)

    def step(self, action):
        self.viewer.screen[0, 0] = int(action)
        return torch.randn(64)

    def close(self):
        self.viewer.close()


def learn():
    env = Env()
    observations = torch.stack([env.step(0) for _ in range(16)])
    return train(observations)


for _ in range(STEPS):
    learn()
""",
            (("    return train(observations)\n", "    env.close()\n    return train(observations)\n"),),
            "each run makes an environment, whose window is open until it is closed",
            "the environment is closed",
        ),
        "DLR-RM/stable-baselines3#1966",
        "Viewer.viewers[id(self)] =|env = Env()",
        advice="close|pop|weak",
    ),
    Entry(
        Pair(
            "frames_of_truncated_episodes",
            "recorded_frames",
            """\
class RecordVideo:
    def __init__(self):
        self.recorded_frames = []
        self.time = 0

    def step(self):
        self.time += 1
        self.recorded_frames.append(np.zeros((64, 64), dtype=np.uint8) + self.time % 255)
        terminated, truncated = False, self.time % 4 == 0
        if terminated:
            self.save()
        return terminated or truncated

    def save(self):
        self.recorded_frames.clear()


env = RecordVideo()
for _ in range(STEPS):
    while not env.step():
        pass
    train(batch())
""",
            (("        if terminated:\n", "        if terminated or truncated:\n"),),
            "a video is saved when an episode terminates; these are all truncated",
            "it is saved when the episode ends either way",
        ),
        PATTERN,
        "self.recorded_frames.append(",
    ),
    Entry(
        Pair(
            "log_probabilities_with_graph",
            "saved_log_probs",
            """\
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 4)
        self.saved_log_probs = []
        self.rewards = []

    def act(self, observation):
        probabilities = torch.distributions.Categorical(logits=self.body(observation))
        action = probabilities.sample()
        self.saved_log_probs.append(probabilities.log_prob(action))
        self.rewards.append(1.0)
        return action


policy = Policy()
policy_optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
for _ in range(STEPS):
    for _ in range(4):
        policy.act(torch.randn(64))
    loss = -torch.stack(policy.saved_log_probs[-4:]).sum() * sum(policy.rewards[-4:])
    policy_optimizer.zero_grad()
    loss.backward()
    policy_optimizer.step()
    policy.rewards.clear()
""",
            (
                (
                    "    policy.rewards.clear()\n",
                    "    policy.rewards.clear()\n    policy.saved_log_probs.clear()\n",
                ),
            ),
            "log probabilities of past episodes stay, with their graphs",
            "they are cleared with the rewards",
        ),
        PATTERN,
        "self.saved_log_probs.append(",
    ),
    Entry(
        Pair(
            "league_of_past_selves",
            "league",
            """\
import copy

league = []
for _ in range(STEPS):
    train(batch())
    league.append(copy.deepcopy(net))
    opponent = random.choice(league)
    with torch.no_grad():
        opponent(batch())
""",
            (("league = []\n", "league = deque(maxlen=4)\n"),),
            "each step adds a copy of the policy to the league",
            "the league has four players",
        ),
        PATTERN,
        "league.append(",
        harmful="league.clear()",
    ),
)
